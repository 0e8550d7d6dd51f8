package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import java.time.Duration;

/**
 * A setting that was given as text: what it means, or an error with its name, its value and what would be right.
 * Immutable.
 *
 * <p>Those of a URI are read by {@link ConnectUri#flag}, {@link ConnectUri#number} and {@link ConnectUri#duration};
 * this is for settings that come from elsewhere, too.
 */
public final class Parameter {
    private final String name;
    private final String value;
    private final String shown;

    Parameter(String name, String value, String shown) {
        this.name = name;
        this.value = value;
        this.shown = shown;
    }

    /** Takes a setting whose value is no secret. */
    public static Parameter of(String name, String value) {
        return new Parameter(name, value, value);
    }

    /**
     * Reads {@code true} or {@code false}.
     *
     * @throws ElectionException if it is neither
     */
    public boolean flag() {
        return switch (value) {
            case "true" -> true;
            case "false" -> false;
            default -> throw refusal("true or false");
        };
    }

    /**
     * Reads a whole number.
     *
     * @throws ElectionException if it is none, or out of these bounds
     */
    public int number(int least, int most) {
        try {
            var number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // told below, with the bounds
        }
        throw refusal("a whole number from " + least + " to " + most);
    }

    /**
     * Reads a duration as {@link Durations#parse} does.
     *
     * @throws ElectionException if it is none
     */
    public Duration duration() {
        return Durations.parse(value).orElseThrow(() -> refusal("a duration such as 500ms or 10s"));
    }

    private ElectionException refusal(String right) {
        return new ElectionException(name + " is \"" + shown + "\": it must be " + right);
    }
}
