package dev.bellwether.cli.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.cli.Commands;
import dev.bellwether.cli.OutboxStage;
import dev.bellwether.cli.Spoken;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code bellwether reap}, as processes of their own between a real PostgreSQL and a real broker. */
class ReapTest {
    private static final int SIGTERM = 128 + 15;
    private static OutboxStage stage;

    private final List<Process> started = new ArrayList<>();

    @TempDir
    Path folder;

    @BeforeAll
    static void start() throws IOException {
        stage = new OutboxStage();
    }

    @AfterAll
    static void end() throws IOException {
        stage.close();
    }

    @AfterEach
    void killAll() {
        for (var process : started) {
            process.destroyForcibly().onExit().join();
        }
    }

    /** The file of the original's documentation, with all keys it knows. */
    private String original(String table, String level) {
        return """
                harvest:
                  baseKafkaConfig:
                    bootstrap.servers: %s
                    socket.keepalive.enable: true
                  producerKafkaConfig:
                    delivery.timeout.ms: 120000
                    acks: all
                  leaderTopic: %s.neli
                  leaderGroupID: %s
                  dataSource: host=127.0.0.1 port=%d user=postgres password= dbname=postgres sslmode=disable
                  outboxTable: %s
                  limits:
                    ioErrorBackoff: 500ms
                    pollDuration: 1ms
                    minPollInterval: 100ms
                    maxPollInterval: 300s
                    heartbeatTimeout: 5s
                    drainInterval: 30s
                    queueTimeout: 30s
                    markBackoff: 10ms
                    maxInFlightRecords: 1000
                    sendConcurrency: 8
                    sendBuffer: 10
                    markQueryRecords: 100
                    minMetricsInterval: 100ms
                logging:
                  level: %s
                """.formatted(stage.bootstrap(), table, table, stage.port(), table, level);
    }

    @Test
    void originalsFileAndTableServeAsTheyAre() throws Exception {
        stage.topic("harvested", Map.of());
        stage.execute(Spoken.of(
                        Map.of(), "outbox", "schema", "--db", stage.db(), "--table", "harvest", "--layout", "goharvest")
                .out());
        stage.execute("DROP TABLE harvest_relay, harvest_parked"); // which the original did not have
        // as a reaper of the original left it, some rows marked by a leader that is gone
        stage.execute("INSERT INTO harvest (create_time, kafka_topic, kafka_key, kafka_value, kafka_header_keys,"
                + " kafka_header_values, leader_id) SELECT now(), 'harvested', 'k', i::text, ARRAY['n'], ARRAY[i::text],"
                + " CASE WHEN i % 2 = 0 THEN gen_random_uuid() END FROM generate_series(0, 299) i");
        var migrated = Spoken.of(Map.of(), "outbox", "migrate", "--db", stage.db(), "--table", "harvest");
        assertThat(migrated.code()).isZero();
        assertThat(migrated.out()).contains("harvest_relay", "harvest_parked").doesNotContain("leader_id");
        assertThat(Spoken.of(Map.of(), "outbox", "migrate", "--db", stage.db(), "--table", "harvest")
                        .out())
                .isEmpty();

        var reap = reap("one", original("harvest", "Error"));
        stage.awaitEmpty("harvest");
        assertThat(stage.read("harvested", 300).stream().map(ConsumerRecord::value))
                .isEqualTo(numbers(300));
        assertThat(stage.read("harvested", 300).stream().map(record -> OutboxStage.header(record, "n")))
                .isEqualTo(numbers(300));
        Eventually.eventually(
                "it tells what it has done",
                OutboxStage.PATIENCE,
                () -> said("one").contains("MeterRead"));
        terminate(reap);

        assertThat(said("one")).contains("LeaderAcquired", "LeaderRefreshed", "LeaderRevoked");
        assertThat(complaints("one"))
                .satisfiesExactlyInAnyOrder(
                        warning("acks"),
                        warning("socket.keepalive.enable"),
                        warning("pollDuration"),
                        warning("minPollInterval"),
                        warning("maxPollInterval"),
                        warning("drainInterval"),
                        warning("queueTimeout"),
                        warning("sendConcurrency"),
                        warning("sendBuffer"));
    }

    private static org.assertj.core.api.ThrowingConsumer<String> warning(String key) {
        return line -> assertThat(line).startsWith("bellwether: warning: ").contains(key + " has no effect any more");
    }

    private static List<String> numbers(int count) {
        return java.util.stream.IntStream.range(0, count)
                .mapToObj(Integer::toString)
                .toList();
    }

