package dev.bellwether;

import dev.bellwether.spi.Durations;
import java.time.Duration;

/** Checks that settings share. */
final class SettingChecks {
    private static final Duration LONGEST = Duration.ofDays(366);

    private SettingChecks() {}

    static Duration positive(String name, Duration value) {
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
