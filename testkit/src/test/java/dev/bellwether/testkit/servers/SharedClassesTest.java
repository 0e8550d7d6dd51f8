package dev.bellwether.testkit.servers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

class SharedClassesTest {
    private static final String CLASS_PATH = System.getProperty("java.class.path");
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    @TempDir
    private Path folder;

    @Test
    void whatOneHasLoadedTheNextOnesMap() throws Exception {
        var first = SharedClasses.of(Program.class, CLASS_PATH, folder.toString());
        assertThat(run(first.options())).contains("done").doesNotContain("slf4j.LoggerFactory source: shared");
        first.served();
        assertThat(files()).as("no list is left").singleElement().asString().endsWith(".jsa");
        var next = SharedClasses.of(Program.class, CLASS_PATH, folder.toString());
        assertThat(run(next.options())).contains("done").contains("slf4j.LoggerFactory source: shared");
        next.served();
        assertThat(files()).hasSize(1);
    }

    @Test
    void whoNamesNoFolderHasNoArchive() throws Exception {
        var plain = SharedClasses.of(Program.class, CLASS_PATH, "");
        assertThat(plain.options()).containsExactly("-cp", CLASS_PATH, Program.class.getName());
        plain.served();
        assertThat(files()).isEmpty();
    }

    @Test
    void whatEndsBeforeItServesMakesNoArchive() throws Exception {
        var failed = SharedClasses.of(Program.class, CLASS_PATH, folder.toString());
        run(failed.options());
        assertThat(SharedClasses.of(Program.class, CLASS_PATH, folder.toString())
                        .options())
                .noneMatch(option -> option.startsWith("-XX:SharedArchiveFile="));
    }

    private List<Path> files() throws IOException {
        try (var files = Files.list(folder)) {
            return files.toList();
        }
    }

    private static String run(List<String> options) throws Exception {
        var command = new ArrayList<>(List.of(JAVA, "-XX:+UseSerialGC", "-Xlog:class+load"));
        command.addAll(options);
        var process = new ProcessBuilder(command).redirectErrorStream(true).start();
        var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        return said;
    }

    /** Loads something of a jar. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) {
            LoggerFactory.getLogger("program");
            System.out.println("done");
        }
    }
}