    @Test
    void sigtermDrainsAndHandsOver() throws Exception {
        stage.topic("handed", Map.of());
        var file = original("handover", "Info");
        var first = reap("first", file);
        Eventually.eventually(
                "the first leads", OutboxStage.PATIENCE, () -> said("first").contains("LeaderRefreshed"));
        var second = reap("second", file);
        var pump = pump("handover", "handed", 0);
        Eventually.eventually(
                "the first publishes",
                OutboxStage.PATIENCE,
                () -> said("first").contains("MeterRead") || !pump.isAlive());
        terminate(first);
        assertThat(said("first")).contains("LeaderRevoked").doesNotContain("LeaderFenced");
        // its session of 15 s would have to run out first, had it not handed over
        Eventually.eventually(
                "the second leads", OutboxStage.PATIENCE, () -> said("second").contains("LeaderRefreshed"));
        pump.join();
        stage.awaitEmpty("handover");
        terminate(second);

        var values = stage.read("handed", 2_000).stream()
                .map(record -> OutboxStage.header(record, "event-id"))
                .toList();
        assertThat(values).doesNotHaveDuplicates().hasSize(2_000);
        assertThat(complaints("first")).anyMatch(line -> line.contains("leads shard 0"));
    }

    /** Writes 2,000 rows, in transactions of ten. */
    private static Thread pump(String table, String topic, int from) {
        var pump = new Thread(() -> {
            try {
                for (var i = from; i < from + 2_000; i += 10) {
                    stage.execute("INSERT INTO " + table + " (create_time, kafka_topic, kafka_key, kafka_value,"
                            + " kafka_header_keys, kafka_header_values) SELECT now(), '" + topic
                            + "', 'k', i::text, '{}', '{}' FROM generate_series(" + i + ", " + (i + 9) + ") i");
                }
            } catch (java.sql.SQLException e) {
                throw new IllegalStateException(e);
            }
        });
        Eventually.eventually(
                "there is a table",
                OutboxStage.PATIENCE,
                () -> stage.number("SELECT count(*) FROM pg_class WHERE relname = '" + table + "'") == 1);
        pump.start();
        return pump;
    }

    @Test
    void leaseRowInTheDatabaseServesAsElection() throws Exception {
        stage.topic("leased", Map.of());
        var reap = reap(
                "leased",
                original("leased", "Warn")
                        + "relay:\n  on: '" + stage.db() + "'\n  shards: 2\n  poison: park\n  lease: 3s\n"
                        + "  maxInFlightBytes: 100000\n  readAhead: 3\n  transactionInterval: 20ms\n  eventIdHeader: x-event\n");
        pump("leased", "leased", 0).join();
        stage.awaitEmpty("leased");
        assertThat(stage.read("leased", 2_000))
                .allSatisfy(record ->
                        assertThat(OutboxStage.header(record, "x-event")).hasSize(36));
        assertThat(stage.number("SELECT count(*) FROM bellwether_election WHERE election LIKE 'outbox.leased.%'"))
                .isEqualTo(2);
        terminate(reap);
        assertThat(said("leased")).contains("shard=0").contains("shard=1");
    }

    @Test
    void endsByItselfAfterATime() throws Exception {
        var file = Files.writeString(folder.resolve("brief.yaml"), original("brief", "error"));
        var spoken = Spoken.of(Map.of(), "reap", "-f", file.toString(), "--for", "1s");
        assertThat(spoken.code()).isZero();
    }

    @Test
    void optionOfTheOriginalIsUnderstoodAsItIsWritten() throws Exception {
        var file = Files.writeString(folder.resolve("dash.yaml"), original("dash", "error"));
        assertThat(Spoken.of(Map.of(), "reap", "-file", file.toString(), "--for", "1s")
                        .code())
                .isZero();
    }

