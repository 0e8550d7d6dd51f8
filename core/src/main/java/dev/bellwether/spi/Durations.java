package dev.bellwether.spi;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import java.util.regex.Pattern;

/** Durations as people write them, such as {@code 250ms}, {@code 8.9s} and {@code 1m30s}: for messages and settings. */
public final class Durations {
    private static final Pattern PART = Pattern.compile("(\\d{1,9}(?:\\.\\d{1,9})?)(ms|s|m|h|d)");

    private Durations() {}

    /** Returns a duration as it would be written. Above 10 ms, microseconds are left out. */
    public static String show(Duration duration) {
        if (duration.isNegative()) {
            return "-" + show(duration.negated());
        }
        if (duration.compareTo(Duration.ofSeconds(1)) < 0) {
            return millis(duration);
        }
        var shown = new StringBuilder();
        part(shown, duration.toDays(), "d");
        part(shown, duration.toHoursPart(), "h");
        part(shown, duration.toMinutesPart(), "m");
        var millis = duration.toSecondsPart() * 1000L + duration.toMillisPart();
        if (millis > 0) {
            shown.append(plain(millis / 1000, "%03d".formatted(millis % 1000))).append('s');
        }
        return shown.toString();
    }

    /** Reads what {@link #show} writes, and {@code PT0.25S} as well; empty if it is no duration. */
    public static Optional<Duration> parse(String text) {
        var matcher = PART.matcher(text);
        var sum = Duration.ZERO;
        var end = 0;
        while (matcher.find() && matcher.start() == end) {
            sum = sum.plusNanos((long) (Double.parseDouble(matcher.group(1)) * nanos(matcher.group(2))));
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

    private static String millis(Duration duration) {
        var micros = duration.toNanos() / 1_000;
        return micros % 1_000 == 0 || micros >= 10_000
                ? micros / 1_000 + "ms"
                : plain(micros / 1_000, "%03d".formatted(micros % 1_000)) + "ms";
    }

    private static String plain(long whole, String decimals) {
        var rest = decimals.replaceFirst("0+$", "");
        return rest.isEmpty() ? Long.toString(whole) : whole + "." + rest;
    }

    private static void part(StringBuilder shown, long count, String unit) {
        if (count > 0) {
            shown.append(count).append(unit);
        }
    }

    private static double nanos(String unit) {
        return switch (unit) {
            case "ms" -> 1e6;
            case "s" -> 1e9;
            case "m" -> 60e9;
            case "h" -> 3_600e9;
            default -> 86_400e9;
        };
    }
}
