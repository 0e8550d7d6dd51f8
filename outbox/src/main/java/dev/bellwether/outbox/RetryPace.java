package dev.bellwether.outbox;

/**
 * When what is held is to be tried again, which costs a session: after a pause that doubles each time, and is short
 * again once a session has held nothing for as long as the first pause. Confined to one thread.
 */
final class RetryPace {
    private final long firstNanos;
    private final long longestNanos;
    private long pauseNanos;
    private boolean holding;
    private long sinceNanos;

    /** Begins where nothing is held. */
    RetryPace(long firstNanos, long longestNanos, long now) {
        this.firstNanos = firstNanos;
        this.longestNanos = Math.max(firstNanos, longestNanos);
        pauseNanos = firstNanos;
        sinceNanos = now;
    }

    /** A session begins: what cannot be published still, shows in its first transactions. */
    void begins(long now) {
        if (!holding) {
            sinceNanos = now;
        }
    }

    /** Returns whether it is to be tried again now. */
    boolean isDue(boolean holds, long now) {
        if (holds != holding) {
            holding = holds;
            sinceNanos = now;
        }
        if (now - sinceNanos < (holding ? pauseNanos : firstNanos)) {
            return false;
        }
        if (!holding) {
            pauseNanos = firstNanos;
            return false;
        }
        pauseNanos = Math.min(2 * pauseNanos, longestNanos);
        sinceNanos = now;
        return true;
    }
}
