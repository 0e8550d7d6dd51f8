package dev.bellwether.spi;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the daemon thread on which a backend runs its own loop, such that its death is noticed.
 *
 * <p>Thread-safe: it holds nothing.
 */
public final class BackendThread {
    private static final Logger log = LoggerFactory.getLogger(BackendThread.class);
    private static final long AGAIN_NANOS = 100_000_000;
    private static final long PAUSE_NANOS = 1_000_000_000;

    /** What the thread does until it is told to end. */
    @FunctionalInterface
    public interface Body {
        /** Returns when it was told to end; throws only what it cannot fix. */
        void run() throws Exception;
    }

    private BackendThread() {}

    /**
     * Returns a daemon thread of this name, not started. If any {@link Throwable} ends its body, that is logged as an
     * error and told to the callback, on the same thread: it must tell all that live on the thread
     * ({@link Claimant#failed}), or start another one. The callback is called again if it fails for lack of memory; so
     * it must bear being called twice.
     */
    public static Thread of(String name, Body body, Consumer<Throwable> onDeath) {
        var thread = new Thread(() -> run(name, body, onDeath), name);
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Starts a thread. If there is none to be had, which is an {@link OutOfMemoryError}, that is logged as an error and
     * told to the callback, on the calling thread, as its death would be.
     */
    public static void start(Thread thread, Consumer<Throwable> onDeath) {
        try {
            thread.start();
        } catch (Throwable death) { // whatever it is: who was to live on this thread must hear of it
            onDeath.accept(death);
            log.error(
                    "the thread {} cannot be started; everything that was to run on it is told",
                    thread.getName(),
                    death);
        }
    }

    /**
     * Returns a daemon thread of this name, not started, whose body runs until it is closed. If any {@link Throwable}
     * ends it before, that is logged as an error, and it begins again after a second: nobody relies on it meanwhile. If
     * it returns before, because somebody else has interrupted it, it begins again at once.
     */
    public static Thread lasting(String name, Runnable body, BooleanSupplier isClosed) {
        var thread = new Thread(() -> runUntil(name, body, isClosed), name);
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Waits so long, or until somebody unparks the calling thread, which must be one of ours, or less for no reason.
     * Forgets that it was interrupted: nobody but its owner ends it, who does so otherwise, and no later pause would
     * last.
     */
    public static void pause(long nanos) {
        LockSupport.parkNanos(nanos);
        Thread.interrupted();
    }

    private static void runUntil(String name, Runnable body, BooleanSupplier isClosed) {
        while (!isClosed.getAsBoolean()) {
            try {
                body.run();
            } catch (Throwable death) {
                try { // without memory not even a text may be had that was not used before
                    log.error("what runs on the thread {} has died; it begins again", name, death);
                } catch (Throwable e) {
                    Thread.onSpinWait(); // nothing is left to tell it with
                }
                if (!isClosed.getAsBoolean()) {
                    pause(PAUSE_NANOS);
                }
            }
            Thread.interrupted();
        }
    }

    private static void run(String name, Body body, Consumer<Throwable> onDeath) {
        try {
            body.run();
        } catch (Throwable death) { // whatever it is: who lives on this thread must hear of it
            try { // without memory not even a text may be had that was not used before
                log.error("the thread {} has died; everything that runs on it is told", name, death);
            } catch (Throwable e) {
                Thread.onSpinWait(); // nothing is left to tell it with
            }
            while (!told(name, death, onDeath)) {
                pause(AGAIN_NANOS);
            }
        }
    }

    private static boolean told(String name, Throwable death, Consumer<Throwable> onDeath) {
        try {
            onDeath.accept(death);
            return true;
        } catch (VirtualMachineError e) {
            return false; // out of memory: that may pass
        } catch (Throwable e) {
            try {
                log.error("the clean-up after the death of thread {} has failed", name, e);
            } catch (Throwable again) {
                return true; // a logger may throw, too
            }
            return true;
        }
    }
}