    @Test
    void electionThatIsEndedEndsTheReaperWithACodeOfItsOwn() throws Exception {
        var reap = reap("ended", original("ended", "warn") + "relay:\n  on: '" + stage.db() + "'\n  lease: 3s\n");
        Eventually.eventually(
                "it leads", OutboxStage.PATIENCE, () -> said("ended").contains("LeaderRefreshed"));
        try (var elections = Elections.connect(stage.db())) {
            elections.election("outbox.ended.0").end();
        }
        assertThat(reap.waitFor(OutboxStage.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        assertThat(reap.exitValue()).isEqualTo(ExitCode.RELAY_ENDED).isEqualTo(5);
        assertThat(said("ended")).contains("ElectionEnded");
    }

    @Test
    void missingTopicIsToldOnceAndByUsAndTheEndPrintsNoStackTrace() throws Exception {
        var reap = reap("unmade", original("unmade", "warn"));
        Eventually.eventually(
                "it leads", OutboxStage.PATIENCE, () -> said("unmade").contains("LeaderRefreshed"));
        stage.execute(
                "INSERT INTO unmade (create_time, kafka_topic, kafka_key, kafka_value, kafka_header_keys,"
                        + " kafka_header_values) SELECT now(), 'nobody-made-it', 'k' || i, 'v', '{}', '{}' FROM generate_series(1, 50) i");
        Eventually.eventually(
                "it is told", OutboxStage.PATIENCE, () -> said("unmade").contains("KeyBlocked"));
        terminate(reap);
        assertThat(said("unmade").lines().filter(line -> line.contains("KeyBlocked")))
                .hasSize(1);
        assertThat(complaints("unmade"))
                .filteredOn(line -> line.contains("nobody-made-it"))
                .as("lines about the topic")
                .singleElement(org.assertj.core.api.InstanceOfAssertFactories.STRING)
                .contains("does not exist");
        assertThat(complaints("unmade"))
                .noneMatch(line -> line.startsWith("\tat ") || line.contains("Exception"))
                .noneMatch(line -> line.contains("org.apache.kafka"));
    }

    @Test
    void whatIsWrongIsToldWithACode() throws Exception {
        assertThat(reaped("harvest:\n  limits:\n    sendConcurency: 8\n"))
                .satisfies(spoken -> assertThat(spoken.code()).isEqualTo(ExitCode.USAGE))
                .satisfies(spoken -> assertThat(spoken.err()).contains("unknown key limits.sendConcurency"));
        assertThat(reaped("logging:\n  level: loud\n"))
                .satisfies(spoken -> assertThat(spoken.code()).isEqualTo(ExitCode.USAGE))
                .satisfies(spoken -> assertThat(spoken.err()).contains("logging.level is loud"));
        assertThat(reaped("harvest:\n  producerKafkaConfig:\n    transactional.id: mine\n"
                        + "  dataSource: host=127.0.0.1 port=" + stage.port() + " user=postgres\n"))
                .satisfies(spoken -> assertThat(spoken.code()).isNotZero())
                .satisfies(spoken -> assertThat(spoken.err()).contains("transactional.id"));
        assertThat(reaped("harvest:\n  dataSource: host=127.0.0.1 port=1 user=postgres\n"))
                .satisfies(spoken -> assertThat(spoken.code()).isEqualTo(ExitCode.UNAVAILABLE));
        assertThat(Spoken.of(Map.of(), "reap", "-f", folder.resolve("none").toString())
                        .code())
                .isEqualTo(ExitCode.USAGE);
    }

    private Spoken reaped(String file) throws IOException {
        return Spoken.of(
                Map.of(),
                "reap",
                "-f",
                Files.writeString(folder.resolve("wrong.yaml"), file).toString());
    }

    private Process reap(String name, String file) throws IOException {
        var command = Commands.java();
        command.addAll(Arrays.asList(
                "reap",
                "-f",
                Files.writeString(folder.resolve(name + ".yaml"), file).toString()));
        var process = new ProcessBuilder(command)
                .redirectOutput(folder.resolve(name + ".out").toFile())
                .redirectError(folder.resolve(name + ".err").toFile())
                .start();
        started.add(process);
        return process;
    }

    private static void terminate(Process process) throws InterruptedException {
        process.destroy(); // SIGTERM
        assertThat(process.waitFor(OutboxStage.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        assertThat(process.exitValue()).isEqualTo(SIGTERM);
    }

    private String said(String name) {
        return text(folder.resolve(name + ".out"));
    }

    private List<String> complaints(String name) {
        return text(folder.resolve(name + ".err")).lines().toList();
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void settingThatIsWrongIsAWrongFileAndNamed() throws Exception {
        var place = "  dataSource: host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable\n"
                .formatted(stage.port());
        for (var wrong : List.of("linger.ms: soon", "max.request.size: 1MB", "transactional.id: mine")) {
            assertThat(reaped("harvest:\n  outboxTable: never_made\n  baseKafkaConfig:\n    bootstrap.servers: "
                            + stage.bootstrap() + "\n  producerKafkaConfig:\n    " + wrong + "\n" + place))
                    .as("%s", wrong)
                    .satisfies(spoken -> assertThat(spoken.code()).isEqualTo(ExitCode.USAGE))
                    .satisfies(spoken ->
                            assertThat(spoken.err()).contains("wrong.yaml: ", wrong.substring(0, wrong.indexOf(':'))));
        }
        assertThat(reaped("harvest:\n  leaderGroupID: ''\n" + place))
                .satisfies(spoken -> assertThat(spoken.code()).isEqualTo(ExitCode.USAGE))
                .satisfies(spoken -> assertThat(spoken.err()).contains("harvest.leaderGroupID"));
        assertThat(reaped("harvest:\n  outboxTable: a b\n" + place))
                .satisfies(spoken -> assertThat(spoken.code()).isEqualTo(ExitCode.USAGE))
                .satisfies(spoken -> assertThat(spoken.err()).contains("\"a b\""));
    }

    @Test
    void tableThatIsToBeRotatedIsMadeInOurLayout() throws Exception {
        stage.topic("turned", Map.of());
        var reap = reap("turned", original("turned", "Warn") + "relay:\n  form: rotated\n");
        Eventually.eventually(
                "it leads", OutboxStage.PATIENCE, () -> said("turned").contains("LeaderRefreshed"));
        stage.execute("INSERT INTO turned (topic, record_key, record_value) VALUES ('turned', 'k', 'v')");
        assertThat(stage.read("turned", 1)).hasSize(1);
        assertThat(stage.number("SELECT sum(to_id - from_id + 1) FROM turned_done"))
                .isLessThanOrEqualTo(1);
        terminate(reap);

        stage.execute(Spoken.of(
                        Map.of(), "outbox", "schema", "--db", stage.db(), "--table", "theirs", "--layout", "goharvest")
                .out());
        assertThat(reaped(original("theirs", "Warn") + "relay:\n  form: rotated\n"))
                .satisfies(spoken -> assertThat(spoken.code()).isEqualTo(ExitCode.USAGE))
                .satisfies(spoken -> assertThat(spoken.err())
                        .contains("wrong.yaml: ", "relay.form", "rotated", "theirs", "goharvest"));
    }

    @Test
    void tableOfMariaDbIsMadeInOurLayout() throws Exception {
        stage.topic("elsewhere", Map.of());
        var uri = MysqlFamilyServer.shared(MysqlFamilyServer.Kind.MARIADB).uri();
        var table = "elsewhere_" + ProcessHandle.current().pid();
        var file = original(table, "Warn").replaceAll("dataSource: .*", "dataSource: '" + uri + "'");
        var reap = reap("elsewhere", file);
        Eventually.eventually(
                "it leads", OutboxStage.PATIENCE, () -> said("elsewhere").contains("LeaderRefreshed"));
        try (var connection = DriverManager.getConnection(uri);
                var statement = connection.createStatement()) {
            statement.execute(
                    "INSERT INTO " + table + " (topic, record_key, record_value) VALUES ('elsewhere', 'k', 'v')");
        }
        assertThat(stage.read("elsewhere", 1)).hasSize(1);
        terminate(reap);
    }

    /** A pipe that nobody reads, or a terminal after Ctrl-S. */
    @Test
    void outputThatNobodyReadsHoldsNothingUp() throws Exception {
        stage.topic("unread", Map.of());
        var command = Commands.java();
        // an event for each record
        var file = original("unread", "Error")
                .replace("minMetricsInterval: 100ms", "minMetricsInterval: 1ms")
                .replace("markQueryRecords: 100", "markQueryRecords: 1");
        command.addAll(Arrays.asList(
                "reap",
                "-f",
                Files.writeString(folder.resolve("unread.yaml"), file).toString()));
        var reap = new ProcessBuilder(command)
                .redirectError(folder.resolve("unread.err").toFile())
                .start();
        started.add(reap);
        Eventually.eventually(
                "there is a table",
                OutboxStage.PATIENCE,
                () -> stage.number("SELECT count(*) FROM pg_class WHERE relname = 'unread'") == 1);
        stage.execute("INSERT INTO unread (create_time, kafka_topic, kafka_key, kafka_value, kafka_header_keys,"
                + " kafka_header_values) SELECT now(), 'unread', 'k', i::text, '{}', '{}'"
                + " FROM generate_series(1, 1000) i");
        stage.awaitEmpty("unread");
        assertThat(reap.getInputStream().available())
                .as("bytes in the pipe, which is full")
                .isGreaterThan(50_000);
        terminate(reap);
    }
}
