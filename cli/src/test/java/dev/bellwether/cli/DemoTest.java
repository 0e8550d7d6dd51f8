package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class DemoTest {
    @TempDir
    Path folder;

    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void leaveNothingRunning() {
        started.forEach(Process::destroyForcibly); // which takes its candidates with it, as a fact here shows
    }

    @Test
    void leadersComeAndGoAndNothingIsLeft() throws Exception {
        var demo = start("--for", "14s", "--lease", "1s");

        assertThat(demo.waitFor(90, TimeUnit.SECONDS)).isTrue();

        assertThat(demo.exitValue()).as(told()).isZero();
        assertThat(told()).contains("leads, token 1").contains("leads, token 2").contains("vacant for");
        assertThat(candidatesOfThisDemo()).isEmpty();
        try (var left = Files.list(temporary())) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void killedDemoTakesItsCandidatesWithIt() throws Exception {
        var demo = start();
        until(() -> candidatesOfThisDemo().size() == 3);

        demo.destroyForcibly();

        until(() -> candidatesOfThisDemo().isEmpty());
    }

    private Process start(String... args) throws IOException {
        var line = Commands.java();
        line.add(1, "-Djava.io.tmpdir=" + temporary());
        line.add("demo");
        line.addAll(List.of(args));
        var demo = new ProcessBuilder(line)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("told").toFile())
                .start();
        started.add(demo);
        return demo;
    }

    private Path temporary() throws IOException {
        return Files.createDirectories(folder.resolve("tmp"));
    }

    private String told() {
        try {
            return Files.readString(folder.resolve("told"));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** Their command lines name the demo's folder. */
    private List<ProcessHandle> candidatesOfThisDemo() {
        return ProcessHandle.allProcesses()
                .filter(one -> one.info().commandLine().orElse("").contains("jdbc:sqlite:" + folder))
                .toList();
    }

    private static void until(BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            TimeUnit.MILLISECONDS.sleep(20); // the timeout of the class bounds this
        }
    }
}
