package dev.bellwether.cli.command;

/** Does something when the process ends, by a signal too, unless this is closed before. Thread-safe. */
public final class ExitHook implements AutoCloseable {
    private final Thread thread;

    private ExitHook(Thread thread) {
        this.thread = thread;
    }

    /** Has this done when the process ends, on a thread of this name. */
    public static ExitHook add(String thread, Runnable what) {
        var hook = new ExitHook(new Thread(what, thread));
        Runtime.getRuntime().addShutdownHook(hook.thread);
        return hook;
    }

    /** The process ends already, maybe: then it is done anyway. */
    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(thread);
        } catch (IllegalStateException exiting) {
            // it is done
        }
    }
}
