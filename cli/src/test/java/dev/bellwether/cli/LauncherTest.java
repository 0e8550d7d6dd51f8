package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script {@code bellwether} as in an unpacked release, with a java that tells how it was called. */
class LauncherTest {
    private static final String TELLING_JAVA = """
            #!/bin/sh
            if [ "$1" = -version ]; then
              echo 'openjdk version "17.0.1"'
            else
              printf '%s\\n' "LC_ALL=${LC_ALL-unset}" "$@"
            fi
            """;

    @TempDir
    Path folder;

    @BeforeEach
    void unpack() throws IOException {
        Files.copy(Path.of("../bellwether"), folder.resolve("bellwether"));
        Files.createDirectories(folder.resolve(".cache/cli/current"));
        var java = Files.createDirectories(folder.resolve("jdk/bin")).resolve("java");
        Files.writeString(java, TELLING_JAVA);
        assertThat(java.toFile().setExecutable(true)).isTrue();
    }

    @Test
    void inALocaleWithoutUmlautsJavaReadsArgumentsAsUtf8AndHearsWhatTheLocaleWas() throws Exception {
        assertThat(called(Map.of("LC_ALL", "C"))).contains("LC_ALL=C.UTF-8", "-Dbellwether.lcAll==C");
        assertThat(called(Map.of("LC_ALL", ""))).contains("LC_ALL=C.UTF-8", "-Dbellwether.lcAll==");
        assertThat(called(Map.of())).contains("LC_ALL=C.UTF-8", "-Dbellwether.lcAll=");
    }

    @Test
    void aLocaleThatIsUtf8StaysAsItIs() throws Exception {
        assertThat(called(Map.of("LANG", "C.UTF-8")))
                .contains("LC_ALL=unset")
                .noneMatch(argument -> argument.startsWith("-Dbellwether.lcAll"));
    }

    /** The archive of classes cannot be written there, and was tried again at each start. */
    @Test
    void whereNobodyMayWriteItStartsAtOnceAndSaysNothing() throws Exception {
        var current = folder.resolve(".cache/cli/current");
        Files.delete(current);
        Files.createSymbolicLink(current, Path.of("/proc")); // not even root may
        assertThat(called(Map.of("LANG", "C.UTF-8"))).startsWith("LC_ALL=unset");
    }

    /** A code of 1 would be taken for that of the command. */
    @Test
    void withoutAJdkRunExitsWithItsOwnCode() throws Exception {
        Files.delete(folder.resolve("jdk/bin/java"));
        for (var line : List.of(List.of("run", "e", "ls"), List.of("--verbose", "run", "e", "ls"), List.of("ls"))) {
            assertThat(start(Map.of(), line).waitFor()).as("%s", line).isEqualTo(line.contains("run") ? 125 : 1);
            assertThat(Files.readString(folder.resolve("called"))).contains("install a JDK");
        }
    }

    /** As in a folder for reading only: the script ends by itself where it cannot make a file. */
    @Test
    void whereItCannotBuildRunExitsWithItsOwnCode() throws Exception {
        Files.createDirectories(folder.resolve("cli"));
        Files.createFile(folder.resolve("cli/pom.xml")); // there are sources, so it builds
        for (var tool : List.of("jdk/bin/javac", "mvn")) {
            Files.copy(folder.resolve("jdk/bin/java"), folder.resolve(tool), StandardCopyOption.COPY_ATTRIBUTES);
        }
        Files.createDirectories(folder.resolve(".cache/cli/lock")); // no file can be made in its place
        var path = Map.of("PATH", folder + ":" + System.getenv("PATH"));
        assertThat(start(path, List.of("run", "e", "ls")).waitFor()).isEqualTo(125);
        assertThat(start(path, List.of("ls")).waitFor()).isEqualTo(1);
    }

    private List<String> called(Map<String, String> locale) throws Exception {
        var process = start(locale, List.of("ls"));
        Eventually.eventually("it ends", Duration.ofSeconds(60), () -> !process.isAlive());
        return Files.readAllLines(folder.resolve("called"), StandardCharsets.UTF_8);
    }

    private Process start(Map<String, String> locale, List<String> words) throws IOException {
        var line = new ArrayList<>(List.of("bash", folder.resolve("bellwether").toString()));
        line.addAll(words);
        var builder = new ProcessBuilder(line)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("called").toFile());
        builder.environment().keySet().removeIf(name -> name.equals("LANG") || name.startsWith("LC_"));
        builder.environment().putAll(locale);
        builder.environment().put("JAVA_HOME", folder.resolve("jdk").toString());
        return builder.start();
    }
}
