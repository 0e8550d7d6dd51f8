package dev.bellwether.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.bellwether.cli.Commands;
import dev.bellwether.testkit.Never;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(300)
class DemoTest {
    @TempDir
    Path folder;

    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void leaveNothingRunning() {
        started.forEach(Process::destroyForcibly); // which takes all the rest with it, as a fact here shows
    }

    @Test
    void tourOfKafkaPassesWithoutOverlapAndLeavesNothing() throws Exception {
        var demo = start("--tour", "--json");

        assertThat(demo.waitFor(280, TimeUnit.SECONDS)).isTrue();

        requireNoOverlap();
        assertThat(demo.exitValue()).as(told()).isZero();
        var document = new ObjectMapper().readTree(told());
        assertThat(steps(document))
                .containsExactly(
                        "elect", "hand over", "kill", "freeze", "cut off", "cut off one way", "slow", "broker restart");
        assertThat(document.get("overlapNanos").asLong()).isZero();
        assertThat(document.get("ok").asBoolean()).isTrue();
        // A crash is noticed when the lease has run out, and not before: else this measures something else.
        assertThat(document.get("steps").get(2).get("vacancyMillis").asDouble()).isBetween(500.0, 60_000.0);
        assertThat(temporary()).isEmptyDirectory();
    }

    @Test
    void tourOfSqlitePassesWithoutWhatItHasNot() throws Exception {
        var demo = start("--tour", "--on", "sqlite", "--lease", "1s");

        assertThat(demo.waitFor(280, TimeUnit.SECONDS)).isTrue();

        requireNoOverlap();
        assertThat(demo.exitValue()).as(told()).isZero();
        assertThat(told())
                .contains("elect ", "hand over ", "kill ", "freeze ")
                .doesNotContain("cut off", "restart")
                .endsWith("overlap: 0 ns\n");
        assertThat(temporary()).isEmptyDirectory();
    }

    @Test
    void killedDemoTakesItsBrokerAndItsCandidatesWithItEvenAFrozenOne() throws Exception {
        var demo = start();
        until(() -> told().contains("leads, token"));
        type(demo, "f");
        until(() -> told().contains("freeze "));
        until(() -> told().lines().filter(line -> line.contains("leads, token")).count() == 2);
        var descendants = demo.descendants().toList();
        assertThat(descendants).hasSizeGreaterThanOrEqualTo(5); // a broker, candidates, shells

        demo.destroyForcibly();

        until(() -> descendants.stream().noneMatch(ProcessHandle::isAlive));
        var left = temporary();
        until(() -> isEmpty(left));
    }

    @Test
    void keysKillTheLeaderAndStartItAgain() throws Exception {
        var demo = start("--on", "sqlite", "--lease", "1s");
        until(() -> told().contains("leads, token"));

        type(demo, "k");
        until(() -> told().contains("kill -9 "));
        until(() -> told().contains("vacant for"));
        type(demo, "n");
        until(() -> told().lines()
                        .filter(line -> line.contains(" starts, process "))
                        .count()
                == 4);
        type(demo, "h");
        until(() -> told().contains("there is no network of"));
        type(demo, "q");

        assertThat(demo.waitFor(60, TimeUnit.SECONDS)).isTrue();
        requireNoOverlap();
        assertThat(demo.exitValue()).as(told()).isZero();
        assertThat(told()).endsWith("overlap: 0 ns\n");
    }

    @Test
    void eachKeyIsHeardInATerminalWhichIsAsItWasInTheEnd() throws Exception {
        var demo = startInTerminal();
        until(() -> told().contains("leads, token"));
        assertThat(told()).contains("\u001b[").doesNotContain("with Enter");
        type(demo, "k"); // and no Enter
        until(() -> told().contains("kill -9 "));
        until(() -> told().contains("vacant for"));
        type(demo, "q");

        assertThat(demo.waitFor(60, TimeUnit.SECONDS)).isTrue();
        requireNoOverlap();
        assertThat(told())
                .contains("overlap: 0 ns")
                .containsPattern("(?<!-)icanon")
                .containsPattern("(?<!-)echo ");
    }

    @Test
    void terminalIsAsItWasThoughTheDemoIsKilled() throws Exception {
        var demo = startInTerminal();
        until(() -> told().contains("leads, token"));
        demo.descendants()
                .filter(process -> isJava(process)
                        && !process.parent().map(DemoTest::isJava).orElse(false))
                .forEach(ProcessHandle::destroyForcibly);

        assertThat(demo.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(told()).containsPattern("(?<!-)icanon").containsPattern("(?<!-)echo ");
    }

    @Test
    void terminalIsAsItWasThoughTheDemoCannotBegin() throws Exception {
        var demo = startInTerminal(folder.resolve("missing"));

        assertThat(demo.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(told())
                .contains("bellwether:", "missing")
                .containsPattern("(?<!-)icanon")
                .containsPattern("(?<!-)echo ");
    }

    private void requireNoOverlap() {
        assertThat(told())
                .as(Never.mark("two led at once"))
                .doesNotContainPattern("overlap: [1-9]|\"overlapNanos\" ?: ?[1-9]|two led at once");
    }

    private static boolean isJava(ProcessHandle process) {
        return process.info().command().orElse("").endsWith("/java");
    }

    private Process startInTerminal() throws IOException {
        return startInTerminal(temporary());
    }

    /** Says in the end how the terminal is set. */
    private Process startInTerminal(Path temporary) throws IOException {
        var line = Commands.java();
        line.add(1, "-Dbellwether.terminals=012");
        line.add(1, "-Djava.io.tmpdir=" + temporary);
        line.addAll(List.of("demo", "--on", "sqlite", "--lease", "1s"));
        var quoted = line.stream().map(word -> "'" + word + "'").collect(Collectors.joining(" "));
        var builder = new ProcessBuilder("script", "-qec", quoted + "; sleep 2; stty -a", "/dev/null")
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("told").toFile());
        builder.environment().put("TERM", "xterm");
        builder.environment().remove("NO_COLOR");
        var demo = builder.start();
        started.add(demo);
        return demo;
    }

    private static List<String> steps(JsonNode document) {
        var names = new ArrayList<String>();
        document.get("steps").forEach(step -> names.add(step.get("step").asText()));
        return names;
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

    private static void type(Process demo, String keys) throws IOException {
        demo.getOutputStream().write(keys.getBytes(StandardCharsets.US_ASCII));
        demo.getOutputStream().flush();
    }

    private Path temporary() throws IOException {
        return Files.createDirectories(folder.resolve("tmp"));
    }

    private static boolean isEmpty(Path folder) {
        try (var files = Files.list(folder)) {
            return files.findAny().isEmpty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String told() {
        try {
            return Files.readString(folder.resolve("told"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The timeout of the class bounds this. */
    private static void until(BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }
}
