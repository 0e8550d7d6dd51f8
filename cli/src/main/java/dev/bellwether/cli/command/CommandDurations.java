package dev.bellwether.cli.command;

import java.time.Duration;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Durations on the command line: {@code 250ms}, {@code 5s}, {@code 1m30s}, {@code 2h}. */
public final class CommandDurations implements ITypeConverter<Duration> {
    private static final Pattern OURS = Pattern.compile("[0-9.a-z]+");

    @Override
    public Duration convert(String value) {
        return dev.bellwether.spi.Durations.parse(value)
                .filter(duration -> OURS.matcher(value).matches() && !duration.isZero())
                .orElseThrow(() ->
                        new TypeConversionException("'" + value + "' is not a duration: write 250ms, 5s, 1m30s or 2h"));
    }

    /** Returns the duration as it would be typed. */
    public static String show(Duration duration) {
        return dev.bellwether.spi.Durations.show(duration).replace("min", "m").replace(" ", "");
    }
}
