package dev.bellwether.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The documents and the sources of this checkout, for tests that compare them. */
final class Documents {
    static final Path ROOT = Path.of("..");
    /** A comment or a literal; comments of one line, and literals with a plus between them, are read as one. */
    static final Pattern SAID = Pattern.compile(
            "/\\*.*?\\*/|//[^\\n]*+(?:\\n\\s*+//[^\\n]*+)*+|\"\"\".*?\"\"\""
                    + "|\"(?:[^\"\\\\\\n]++|\\\\.)*+\"(?:\\s*+\\+\\s*+\"(?:[^\"\\\\\\n]++|\\\\.)*+\")*+|'(?:[^'\\\\]|\\\\.)*+'",
            Pattern.DOTALL);

    private static final Pattern SEAM = Pattern.compile("\"\\s*+\\+\\s*+\"|\\s++(?://|\\*(?!/))?\\s*+");

    private Documents() {}

    /** Returns all documents but the tables that scripts/bench writes. */
    static List<Path> all() throws IOException {
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
                                    .map(ROOT::resolve),
                            docs.filter(path -> path.toString().endsWith(".md")
                                    && !path.toString().contains("figures")))
                    .sorted()
                    .toList();
        }
    }

    /** Returns a page of docs. */
    static String page(String name) throws IOException {
        return Files.readString(ROOT.resolve("docs").resolve(name));
    }

    /** Returns the sources of all modules, except the benchmarks. */
    static List<Path> mainSources() throws IOException {
        var sources = new ArrayList<Path>();
        try (var folders = Files.find(ROOT, 5, (path, attributes) -> path.endsWith("src/main/java"))) {
            for (var folder : folders.filter(path -> !path.startsWith(ROOT.resolve("benchmarks")))
                    .toList()) {
                try (var files = Files.walk(folder)) {
                    files.filter(path -> path.toString().endsWith(".java")).forEach(sources::add);
                }
            }
        }
        return sources;
    }

    /** Returns the comments and literals of a source, each on one line. */
    static List<String> said(String source) {
        return SAID.matcher(source)
                .results()
                .map(found -> SEAM.matcher(found.group()).replaceAll(Documents::seam))
                .toList();
    }

    /** Where a literal goes on in the next there is nothing; in a comment a blank. */
    private static String seam(MatchResult found) {
        return found.group().startsWith("\"") ? "" : " ";
    }
}
