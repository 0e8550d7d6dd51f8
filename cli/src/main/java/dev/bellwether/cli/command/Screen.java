package dev.bellwether.cli.command;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * How large the terminal is. Immutable.
 *
 * @param rows how many lines it has
 * @param columns how wide they are
 */
public record Screen(int rows, int columns) {
    /** What is taken for its size until it has been asked. */
    public static final Screen USUAL = new Screen(24, 80);

    private static final Pattern SIZE = Pattern.compile("(\\d{1,5}) (\\d{1,5})\\s*");
    private static final int LEAST_ROWS = 5;
    private static final int LEAST_COLUMNS = 20;

    /** Asks the terminal; what {@code LINES} and {@code COLUMNS} say goes before that. */
    public static Screen of(CommandEnvironment around) {
        var lines = number(around.variable("LINES"));
        var columns = number(around.variable("COLUMNS"));
        var asked = lines.isPresent() && columns.isPresent() ? USUAL : ask();
        return new Screen(
                Math.max(LEAST_ROWS, lines.orElse(asked.rows)), Math.max(LEAST_COLUMNS, columns.orElse(asked.columns)));
    }

    private static Optional<Integer> number(Optional<String> text) {
        return text.filter(digits -> digits.matches("\\d{1,5}")).map(Integer::valueOf);
    }

    private static Screen ask() {
        try {
            var stty = new ProcessBuilder("sh", "-c", "stty size </dev/tty")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            var said = new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            stty.waitFor(1, TimeUnit.SECONDS);
            var size = SIZE.matcher(said);
            return size.matches() && !size.group(1).equals("0")
                    ? new Screen(Integer.parseInt(size.group(1)), Integer.parseInt(size.group(2)))
                    : USUAL;
        } catch (IOException e) {
            return USUAL;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return USUAL;
        }
    }

    /**
     * Returns what is drawn: never more lines than there is room for above the cursor, so that the next drawing can
     * begin where this one did; and no line that would go on in the next, or that a terminal obeys.
     *
     * @param head the line above the table
     * @param rows the lines of the table, those first that matter most
     * @param notes what stands under it, the newest last
     */
    public List<String> fit(String head, List<String> rows, List<String> notes) {
        var room = this.rows - 1; // the cursor stands in the last
        var lines = new ArrayList<String>();
        lines.add(head);
        var whole = 1 + rows.size() + (notes.isEmpty() ? 0 : 1 + notes.size());
        if (whole <= room) {
            lines.addAll(rows);
            addNotes(lines, notes);
        } else {
            var kept = Math.min(notes.size(), Math.max(0, room / 4));
            var forNotes = kept == 0 ? 0 : 1 + kept;
            var shown = Math.min(rows.size(), room - 2 - forNotes);
            lines.addAll(rows.subList(0, Math.max(0, shown)));
            if (shown < rows.size()) {
                lines.add("... and " + (rows.size() - shown) + " more: there is no room for them here");
            }
            addNotes(lines, notes.subList(notes.size() - kept, notes.size()));
        }
        return lines.stream().map(Text::printable).map(this::cut).toList();
    }

    /**
     * Returns what draws lines in the place of those that were drawn before, the first of them strong.
     *
     * @param before how many lines were drawn before; 0 for none
     */
    public String redraw(List<String> lines, int before, Paint paint) {
        var drawn = new StringBuilder();
        if (before > 0) {
            // a terminal that has become smaller since has no more lines above than these
            drawn.append("\u001b[").append(Math.min(before, rows - 1)).append('A');
        }
        for (var i = 0; i < lines.size(); i++) {
            var line = lines.get(i);
            drawn.append("\u001b[2K").append(i == 0 ? paint.strong(line) : line).append('\n');
        }
        return drawn.append("\u001b[J").toString();
    }

    private static void addNotes(List<String> lines, List<String> notes) {
        if (!notes.isEmpty()) {
            lines.add("");
            lines.addAll(notes);
        }
    }

    private String cut(String line) {
        return line.codePointCount(0, line.length()) <= columns
                ? line
                : line.substring(0, line.offsetByCodePoints(0, columns - 1)) + "~";
    }
}
