package dev.bellwether.spi;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Durations as people write them: shown as {@code 250 ms}, {@code 8.9 s} and {@code 1 min 30 s}, and read with or
 * without the blanks.
 */
public final class Durations {
    private static final Pattern PART = Pattern.compile("(\\d{1,9}(?:\\.\\d{1,9})?) ?(ms|s|min|m|h|d) ?");
    private static final Duration LONGEST = Duration.ofDays(36_500); // that is shown in parts
    private static final long MICRO = 1_000;
    private static final long MILLI = 1_000 * MICRO;
    private static final long SECOND = 1_000 * MILLI;

    private Durations() {}

    /**
     * Returns a duration as a person would write it. One that was measured, and has parts of a millisecond, is rounded.
     */
    public static String show(Duration duration) {
        if (duration.compareTo(LONGEST) > 0 || duration.compareTo(LONGEST.negated()) < 0) {
            return duration.toDays() + " d";
        }
        return duration.isNegative() ? "-" + show(-duration.toNanos()) : show(duration.toNanos());
    }

    private static String show(long nanos) {
        var measured = nanos % MILLI != 0;
        if (nanos == 0) {
            return "0 s";
        }
        if (nanos < MICRO) {
            return nanos + " ns";
        }
        if (nanos < MILLI) {
            return number(nanos, MICRO, nanos < 10 * MICRO ? 1 : 0) + " µs";
        }
        if (nanos < SECOND - MILLI / 2) {
            return number(nanos, MILLI, measured && nanos < 10 * MILLI ? 1 : 0) + " ms";
        }
        if (nanos < 60 * SECOND - SECOND / 20) {
            return number(nanos, SECOND, measured ? 1 : 3) + " s";
        }
        var left = measured ? (nanos + SECOND / 2) / SECOND * SECOND : nanos;
        var shown = new StringBuilder();
        left = part(shown, left, 86_400 * SECOND, "d");
        left = part(shown, left, 3_600 * SECOND, "h");
        left = part(shown, left, 60 * SECOND, "min");
        if (left > 0) {
            shown.append(number(left, SECOND, 3)).append(" s");
        }
        return shown.toString().strip();
    }

    private static long part(StringBuilder shown, long nanos, long unit, String name) {
        if (nanos >= unit) {
            shown.append(nanos / unit).append(' ').append(name).append(' ');
        }
        return nanos % unit;
    }

    private static String number(long nanos, long unit, int decimals) {
        var text = String.format(Locale.ROOT, "%." + decimals + "f", (double) nanos / unit);
        return decimals == 0 ? text : text.replaceFirst("\\.?0+$", "");
    }

    /**
     * Reads {@code 250ms}, {@code 1m30s}, what {@link #show} writes from a millisecond on, and {@code PT0.25S}; empty
     * if it is no duration.
     */
    public static Optional<Duration> parse(String text) {
        var matcher = PART.matcher(text);
        var sum = Duration.ZERO;
        var end = 0;
        while (matcher.find() && matcher.start() == end) {
            sum = sum.plusNanos(Math.round(Double.parseDouble(matcher.group(1)) * nanos(matcher.group(2))));
            end = matcher.end();
        }
        if (end > 0 && end == text.length()) {
            return Optional.of(sum);
        }
        try {
            return Optional.of(Duration.parse(text));
        } catch (DateTimeParseException e) {
            return Optional.empty();
        }
    }

    private static double nanos(String unit) {
        return switch (unit) {
            case "ms" -> 1e6;
            case "s" -> 1e9;
            case "m", "min" -> 60e9;
            case "h" -> 3_600e9;
            default -> 86_400e9;
        };
    }
}
