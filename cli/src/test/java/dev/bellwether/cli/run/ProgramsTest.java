package dev.bellwether.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which processes of this machine have ended. */
class ProgramsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path folder;

    @Test
    void aChildWhoseExitCodeNobodyTakesHasEnded() throws Exception {
        var file = folder.resolve("pid");
        // the shell becomes a program that knows of no child
        var parent = new ProcessBuilder("bash", "-c", "sleep 600 & echo $! >\"$0\"; exec sleep 600", file.toString())
                .start();
        try {
            var child = Eventually.eventually("it has a child", PATIENCE, () -> child(parent, file));
            assertThat(Programs.hasEnded(child)).isFalse();

            child.destroyForcibly();

            Eventually.eventually("it has ended", PATIENCE, () -> Programs.hasEnded(child));
            assertThat(child.isAlive()).as("as Java sees it").isTrue();
        } finally {
            parent.descendants().forEach(ProcessHandle::destroyForcibly);
            parent.destroyForcibly().waitFor();
        }
    }

    private static Optional<ProcessHandle> child(Process parent, Path file) {
        try {
            return parent.info()
                            .command()
                            .filter(command -> command.endsWith("sleep"))
                            .isPresent()
                    ? ProcessHandle.of(Long.parseLong(Files.readString(file).strip()))
                    : Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aProcessWhoseFirstThreadAloneHasEndedIsAlive() throws Exception {
        var program = """
                import ctypes, threading, time
                threading.Thread(target=lambda: time.sleep(600)).start()
                ctypes.CDLL(None).pthread_exit(None)
                """;
        var process = new ProcessBuilder(Scripts.where("python3"), "-c", program).start();
        try {
            var stat = Path.of("/proc/" + process.pid() + "/stat");
            Eventually.eventually("its first thread has ended", PATIENCE, () -> {
                try {
                    return Files.readString(stat).contains(") Z ");
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });

            assertThat(Programs.hasEnded(process.toHandle())).isFalse();
        } finally {
            process.destroyForcibly();
            assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }
        assertThat(Programs.hasEnded(process.toHandle())).isTrue();
    }
}
