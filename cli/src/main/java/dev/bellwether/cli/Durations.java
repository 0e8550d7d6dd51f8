package dev.bellwether.cli;

import java.time.Duration;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Durations as people write them: {@code 250ms}, {@code 5s}, {@code 1m30s}, {@code 2h}. */
final class Durations implements ITypeConverter<Duration> {
    private static final Pattern PART = Pattern.compile("(\\d{1,9}(?:\\.\\d{1,3})?)(ms|s|m|h|d)");

    @Override
    public Duration convert(String value) {
        var matcher = PART.matcher(value);
        var sum = Duration.ZERO;
        var end = 0;
        while (matcher.find() && matcher.start() == end) {
            sum = sum.plusNanos((long) (Double.parseDouble(matcher.group(1)) * nanos(matcher.group(2))));
            end = matcher.end();
        }
        if (end == 0 || end != value.length() || sum.isZero()) {
            throw new TypeConversionException("'" + value + "' is not a duration: write 250ms, 5s, 1m30s or 2h");
        }
        return sum;
    }

    /** Returns the duration as it would be written. */
    static String show(Duration duration) {
        if (duration.compareTo(Duration.ofSeconds(1)) < 0) {
            return duration.toMillis() + "ms";
        }
        var shown = new StringBuilder();
        part(shown, duration.toDays(), "d");
        part(shown, duration.toHoursPart(), "h");
        part(shown, duration.toMinutesPart(), "m");
        var millis = duration.toSecondsPart() * 1000L + duration.toMillisPart();
        if (millis % 1000 == 0) {
            part(shown, millis / 1000, "s");
        } else {
            shown.append(millis / 1000)
                    .append('.')
                    .append("%03d".formatted(millis % 1000))
                    .append('s');
        }
        return shown.toString();
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
