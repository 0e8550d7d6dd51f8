package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LockConfig;
import dev.bellwether.fixtures.CommonWords;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
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
    private static final Path ROOT = Path.of("..");
    private static final Pattern BLOCK = Pattern.compile(
            "(?m)(?:^<!-- from (\\S+)#(\\S+) -->\\n)?^```java\\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern PASTED = Pattern.compile("<!-- paste \\S+ -->\\n");
    private static final Pattern HEADING = Pattern.compile("#{1,6} +(.*)");
    private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)|(?:src|srcset)=\"([^\"]+)\"");
    private static final Pattern CODE = Pattern.compile("``.+?``|`[^`]+`");
    /** A comment or a literal; comments of one line, and literals with a plus between them, are read as one. */
    private static final Pattern SAID = Pattern.compile(
            "/\\*.*?\\*/|//[^\\n]*+(?:\\n\\s*+//[^\\n]*+)*+|\"\"\".*?\"\"\""
                    + "|\"(?:[^\"\\\\\\n]++|\\\\.)*+\"(?:\\s*+\\+\\s*+\"(?:[^\"\\\\\\n]++|\\\\.)*+\")*+|'(?:[^'\\\\]|\\\\.)*+'",
            Pattern.DOTALL);

    private static final Pattern SEAM = Pattern.compile("\"\\s*+\\+\\s*+\"|\\s++(?://|\\*(?!/))?\\s*+");
    private static final int WIDTH = 120;

    @Test
    void javaInTheDocumentsIsCompiled() throws IOException {
        var wrong = new ArrayList<String>();
        var blocks = 0;
        for (var document : documents()) {
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
                var code = region(ROOT.resolve(matcher.group(1)), matcher.group(2));
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
        for (var document : documents()) {
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
        for (var source : mainSources()) {
            var said = SAID.matcher(Files.readString(source));
            while (said.find()) {
                var text = SEAM.matcher(said.group()).replaceAll(DocumentsTest::seam);
                words.check(text.replaceAll("@param \\S+", "")) // a name in the code
                        .forEach(found -> wrong.add(source + ": " + found));
            }
        }
        assertThat(wrong).isEmpty();
    }

    @Test
    void linesOfMainCodeFit() throws IOException {
        var wrong = new ArrayList<String>();
        for (var source : mainSources()) {
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
        for (var document : documents()) {
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
        for (var document : documents()) {
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
    void everySettingAndCauseIsOnItsPage() throws IOException {
        var page = Files.readString(ROOT.resolve("docs/settings.md"));
        var names = Stream.concat(
                Stream.of(CandidacyConfig.Builder.class, ElectionsConfig.Builder.class, LockConfig.Builder.class)
                        .flatMap(builder -> Stream.of(builder.getDeclaredMethods()))
                        .filter(method -> Modifier.isPublic(method.getModifiers()))
                        .map(Method::getName)
                        .filter(name -> !name.equals("build")),
                Stream.of(Cause.values()).map(Cause::name));
        assertThat(names.map(name -> "\n| `" + name + "` |")).isNotEmpty().allMatch(page::contains);
    }

    /** Where a literal goes on in the next there is nothing; in a comment a blank. */
    private static String seam(MatchResult found) {
        return found.group().startsWith("\"") ? "" : " ";
    }

    /** Returns the sources of all modules, except the benchmarks. */
    private static List<Path> mainSources() throws IOException {
        var sources = new ArrayList<Path>();
        try (var folders = Files.find(ROOT, 5, (path, attributes) -> path.endsWith("src/main/java"))) {
            for (var folder : folders.filter(path -> !path.startsWith(ROOT.resolve("benchmarks")))
                    .toList()) {
                try (var files = Files.walk(folder)) {
                    files.filter(path -> path.toString().endsWith(".java")).forEach(sources::add);
                }
            }
        }
        assertThat(sources).hasSizeGreaterThan(500);
        return sources;
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

    private static List<Path> documents() throws IOException {
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
                                    .map(ROOT::resolve),
                            // scripts/bench writes docs/figures
                            docs.filter(path -> path.toString().endsWith(".md")
                                    && !path.toString().contains("figures")))
                    .sorted()
                    .toList();
        }
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
