package dev.bellwether.cli.run;

/** Hands over when a signal ends this process, until this is closed. Thread-safe. */
final class HandOverOnSignal implements AutoCloseable {
    private final Thread hook;
    private volatile boolean begun;

    private HandOverOnSignal(Runnable handOver) {
        hook = new Thread(
                () -> {
                    begun = true;
                    handOver.run();
                },
                "bellwether-hand-over");
    }

    static HandOverOnSignal by(Runnable handOver) {
        var onSignal = new HandOverOnSignal(handOver);
        Runtime.getRuntime().addShutdownHook(onSignal.hook);
        return onSignal;
    }

    /** Returns whether a signal has come: then the process ends with the code of the signal. */
    boolean hasBegun() {
        return begun;
    }

    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            Thread.onSpinWait(); // it is running already
        }
    }
}
