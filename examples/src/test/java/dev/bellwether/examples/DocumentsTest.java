package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Java code in the README and in {@code docs/} is what the compiled sources hold. Each block stands under a line such
 * as {@code <!-- from examples/src/main/java/dev/bellwether/examples/FirstSteps.java#listener -->}, and shows what lies
 * between {@code // tag::listener} and {@code // end::listener} there.
 */
class DocumentsTest {
    private static final Path ROOT = Path.of("..");
    private static final Pattern BLOCK = Pattern.compile(
            "(?m)(?:^<!-- from (\\S+)#(\\S+) -->\\n)?^```java\\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);

    @Test
    void javaInTheDocumentsIsCompiled() throws IOException {
        var wrong = new ArrayList<String>();
        var blocks = 0;
        for (var document : documents()) {
            var matcher = BLOCK.matcher(Files.readString(document));
            while (matcher.find()) {
                blocks++;
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

    private static List<Path> documents() throws IOException {
        try (Stream<Path> docs = Files.list(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of(ROOT.resolve("README.md")),
                            docs.filter(path -> path.toString().endsWith(".md")))
                    .sorted()
                    .toList();
        }
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
