package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.CommonWords;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Java code in the README and in {@code docs/} is what the compiled sources hold. Each block stands under a line such
 * as {@code <!-- from examples/src/main/java/dev/bellwether/examples/FirstSteps.java#listener -->}, and shows what lies
 * between {@code // tag::listener} and {@code // end::listener} there. A block under {@code <!-- paste FILE -->} is a
 * whole file, which {@code scripts/stranger} compiles and runs.
 *
 * <p>And what the documents say is said in common words, on lines that wrap, with links that lead somewhere.
 */
class DocumentsTest {
    private static final Pattern BLOCK = Pattern.compile(
            "(?m)(?:^<!-- from (\\S+)#(\\S+) -->\\n)?^```java\\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern PASTED = Pattern.compile("<!-- paste \\S+ -->\\n");
    private static final Pattern HEADING = Pattern.compile("#{1,6} +(.*)");
    private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)|(?:src|srcset)=\"([^\"]+)\"");
    private static final Pattern CODE = Pattern.compile("``.+?``|`[^`]+`");
    /** Names of files that hold words, and no data. */
    private static final Pattern TEXT = Pattern.compile("[a-zA-Z-]+|.*\\.(html|js|bash|java|txt|tla|cfg|ya?ml|json)");

    private static final int WIDTH = 120;
    /** Characters that two lines beside each other may share. */
    private static final int RUN = 45;
    /** Words in a row that two places may share. */
    private static final int MOST_SHARED = 22;

    @Test
    void javaInTheDocumentsIsCompiled() throws IOException {
        var wrong = new ArrayList<String>();
        var blocks = 0;
        for (var document : Documents.all()) {
            var text = Files.readString(document);
            var matcher = BLOCK.matcher(text);
            while (matcher.find()) {
                blocks++;
                if (isPasted(text, matcher.start())) {
                    continue;
                }
                if (matcher.group(1) == null) {
                    wrong.add(document + ": a block of Java does not say where it comes from:\n" + matcher.group(3));
                    continue;
                }
                var code = region(Documents.ROOT.resolve(matcher.group(1)), matcher.group(2));
                if (!code.equals(matcher.group(3))) {
                    wrong.add(document + " differs from " + matcher.group(1) + "#" + matcher.group(2) + ", which is:\n"
                            + code);
                }
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(blocks).as("blocks of Java found").isPositive();
    }

    @Test
    void documentsSayCommonWords() throws IOException {
        var words = CommonWords.read();
        var wrong = new ArrayList<String>();
        for (var document : Documents.all()) {
            for (var paragraph : paragraphs(document)) {
                words.check(CODE.matcher(paragraph.text()).replaceAll("`x`"))
                        .forEach(found -> wrong.add(document + ":" + paragraph.line() + ": " + found));
            }
        }
        assertThat(wrong).isEmpty();
    }

    /** Comments, messages and log lines of all that is shipped. */
    @Test
    void mainCodeSaysCommonWords() throws IOException {
        var words = CommonWords.read();
        var wrong = new ArrayList<String>();
        for (var source : Documents.mainSources()) {
            for (var text : Documents.said(Files.readString(source))) {
                words.check(text.replaceAll("@param \\S+", "")) // a name in the code
                        .forEach(found -> wrong.add(source + ": " + found));
            }
        }
        assertThat(wrong).isEmpty();
    }

    @Test
    void linesOfMainCodeFit() throws IOException {
        var wrong = new ArrayList<String>();
        for (var source : Documents.mainSources()) {
            for (var line : Files.readAllLines(source)) {
                if (line.length() > WIDTH) {
                    wrong.add(source + ": " + line.strip());
                }
            }
        }
        assertThat(wrong).isEmpty();
    }

    /** Rows of tables cannot be wrapped, and neither can code or a word that is longer. */
    @Test
    void linesOfTheDocumentsWrap() throws IOException {
        var wrong = new ArrayList<String>();
        for (var document : Documents.all()) {
            for (var line : prose(document)) {
                var text = line.text().strip();
                var breakable = CODE.matcher(LINK.matcher(text).replaceAll("]"))
                        .replaceAll("x")
                        .replaceFirst("^([-*+]|\\d+\\.) +", "");
                if (line.text().length() > WIDTH && !text.startsWith("|") && breakable.contains(" ")) {
                    wrong.add(document + ":" + line.line() + ": " + text);
                }
            }
        }
        assertThat(wrong).as("run scripts/wrap-docs").isEmpty();
    }

    @Test
    void linksLeadSomewhere() throws IOException {
        var wrong = new ArrayList<String>();
        for (var document : Documents.all()) {
            for (var line : prose(document)) {
                var matcher = LINK.matcher(CODE.matcher(line.text()).replaceAll("x"));
                while (matcher.find()) {
                    var link = matcher.group(1) == null ? matcher.group(2) : matcher.group(1);
                    if (!link.contains(":") && !leads(document, link)) {
                        wrong.add(document + ":" + line.line() + ": " + link);
                    }
                }
            }
        }
        assertThat(wrong).isEmpty();
    }

    @Test
    void everyPageBeginsWithWhatOneCanDoAfterIt() throws IOException {
        var wrong = new ArrayList<String>();
        for (var document : Documents.all()) {
            var first = paragraphs(document).get(1).text();
            if (document.startsWith(Documents.ROOT.resolve("docs")) && !first.startsWith("After this page you ")) {
                wrong.add(document + ": " + first);
            }
        }
        assertThat(wrong).isEmpty();
    }

    @Test
    void everyPageIsOnAShelf() throws IOException {
        var shelves = Documents.page("README.md");
        var docs = Documents.ROOT.resolve("docs");
        var lost = Documents.all().stream()
                .filter(document -> document.startsWith(docs))
                .map(document -> docs.relativize(document).toString())
                .filter(page -> !page.equals("README.md") && !shelves.contains("(" + page))
                .toList();
        assertThat(lost).isEmpty();
    }

    /** Two versions of one line, beside each other. */
    @Test
    void noMergeHasLeftALineTwice() throws IOException {
        var wrong = new ArrayList<String>();
        for (var document : Documents.all()) {
            var lines = prose(document);
            for (var i = 1; i < lines.size(); i++) {
                var line = lines.get(i);
                var twice = sharedRun(lines.get(i - 1).text(), line.text());
                if (!line.text().startsWith("|") && !twice.isEmpty()) {
                    wrong.add(document + ":" + line.line() + ": " + twice);
                }
            }
        }
        assertThat(wrong).isEmpty();
    }

    /** What is true of several backends stands on one page, and the others link to it. Rows of tables are short. */
    @Test
    void nothingIsSaidTwice() throws IOException {
        var said = new HashMap<String, String>();
        var wrong = new ArrayList<String>();
        for (var document : Documents.all()) {
            for (var paragraph : paragraphs(document)) {
                if (!paragraph.text().startsWith("|")) {
                    said(paragraph, document.toString(), said).ifPresent(wrong::add);
                }
            }
        }
        assertThat(wrong).isEmpty();
    }

    /** The console and the demo, alerts and dashboards, scripts, specifications, what the project's home shows. */
    @Test
    void pagesAndScriptsSayCommonWords() throws IOException {
        var words = CommonWords.read();
        var wrong = new ArrayList<String>();
        var files = pagesAndScripts();
        for (var file : files) {
            var text = Files.readString(file).replaceAll("\\s+(?://|#|\\\\\\*|\\*(?!/))?\\s*", " ");
            words.check(text).forEach(found -> wrong.add(file + ": " + found));
        }
        assertThat(wrong).isEmpty();
        assertThat(files).hasSizeGreaterThan(30);
    }

    private static boolean leads(Path document, String link) throws IOException {
        var parts = link.split("#", 2);
        var target = parts[0].isEmpty() ? document : document.resolveSibling(parts[0]);
        if (!Files.exists(target)) {
            return false;
        }
        return parts.length == 1
                || prose(target).stream()
                        .map(line -> HEADING.matcher(line.text()))
                        .filter(Matcher::matches)
                        .anyMatch(heading -> anchor(heading.group(1)).equals(parts[1]));
    }

    /** As GitHub makes it. */
    private static String anchor(String heading) {
        return heading.toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N}_ -]", "")
                .strip()
                .replace(' ', '-');
    }

    private static boolean isPasted(String text, int block) {
        var before = text.substring(0, block);
        return PASTED.matcher(before.substring(before.stripTrailing().lastIndexOf('\n') + 1))
                .matches();
    }

    private static List<Path> pagesAndScripts() throws IOException {
        var files = new ArrayList<Path>();
        for (var name : List.of(".github", ".ci", "docs", "scripts", "cli/src/main/resources", "check", "bellwether")) {
            try (Stream<Path> below = Files.walk(Documents.ROOT.resolve(name))) {
                below.filter(Files::isRegularFile)
                        .filter(file ->
                                TEXT.matcher(file.getFileName().toString()).matches())
                        .filter(file ->
                                !file.endsWith("words.txt") && !file.toString().contains("/target/"))
                        .forEach(files::add);
            }
        }
        return files;
    }

    /** Returns what a paragraph repeats of those before it, and remembers what it says. */
    private static Optional<String> said(Text paragraph, String document, Map<String, String> said) {
        var words = List.of(paragraph.text().split("\\s+"));
        var here = document + ":" + paragraph.line();
        var repeated = Optional.<String>empty();
        for (var i = 0; i + MOST_SHARED <= words.size(); i++) {
            var run = String.join(" ", words.subList(i, i + MOST_SHARED));
            var there = said.putIfAbsent(run, here);
            if (there != null && repeated.isEmpty()) {
                repeated = Optional.of(here + " repeats " + there + ": " + run);
            }
        }
        return repeated;
    }

    /** Returns what both lines say, if it is so long that it is no chance. */
    private static String sharedRun(String one, String other) {
        for (var from = 0; from + RUN <= other.length(); from++) {
            if (one.contains(other.substring(from, from + RUN))) {
                return other.substring(from, from + RUN);
            }
        }
        return "";
    }

    /** A line, or lines in one, and the number of the first. */
    private record Text(int line, String text) {}

    /** Returns all lines that are no code. */
    private static List<Text> prose(Path document) throws IOException {
        var prose = new ArrayList<Text>();
        var fenced = false;
        var number = 0;
        for (var line : Files.readAllLines(document)) {
            number++;
            if (line.strip().startsWith("```")) {
                fenced = !fenced;
            } else if (!fenced && !line.startsWith("    ")) {
                prose.add(new Text(number, line));
            }
        }
        return prose;
    }

    /** Returns the lines that belong together, each row of a table by itself. */
    private static List<Text> paragraphs(Path document) throws IOException {
        var paragraphs = new ArrayList<Text>();
        var open = false;
        for (var line : prose(document)) {
            var text = line.text().strip();
            var last = paragraphs.size() - 1;
            if (open && !text.isEmpty() && !text.matches("([-*+]|\\d+\\.|#+|\\|).*")) {
                paragraphs.set(
                        last,
                        new Text(
                                paragraphs.get(last).line(),
                                paragraphs.get(last).text() + ' ' + text));
            } else if (!text.isEmpty()) {
                paragraphs.add(new Text(line.line(), text));
            }
            open = !text.isEmpty() && !text.startsWith("|") && !text.startsWith("#");
        }
        return paragraphs;
    }

    private static String region(Path source, String tag) throws IOException {
        var lines = Files.readAllLines(source);
        var from = indexOf(lines, "// tag::" + tag);
        var to = indexOf(lines, "// end::" + tag);
        assertThat(from).as("%s has a tag %s", source, tag).isNotNegative().isLessThan(to);
        return String.join("\n", lines.subList(from + 1, to)).stripIndent() + "\n";
    }

    private static int indexOf(List<String> lines, String text) {
        for (var i = 0; i < lines.size(); i++) {
            if (lines.get(i).strip().equals(text)) {
                return i;
            }
        }
        return -1;
    }
}
