package dev.bellwether.cli.run;

import dev.bellwether.cli.command.ExitHook;

/** Hands over when a signal ends this process, until this is closed. Thread-safe. */
final class HandOverOnSignal implements AutoCloseable {
    private final ExitHook hook;
    private volatile boolean begun;

    private HandOverOnSignal(Runnable handOver) {
        hook = ExitHook.add("bellwether-hand-over", () -> {
            begun = true;
            handOver.run();
        });
    }

    static HandOverOnSignal by(Runnable handOver) {
        return new HandOverOnSignal(handOver);
    }

    /** Returns whether a signal has come: then the process ends with the code of the signal. */
    boolean hasBegun() {
        return begun;
    }

    @Override
    public void close() {
        hook.close(); // if it is running already, it goes on
    }
}
