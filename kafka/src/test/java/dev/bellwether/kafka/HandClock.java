package dev.bellwether.kafka;

import dev.bellwether.spi.Clock;
import java.time.Duration;

/** Goes on when it is told to. */
final class HandClock implements Clock {
    private long nanos;

    void passes(Duration time) {
        nanos += time.toNanos();
    }

    @Override
    public long nanos() {
        return nanos;
    }

    @Override
    public long wallMillis() {
        return nanos / 1_000_000;
    }
}
