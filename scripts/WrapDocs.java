import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Wraps paragraphs and list items of Markdown: see {@code scripts/wrap-docs}. */
final class WrapDocs {
    private static final int WIDTH = 120;
    private static final Pattern ITEM = Pattern.compile("( *)([-*+]|\\d{1,3}[.)])( +)(?=\\S)");
    /** What would begin something else at the beginning of a line. */
    private static final Pattern NEVER_FIRST = Pattern.compile("[-*+>]|\\d+[.)]|#{1,6}|[|=].*|-{2,}|```.*|~~~.*");
    /** A code span, the target of a link and a formula in italics are not broken; nor is what hangs on them. */
    private static final Pattern WORD =
            Pattern.compile("(?:``.+?``|`[^`]+`|\\]\\([^)\\s]*\\)|(?<!\\*)\\*(?=[^*\\s])[^*]{1,60} [+−<>=] [^*]{1,60}\\*|\\S)+");

    private final List<String> lines;
    private final List<String> wrapped = new ArrayList<>();
    private int at;
    private int textOfItem; // the column where the text of the list item begins that we are in; 0 if in none

    private WrapDocs(List<String> lines) {
        this.lines = lines;
    }

    public static void main(String[] args) throws IOException {
        for (var name : args) {
            var file = Path.of(name);
            var before = Files.readString(file);
            var after = String.join("\n", new WrapDocs(before.lines().toList()).wrap()) + "\n";
            if (!after.equals(before)) {
                Files.writeString(file, after);
                System.out.println(file);
            }
        }
    }

    private List<String> wrap() {
        while (at < lines.size()) {
            var line = lines.get(at);
            if (isFence(line)) {
                var fence = line.strip().substring(0, 3);
                do {
                    copy();
                } while (at < lines.size() && !lines.get(at).strip().startsWith(fence));
                copy();
            } else if (line.isBlank() || isBlock(line) || isCode(line)) {
                if (!line.isBlank() && indent(line) == 0) {
                    textOfItem = 0;
                }
                copy();
            } else {
                paragraph();
            }
        }
        return wrapped;
    }

    private void copy() {
        if (at < lines.size()) {
            wrapped.add(lines.get(at++));
        }
    }

    private static boolean isFence(String line) {
        return line.strip().startsWith("```") || line.strip().startsWith("~~~");
    }

    /** A table's row, a heading, a rule, a quotation, HTML, a link's definition. */
    private static boolean isBlock(String line) {
        var text = line.strip();
        return text.matches("(\\||#{1,6} |>|</?[a-zA-Z!]).*|-{3,}|={3,}|\\[[^]]+]: .*") || isPartOfTag(text);
    }

    private static boolean isPartOfTag(String text) {
        return text.matches("[a-z]+=\"[^\"]*\".*");
    }

    /** Code by indentation: four blanks beyond the text around, behind an empty line. */
    private boolean isCode(String line) {
        var behindText = at > 0 && !lines.get(at - 1).isBlank() && !isCodeBefore();
        return indent(line) >= textOfItem + 4 && !behindText && !ITEM.matcher(line).lookingAt();
    }

    private boolean isCodeBefore() {
        return !wrapped.isEmpty() && wrapped.get(wrapped.size() - 1).equals(lines.get(at - 1))
                && indent(lines.get(at - 1)) >= textOfItem + 4;
    }

    private static int indent(String line) {
        return line.length() - line.stripLeading().length();
    }

    private void paragraph() {
        var line = lines.get(at++);
        var item = ITEM.matcher(line);
        String first;
        if (item.lookingAt()) {
            first = item.group();
            textOfItem = first.length();
        } else {
            first = " ".repeat(indent(line));
            if (first.isEmpty()) {
                textOfItem = 0;
            }
        }
        var text = new StringBuilder(line.substring(first.length()).strip());
        while (at < lines.size() && goesOn(lines.get(at))) {
            text.append(' ').append(lines.get(at++).strip());
        }
        fill(first, text.toString());
    }

    private static boolean goesOn(String line) {
        return !line.isBlank() && !isFence(line) && !isBlock(line) && !ITEM.matcher(line).lookingAt();
    }

    private void fill(String first, String text) {
        var line = new StringBuilder(first);
        var empty = true;
        for (var word : words(text)) {
            if (!empty && line.length() + 1 + word.length() > WIDTH) {
                wrapped.add(line.toString());
                line = new StringBuilder(" ".repeat(first.length()));
                empty = true;
            }
            line.append(empty ? "" : " ").append(word);
            empty = false;
        }
        wrapped.add(line.toString());
    }

    private static List<String> words(String text) {
        var words = new ArrayList<String>();
        var matcher = WORD.matcher(text);
        while (matcher.find()) {
            var word = matcher.group();
            if (!words.isEmpty() && NEVER_FIRST.matcher(word).matches()) {
                word = words.remove(words.size() - 1) + ' ' + word;
            }
            words.add(word);
        }
        return words;
    }
}
