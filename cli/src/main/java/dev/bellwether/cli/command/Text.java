package dev.bellwether.cli.command;

import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Lays out what people read. */
public final class Text {
    private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Zl}\\p{Zp}]");
    private static final Pattern LINE_BREAK = Pattern.compile("\\s*\\R\\s*|\\t");

    private Text() {}

    /** Returns printable lines in which the columns stand under each other, two blanks apart. */
    public static List<String> columns(List<List<String>> table) {
        var rows = table.stream()
                .map(row -> row.stream().map(Text::printable).toList())
                .toList();
        var widths = new ArrayList<Integer>();
        for (var row : rows) {
            for (var i = 0; i < row.size(); i++) {
                var width = width(row.get(i));
                if (i == widths.size()) {
                    widths.add(width);
                } else {
                    widths.set(i, Math.max(widths.get(i), width));
                }
            }
        }
        var lines = new ArrayList<String>();
        for (var row : rows) {
            var line = new StringBuilder();
            for (var i = 0; i < row.size(); i++) {
                line.append(row.get(i));
                if (i < row.size() - 1) {
                    line.append(" ".repeat(widths.get(i) - width(row.get(i)) + 2));
                }
            }
            lines.add(line.toString());
        }
        return lines;
    }

    /** Returns whether this is the name, where * stands for any characters and ? for one. */
    public static boolean matches(String pattern, String name) {
        var regex = pattern.codePoints()
                .mapToObj(c -> c == '*' ? ".*" : c == '?' ? "." : Pattern.quote(Character.toString(c)))
                .collect(Collectors.joining());
        return Pattern.compile(regex, Pattern.DOTALL).matcher(name).matches();
    }

    /** Returns a text that others wrote, on one line, without what a terminal obeys. */
    public static String printable(String text) {
        return UNPRINTABLE.matcher(text).replaceAll("\uFFFD");
    }

    /** Returns a message on one line, and printable: what a driver or a parser says may go over many. */
    public static String oneLine(String message) {
        return printable(LINE_BREAK.matcher(message.stripTrailing()).replaceAll(" "));
    }

    /** Returns what an error says. Of a file that may not be used, or is not there, Java says the name and no more. */
    public static String words(Throwable error) {
        var said = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
        if (error instanceof FileSystemException file && file.getReason() == null) {
            return (file instanceof AccessDeniedException
                            ? "permission denied: "
                            : file instanceof NoSuchFileException
                                    ? "no such file or folder: "
                                    : file.getClass().getSimpleName() + ": ")
                    + said;
        }
        return said;
    }

    /** Returns how long ago something began, for display. */
    public static String age(Instant since, Instant now) {
        var age = Duration.between(since, now);
        if (age.isNegative()) {
            return "0s"; // two clocks that differ a little
        }
        if (age.toDays() > 0) {
            return age.toDays() + "d" + age.toHoursPart() + "h";
        }
        if (age.toHours() > 0) {
            return age.toHours() + "h" + age.toMinutesPart() + "m";
        }
        return age.toMinutes() > 0 ? age.toMinutes() + "m" + age.toSecondsPart() + "s" : age.toSeconds() + "s";
    }

    /** Returns a time that was measured, in milliseconds. */
    public static String millis(long nanos) {
        return nanos < 100_000_000
                ? String.format(Locale.ROOT, "%.1f ms", nanos / 1e6)
                : Math.round(nanos / 1e6) + " ms";
    }

    private static int width(String text) {
        return text.codePointCount(0, text.length());
    }
}
