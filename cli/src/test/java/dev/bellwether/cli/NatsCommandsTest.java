package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.nats.NatsServer;
import dev.bellwether.testkit.servers.Ports;
import io.nats.client.Nats;
import io.nats.client.api.KeyValueConfiguration;
import io.nats.client.api.StorageType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command against a real nats-server, each in a process of its own: what {@code choria election} does. */
class NatsCommandsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    @SuppressWarnings("NullAway.Init")
    private static NatsServer server;

    @TempDir
    Path folder;

    private final List<Process> started = new ArrayList<>();

    @BeforeAll
    static void startServer() {
        server = NatsServers.alone();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @AfterEach
    void leaveNothingRunning() throws InterruptedException {
        for (var process : started) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
    }

    @Test
    void aFileIsFreshWhileItsWriterLeadsAndGoneWhenItHasHandedOver() throws Exception {
        var first = folder.resolve("first");
        var second = folder.resolve("second");
        var one = start("file", first.toString(), "nightly", "--timeout", "60s", "--lease", "20s", "--id", "ann");
        Eventually.eventually("its file is fresh", PATIENCE, () -> check(first) == 0);
        assertThat(Files.readString(first)).contains("election=nightly", "candidate=ann");
        var other = start("file", second.toString(), "nightly", "--timeout", "60s", "--lease", "20s", "--id", "bob");
        Eventually.eventually(
                "the other stands by", PATIENCE, () -> said("show", "nightly").contains("bob"));
        assertThat(check(second)).isEqualTo(ExitCode.NOBODY_LEADS);

        one.destroy(); // SIGTERM

        assertThat(one.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(first).doesNotExist();
        Eventually.eventually("the other's is fresh", PATIENCE, () -> check(second) == 0);
        assertThat(other.isAlive()).isTrue();
    }

    @Test
    void theFileOfAWriterThatWasKilledIsTooOldBeforeAnotherLeads() throws Exception {
        var first = folder.resolve("first");
        var second = folder.resolve("second");
        var one = start("file", first.toString(), "hourly", "--timeout", "60s", "--lease", "6s");
        Eventually.eventually("its file is fresh", PATIENCE, () -> check(first) == 0);
        start("file", second.toString(), "hourly", "--timeout", "60s", "--lease", "6s", "--id", "bob");
        Eventually.eventually(
                "the other stands by", PATIENCE, () -> said("show", "hourly").contains("bob"));

        one.destroyForcibly(); // SIGKILL

        Eventually.eventually("the other's is fresh", PATIENCE, () -> check(second) == 0);
        assertThat(check(first)).isEqualTo(ExitCode.NOBODY_LEADS);
        assertThat(first).exists();
    }

    @Test
    void aCommandRunsUnderTheTokenOfItsMandateAndAnotherTakesOverWhenItsLeaderIsEvicted() throws Exception {
        var trace = folder.resolve("trace");
        var work = "echo $BELLWETHER_CANDIDATE $BELLWETHER_TOKEN >>" + trace + "; exec sleep 600";
        var one = start("run", "--lease", "20s", "--id", "ann", "billing", "--", "sh", "-c", work);
        Eventually.eventually("it runs", PATIENCE, () -> lines(trace).size() == 1);
        start("run", "--lease", "20s", "--id", "bob", "billing", "--", "sh", "-c", work);
        Eventually.eventually(
                "the other stands by", PATIENCE, () -> said("show", "billing").contains("bob"));
        assertThat(said("ls")).contains("billing").contains("ann");

        var evicted = Spoken.of(environment("bucket=cli"), "stand-down", "billing", "--yes");

        assertThat(evicted.code()).isZero();
        assertThat(evicted.out()).contains("Ordered ann");
        Eventually.eventually("the other runs", PATIENCE, () -> lines(trace).size() == 2);
        assertThat(one.isAlive()).as("it stands again").isTrue();
        assertThat(lines(trace).get(0)).startsWith("ann ");
        assertThat(lines(trace).get(1)).startsWith("bob ");
        assertThat(token(lines(trace).get(1))).isGreaterThan(token(lines(trace).get(0)));
    }

    @Test
    void besideChoriaTheSameCommandsWork() throws Exception {
        var file = folder.resolve("leader");
        var choria = environment("choria=true&bucket=choria&ttl=PT4S");
        start(
                choria,
                "file",
                file.toString(),
                "provisioner",
                "--timeout",
                "60s",
                "--lease",
                "3s",
                "--id",
                "c1.example.net");
        Eventually.eventually("it is fresh", PATIENCE, () -> check(file) == 0);
        assertThat(Spoken.of(choria, "show", "provisioner").out()).contains("c1.example.net");
        assertThat(Spoken.of(choria, "stand-down", "provisioner", "--yes").code())
                .isZero();
        assertThat(Spoken.of(choria, "end", "provisioner", "--yes").code()).isNotZero();
    }

    @Test
    void nobodyToEvictIsToldByTheExitCode() {
        assertThat(Spoken.of(environment("bucket=cli"), "stand-down", "vacant", "--yes")
                        .code())
                .isEqualTo(ExitCode.NOBODY_LEADS);
    }

    @Test
    void whatIsWrongWithABucketIsShown() throws Exception {
        var connection = Nats.connect("nats://127.0.0.1:" + server.port());
        connection
                .keyValueManagement()
                .create(KeyValueConfiguration.builder()
                        .name("memory")
                        .storageType(StorageType.Memory)
                        .build());
        connection.close();
        var shown = Spoken.of(environment("bucket=memory"), "show", "nothing");
        assertThat(shown.code()).isEqualTo(ExitCode.NOBODY_LEADS);
        assertThat(shown.err()).contains("warning").contains("kept in memory");
        var absent = Spoken.of(environment("bucket=absent&create=false"), "show", "nothing");
        assertThat(absent.code()).isNotZero();
        assertThat(absent.err()).contains("nats kv add absent");
        var down = Spoken.of(
                Map.of("BELLWETHER_ON", "nats://127.0.0.1:" + Ports.free() + "?bucket=cli"), "show", "nothing");
        assertThat(down.code()).isEqualTo(ExitCode.UNAVAILABLE);
    }

    @Test
    void anElectionThatCannotBeReadHidesNoOther() throws Exception {
        var torn = environment("bucket=torn");
        try (var elections = Elections.connect(server.uri("bucket=torn"))) {
            assertThat(elections.stand("later").await(PATIENCE)).isPresent();
            var connection = Nats.connect("nats://127.0.0.1:" + server.port());
            connection.keyValue("torn").put("earlier", "bellwether=3&state=vacant");
            connection.close();

            var table = Spoken.of(torn, "ls");
            var json = Spoken.of(torn, "ls", "--json");

            assertThat(table.out())
                    .containsPattern("earlier +\\? +\\? +\\(unknown\\)")
                    .contains("later");
            assertThat(table.err()).contains("earlier");
            assertThat(table.code()).isEqualTo(ExitCode.FAILED);
            assertThat(json.json().get("elections")).hasSize(1);
            assertThat(json.json().get("elections").get(0).get("election").asText())
                    .isEqualTo("later");
            assertThat(json.json().get("unknown").get(0).get("election").asText())
                    .isEqualTo("earlier");
        }
    }

    private static Map<String, String> environment(String query) {
        return Map.of("BELLWETHER_ON", server.uri(query));
    }

    private Process start(String... args) throws IOException {
        return start(environment("bucket=cli"), args);
    }

    private Process start(Map<String, String> environment, String... args) throws IOException {
        var line = Commands.java();
        line.addAll(List.of(args));
        var builder = new ProcessBuilder(line)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(
                        ProcessBuilder.Redirect.appendTo(folder.resolve("err").toFile()));
        builder.environment().putAll(environment);
        var process = builder.start();
        started.add(process);
        return process;
    }

    private static String said(String... args) {
        return Spoken.of(environment("bucket=cli"), args).out();
    }

    private static int check(Path file) {
        return Spoken.of(Map.of(), "file", "--check", file.toString()).code();
    }

    private static long token(String line) {
        return Long.parseLong(line.substring(line.indexOf(' ') + 1).strip());
    }

    private static List<String> lines(Path file) {
        try {
            return Files.exists(file) ? Files.readAllLines(file, StandardCharsets.UTF_8) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
