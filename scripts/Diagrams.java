import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Draws diagrams from text, each as a light and a dark SVG. A source has one shape a line; what comes later lies above
 * what came before. Words are separated by blanks, those with blanks in them stand in double quotes, {@code #} begins a
 * comment. Coordinates are pixels from the top left.
 *
 * <pre>
 * size WIDTH HEIGHT "what a reader sees who cannot see it"
 * box X Y WIDTH HEIGHT COLOR "head" "line"…     a rounded box; the head is bold
 * bar X Y WIDTH HEIGHT COLOR "line"…            a span of time
 * panel X Y WIDTH HEIGHT "head"                 an area with things in it
 * choice X Y WIDTH HEIGHT COLOR "line"…         a diamond: a question
 * text X Y SIZE left|middle|right COLOR "line"…
 * bold X Y SIZE left|middle|right COLOR "line"…
 * line COLOR solid|dash X,Y X,Y…
 * arrow COLOR solid|dash X,Y X,Y… ["label"]     the label stands above the middle of the longest part
 * dot X Y COLOR
 * </pre>
 *
 * <p>Colors: ink, muted, edge, blue, green, red, amber, purple.
 */
final class Diagrams {
    private static final String FONT =
            "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', 'Liberation Sans', Helvetica, Arial, sans-serif";
    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|(\\S+)");
    private static final int LINE = 17;

    /** The line and the fill of each color. */
    private static final Map<String, String[]> LIGHT = Map.of(
            "page", new String[] {"#d1d9e0", "#ffffff"},
            "panel", new String[] {"#d1d9e0", "#f6f8fa"},
            "ink", new String[] {"#1f2328", "#ffffff"},
            "muted", new String[] {"#59636e", "#f6f8fa"},
            "edge", new String[] {"#818b98", "#f6f8fa"},
            "blue", new String[] {"#0969da", "#ddf4ff"},
            "green", new String[] {"#1a7f37", "#dafbe1"},
            "red", new String[] {"#cf222e", "#ffebe9"},
            "amber", new String[] {"#9a6700", "#fff8c5"},
            "purple", new String[] {"#8250df", "#fbefff"});
    private static final Map<String, String[]> DARK = Map.of(
            "page", new String[] {"#3d444d", "#0d1117"},
            "panel", new String[] {"#3d444d", "#151b23"},
            "ink", new String[] {"#f0f6fc", "#0d1117"},
            "muted", new String[] {"#9198a1", "#151b23"},
            "edge", new String[] {"#7d8590", "#212830"},
            "blue", new String[] {"#58a6ff", "#10294d"},
            "green", new String[] {"#3fb950", "#12361f"},
            "red", new String[] {"#f85149", "#4b1d20"},
            "amber", new String[] {"#d29922", "#3d2f0e"},
            "purple", new String[] {"#ab7df8", "#2f2150"});

    private final Map<String, String[]> colors;
    private final StringBuilder svg = new StringBuilder();

    private Diagrams(Map<String, String[]> colors) {
        this.colors = colors;
    }

    public static void main(String[] args) throws IOException {
        var check = args.length > 2 && args[2].equals("check");
        var stale = new ArrayList<Path>();
        try (var sources = Files.list(Path.of(args[0]))) {
            for (var source : sources.filter(path -> path.toString().endsWith(".txt")).sorted().toList()) {
                var name = source.getFileName().toString().replace(".txt", "");
                for (var theme : List.of("light", "dark")) {
                    var file = Path.of(args[1], name + "-" + theme + ".svg");
                    var drawn = new Diagrams(theme.equals("light") ? LIGHT : DARK).draw(source);
                    if (!check) {
                        Files.writeString(file, drawn);
                        System.out.println(file);
                    } else if (!Files.exists(file) || !Files.readString(file).equals(drawn)) {
                        stale.add(file);
                    }
                }
            }
        }
        if (!stale.isEmpty()) {
            System.err.println("diagrams: " + stale + " differ from their sources: run scripts/diagrams");
            System.exit(1);
        }
    }

    private String draw(Path source) throws IOException {
        var number = 0;
        for (var line : Files.readAllLines(source)) {
            number++;
            var words = words(line);
            if (!words.isEmpty()) {
                try {
                    shape(words);
                } catch (IndexOutOfBoundsException | NullPointerException | IllegalArgumentException e) {
                    throw new IllegalArgumentException(source + ":" + number + ": cannot draw \"" + line + "\"", e);
                }
            }
        }
        return svg.append("</svg>\n").toString();
    }

    private static List<String> words(String line) {
        var words = new ArrayList<String>();
        if (!line.startsWith("#")) {
            var matcher = WORD.matcher(line);
            while (matcher.find()) {
                words.add(matcher.group(1) == null ? matcher.group(2) : matcher.group(1));
            }
        }
        return words;
    }

    private void shape(List<String> words) {
        switch (words.get(0)) {
            case "size" -> size(number(words, 1), number(words, 2), words.get(3));
            case "box" -> {
                rectangle(words, 8, 1.5);
                lines(words, 6, true);
            }
            case "bar" -> {
                rectangle(words, 3, 1.5);
                lines(words, 6, false);
            }
            case "panel" -> {
                rectangle(List.of("", words.get(1), words.get(2), words.get(3), words.get(4), "panel"), 10, 1);
                text(number(words, 1) + 14, number(words, 2) + 23, 13, "left", "muted", true, words.get(5));
            }
            case "choice" -> choice(words);
            case "text", "bold" -> {
                for (var i = 6; i < words.size(); i++) {
                    text(
                            number(words, 1),
                            number(words, 2) + (i - 6) * LINE,
                            number(words, 3),
                            words.get(4),
                            words.get(5),
                            words.get(0).equals("bold"),
                            words.get(i));
                }
            }
            case "line" -> path(words, false);
            case "arrow" -> path(words, true);
            case "dot" -> svg.append("<circle cx=\"%s\" cy=\"%s\" r=\"5\" fill=\"%s\"/>%n"
                    .formatted(words.get(1), words.get(2), ink(words.get(3))));
            default -> throw new IllegalArgumentException("no such shape: " + words.get(0));
        }
    }

    private void size(int width, int height, String meaning) {
        svg.append(
                """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$d" width="%1$d" height="%2$d" role="img">
                <title>%3$s</title>
                <style>text { font-family: %4$s; }</style>
                <rect x="0.5" y="0.5" width="%5$d" height="%6$d" rx="10" fill="%7$s" stroke="%8$s"/>
                """
                        .formatted(
                                width, height, escape(meaning), FONT, width - 1, height - 1, fill("page"), ink("page")));
    }

    private void rectangle(List<String> words, int radius, double stroke) {
        svg.append("<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"%d\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"/>%n"
                .formatted(
                        words.get(1),
                        words.get(2),
                        words.get(3),
                        words.get(4),
                        radius,
                        fill(words.get(5)),
                        ink(words.get(5)),
                        stroke));
    }

    /** Writes lines into the middle of a shape. */
    private void lines(List<String> words, int from, boolean head) {
        var count = words.size() - from;
        var x = number(words, 1) + number(words, 3) / 2;
        var y = number(words, 2) + number(words, 4) / 2 - (count - 1) * LINE / 2 + 5;
        for (var i = 0; i < count; i++) {
            var bold = head && i == 0;
            text(x, y + i * LINE, bold ? 14 : 12, "middle", bold || !head ? "ink" : "muted", bold, words.get(from + i));
        }
    }

    private void choice(List<String> words) {
        var x = number(words, 1);
        var y = number(words, 2);
        var width = number(words, 3);
        var height = number(words, 4);
        svg.append("<path d=\"M%d,%d L%d,%d L%d,%d L%d,%d Z\" fill=\"%s\" stroke=\"%s\" stroke-width=\"1.5\" stroke-linejoin=\"round\"/>%n"
                .formatted(
                        x,
                        y + height / 2,
                        x + width / 2,
                        y,
                        x + width,
                        y + height / 2,
                        x + width / 2,
                        y + height,
                        fill(words.get(5)),
                        ink(words.get(5))));
        lines(words, 6, false);
    }

    /** Draws a line through points; an arrow has a head at its last point, and may have a label. */
    private void path(List<String> words, boolean head) {
        var points = words.stream()
                .filter(word -> word.matches("-?\\d+,-?\\d+"))
                .map(word -> word.split(",", -1))
                .map(point -> new int[] {Integer.parseInt(point[0]), Integer.parseInt(point[1])})
                .toList();
        var data = new StringBuilder();
        for (var point : points) {
            data.append(data.isEmpty() ? "M" : " L").append(point[0]).append(',').append(point[1]);
        }
        var dash = words.get(2).equals("dash") ? " stroke-dasharray=\"5 4\"" : "";
        svg.append("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"%s/>%n"
                .formatted(data, ink(words.get(1)), dash));
        if (!head) {
            return;
        }
        var last = points.get(points.size() - 1);
        var before = points.get(points.size() - 2);
        var angle = Math.toDegrees(Math.atan2(last[1] - before[1], last[0] - before[0]));
        svg.append("<path d=\"M0,0 L-9,-4.5 L-9,4.5 Z\" transform=\"translate(%d,%d) rotate(%.1f)\" fill=\"%s\"/>%n"
                .formatted(last[0], last[1], angle, ink(words.get(1))));
        if (words.size() > points.size() + 3) {
            label(points, words.get(words.size() - 1));
        }
    }

    private void label(List<int[]> points, String label) {
        var longest = 0;
        for (var i = 1; i < points.size() - 1; i++) {
            longest = length(points, i) > length(points, longest) ? i : longest;
        }
        var from = points.get(longest);
        var to = points.get(longest + 1);
        var upright = from[0] == to[0];
        var x = (from[0] + to[0]) / 2 + (upright ? 8 : 0);
        var y = (from[1] + to[1]) / 2 + (upright ? 4 : -7);
        if (!upright) { // so that it can be read where it crosses a line
            svg.append("<g stroke=\"%s\" stroke-width=\"5\" stroke-linejoin=\"round\" paint-order=\"stroke\">%n"
                    .formatted(fill("page")));
        }
        text(x, y, 12, upright ? "left" : "middle", "ink", false, label);
        svg.append(upright ? "" : "</g>\n");
    }

    private static double length(List<int[]> points, int part) {
        return Math.hypot(
                points.get(part + 1)[0] - points.get(part)[0], points.get(part + 1)[1] - points.get(part)[1]);
    }

    private void text(int x, int y, int size, String anchor, String color, boolean bold, String words) {
        var anchors = Map.of("left", "start", "middle", "middle", "right", "end");
        svg.append("<text x=\"%d\" y=\"%d\" font-size=\"%d\" text-anchor=\"%s\" fill=\"%s\"%s>%s</text>%n"
                .formatted(
                        x,
                        y,
                        size,
                        anchors.get(anchor),
                        ink(color),
                        bold ? " font-weight=\"600\"" : "",
                        escape(words)));
    }

    private String ink(String color) {
        return colors.get(color)[0];
    }

    private String fill(String color) {
        return colors.get(color)[1];
    }

    private static int number(List<String> words, int index) {
        return Integer.parseInt(words.get(index));
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
