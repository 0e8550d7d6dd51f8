package dev.bellwether.cli.command;

import java.time.Duration;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Durations on the command line: {@code 250ms}, {@code 5s}, {@code 1m30s}, {@code 2h}. */
public final class CommandDurations implements ITypeConverter<Duration> {
    private static final Pattern OURS = Pattern.compile("[0-9.a-z]+");
    /** Three times this can still be counted in nanoseconds. */
    private static final Duration LONGEST = Duration.ofDays(30_000);

    @Override
    public Duration convert(String value) {
        var duration = dev.bellwether.spi.Durations.parse(value)
                .filter(parsed -> OURS.matcher(value).matches() && !parsed.isZero())
                .orElseThrow(() ->
                        new TypeConversionException("'" + value + "' is not a duration: write 250ms, 5s, 1m30s or 2h"));
        if (duration.compareTo(LONGEST) > 0) {
            throw new TypeConversionException("'" + value + "' is too long: give at most " + show(LONGEST));
        }
        return duration;
    }

    /** Returns the duration as it would be typed. */
    public static String show(Duration duration) {
        return dev.bellwether.spi.Durations.show(duration).replace("min", "m").replace(" ", "");
    }
}
