package dev.bellwether;

import dev.bellwether.spi.Durations;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Checks that settings share. */
final class SettingChecks {
    static final Duration SHORTEST_LEASE = Duration.ofMillis(10);
    private static final Duration LONGEST = Duration.ofDays(366);

    private SettingChecks() {}

    /** Refuses null, which means nothing here: to have the default, the setting is left out. */
    static <T> T given(String name, @Nullable T value, String byDefault) {
        if (value == null) {
            throw new ElectionException(name + " is null: leave it out for " + byDefault);
        }
        return value;
    }

    static double driftBound(double value) {
        if (!(value >= 0.0001 && value <= 0.5)) {
            throw new ElectionException(
                    "driftBound is " + value + ": it must be between 0.0001 (0.01 %) and 0.5 (50 %)");
        }
        return value;
    }

    static Duration lease(Duration value) {
        if (positive("lease", value).compareTo(SHORTEST_LEASE) < 0) {
            throw new ElectionException(
                    "lease is " + Durations.show(value) + ": it must be at least " + Durations.show(SHORTEST_LEASE));
        }
        return value;
    }

    static Duration notNegative(String name, Duration value) {
        if (given(name, value, "the default").isNegative()) {
            throw new ElectionException(name + " is " + Durations.show(value) + ": it must not be negative");
        }
        return value.isZero() ? value : positive(name, value);
    }

    static Duration positive(String name, Duration value) {
        given(name, value, "the default");
        if (value.isZero() || value.isNegative()) {
            throw new ElectionException(name + " is " + Durations.show(value) + ": it must be longer than zero");
        }
        if (value.compareTo(LONGEST) > 0) {
            throw new ElectionException(
                    name + " is " + Durations.show(value) + ": it must be at most " + Durations.show(LONGEST));
        }
        return value;
    }
}
