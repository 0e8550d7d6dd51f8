package dev.bellwether;

import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.Optional;
import java.util.StringJoiner;

/** Settings for a line of a log. For one thread. */
final class SettingsText {
    private final StringJoiner text;

    SettingsText(String what) {
        text = new StringJoiner(", ", what + "[", "]");
    }

    /** Adds a setting, unless it is empty. */
    SettingsText with(String name, Object value) {
        if (value instanceof Optional<?> set) {
            set.ifPresent(one -> with(name, one));
        } else {
            text.add(name + '=' + (value instanceof Duration time ? Durations.show(time) : value));
        }
        return this;
    }

    /** Says that something is set that has no text of its own. */
    SettingsText isSet(String name, boolean set) {
        return set ? with(name, "set") : this;
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
