package dev.bellwether.sql;

import dev.bellwether.Mandate;
import java.time.Duration;

/** A mandate that believes for ever that it is valid: what is left of one when nobody asks the clock. */
record Trusting(String election, String candidate, long token) implements Mandate {
    private static final Duration EVER = Duration.ofDays(1);

    Trusting(Mandate mandate) {
        this(mandate.election(), mandate.candidate(), mandate.token());
    }

    @Override
    public boolean isValid() {
        return true;
    }

    @Override
    public Duration remaining() {
        return EVER;
    }

    @Override
    public void ensure(Duration atLeast) {}
}
