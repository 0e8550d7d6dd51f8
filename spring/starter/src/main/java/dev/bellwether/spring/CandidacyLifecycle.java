package dev.bellwether.spring;

import org.springframework.context.SmartLifecycle;

/** Does something when the context starts, and something when it stops, in a phase. */
final class CandidacyLifecycle implements SmartLifecycle {
    private final int phase;
    private final Runnable onStart;
    private final Runnable onStop;
    private volatile boolean running;

    CandidacyLifecycle(int phase, Runnable onStart, Runnable onStop) {
        this.phase = phase;
        this.onStart = onStart;
        this.onStop = onStop;
    }

    @Override
    public void start() {
        onStart.run();
        running = true; // one that has failed is started again with the context
    }

    @Override
    public void stop() {
        running = false;
        onStop.run();
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return phase;
    }
}
