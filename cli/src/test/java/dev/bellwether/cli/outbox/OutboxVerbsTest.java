package dev.bellwether.cli.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.bellwether.UnavailableException;
import dev.bellwether.cli.Commands;
import dev.bellwether.cli.OutboxStage;
import dev.bellwether.cli.Spoken;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The verbs of {@code bellwether outbox}, on a real PostgreSQL and a real broker. */
class OutboxVerbsTest {
    private static OutboxStage stage;

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

    private static Spoken outbox(String table, String... verb) {
        var args = new ArrayList<String>();
        args.add("outbox");
        args.addAll(Arrays.asList(verb));
        args.addAll(Arrays.asList("--db", stage.db(), "--table", table));
        return Spoken.of(Map.of(), args.toArray(String[]::new));
    }

    @Test
    void schemaPrintsWhatMigrateMakes() {
        var printed = outbox("fresh", "schema");
        assertThat(printed.code()).isZero();
        assertThat(printed.out()).contains("fresh (", "fresh_relay", "fresh_parked");
        assertThat(stage.number("SELECT count(*) FROM pg_class WHERE relname = 'fresh'"))
                .isZero();
        assertThat(outbox("fresh", "migrate").out()).isEqualTo(printed.out());
        assertThat(stage.number("SELECT count(*) FROM fresh")).isZero();
        assertThat(outbox("fresh", "migrate").out()).isEmpty();
    }

    @Test
    void schemaPrintsTheTriggerAndAnInboxIfToldTo() {
        var printed = outbox("woken", "schema", "--wake-up");
        assertThat(printed.code()).isZero();
        assertThat(printed.out())
                .startsWith(outbox("woken", "schema").out())
                .contains("CREATE TRIGGER bellwether_wake AFTER INSERT ON woken");
        var inbox = outbox("woken", "schema", "--inbox", "app.seen");
        assertThat(inbox.code()).isZero();
        assertThat(inbox.out()).contains("CREATE TABLE IF NOT EXISTS app.seen").doesNotContain("woken");
        assertThat(outbox("woken", "schema", "--inbox", "seen", "--wake-up").code())
                .isEqualTo(2);
        assertThat(outbox("woken", "schema", "--inbox", "no name").code()).isEqualTo(2);
        var rotated = outbox("woken", "schema", "--form", "rotated", "--wake-up");
        assertThat(rotated.code()).isZero();
        assertThat(rotated.out())
                .startsWith(outbox("woken", "schema", "--form", "rotated").out())
                .contains("woken_done", "woken_blocked", "CREATE TRIGGER bellwether_wake AFTER INSERT ON woken");
        assertThat(outbox("woken", "schema", "--inbox", "seen", "--form", "rotated")
                        .code())
                .isEqualTo(2);
    }

    @Test
    void replayIsAskedForByNameAndRefusesWhatIsNotSafe() {
        outbox("played", "migrate");
        var kafka = "localhost:1";
        assertThat(outbox("played", "replay", "--kafka", kafka, "--yes").err())
                .contains("--from-id ID or --since TIME");
        assertThat(outbox("played", "replay", "--kafka", kafka, "--from-id", "1")
                        .err())
                .contains("There is no terminal to ask on. Add --yes.");
        var plain = outbox("played", "replay", "--kafka", kafka, "--from-id", "1", "--into", "copy");
        assertThat(plain.err()).contains("table played is plain");
        assertThat(outbox("played", "migrate", "--to", "rotated").out()).isEqualTo("is now rotated\n");
        var ended = outbox("played", "replay", "--kafka", kafka, "--from-id", "1", "--to-id", "3", "--yes");
        assertThat(ended.code()).isEqualTo(ExitCode.USAGE);
        assertThat(ended.err()).contains("could be the last of its key");
        assertThat(outbox("played", "replay", "--kafka", kafka, "--since", "2026-03-01T08:00:00Z", "--yes")
                        .out())
                .as("nothing was published yet")
                .isEqualTo("0 are published again\n");
    }

    @Test
    void brokersThatDoNotAnswerAReplayAreNotTakenForTheDatabase() {
        outbox("replayed", "migrate");
        outbox("replayed", "migrate", "--to", "rotated");

        var silent = outbox(
                "replayed", "replay", "--kafka", "127.0.0.1:1", "--from-id", "1", "--into", "copy", "--timeout", "3s");

        assertThat(silent.err()).contains("nothing was published into copy: the brokers");
        assertThat(silent.code()).as(silent.err()).isEqualTo(ExitCode.FAILED);
    }

    @Test
    void migrateGivesTheTableAnotherFormAndBack() {
        assertThat(outbox("turned", "schema", "--form", "rotated").out()).contains("turned_3", "turned_done");
        outbox("turned", "migrate");
        outbox("turned", "pump", "--topic", "t", "--records", "7");
        assertThat(outbox("turned", "migrate", "--to", "rotated").out()).isEqualTo("is now rotated\n");
        assertThat(outbox("turned", "migrate", "--to", "rotated").out()).isEqualTo("was already rotated\n");
        assertThat(outbox("turned", "status", "--json").json().get("backlog").asLong())
                .isEqualTo(7);
        assertThat(outbox("turned", "migrate", "--to", "plain").out()).isEqualTo("is now plain\n");
        assertThat(stage.number("SELECT count(*) FROM turned")).isEqualTo(7);
        assertThat(outbox("turned", "migrate", "--to", "round").code()).isEqualTo(ExitCode.USAGE);
    }

    @Test
    @Timeout(60)
    void pumpRefusesNumbersThatMakeNoSense() {
        outbox("odd", "migrate");
        for (var option : Map.of("--keys", "0", "--size", "-1", "--batch", "0", "--records", "-1")
                .entrySet()) {
            var pumped = outbox("odd", "pump", "--topic", "t", "--interval", "1h", option.getKey(), option.getValue());
            assertThat(pumped.code()).as(pumped.all()).isEqualTo(ExitCode.USAGE);
            assertThat(pumped.err()).contains(option.getKey() + ": " + option.getValue());
        }
        assertThat(stage.number("SELECT count(*) FROM odd")).isZero();
    }

    @Test
    void pumpWritesWhatItSaysAndStatusTellsBacklogAndAge() throws Exception {
        outbox("pumped", "migrate");
        var pumped = outbox(
                "pumped", "pump", "--topic", "t", "--records", "95", "--keys", "5", "--size", "30", "--batch", "20");
        assertThat(pumped.code()).isZero();
        assertThat(pumped.out()).contains("95 messages").contains("p99");
        assertThat(outbox("pumped", "pump", "--topic", "t", "--records", "5", "--blank", "--interval", "1ms", "--json")
                        .json()
                        .get("messages")
                        .asInt())
                .isEqualTo(5);
        assertThat(stage.number("SELECT count(DISTINCT record_key) FROM pumped WHERE octet_length(record_value) = 30"))
                .isEqualTo(5);
        assertThat(stage.number("SELECT count(*) FROM pumped WHERE record_value IS NULL"))
                .isEqualTo(5);
        stage.execute("UPDATE pumped SET created = created - interval '90 s'");

        var status = outbox("pumped", "status");
        var json = outbox("pumped", "status", "--json").json();

        assertThat(status.code()).isZero();
        assertThat(status.out()).containsPattern("backlog +100").containsPattern("oldest +1m3");
        assertThat(json.get("backlog").asLong()).isEqualTo(100);
        assertThat(json.get("exact").asBoolean()).isTrue();
        assertThat(json.get("oldestMillis").asLong()).isBetween(90_000L, 600_000L);
        assertThat(json.get("parked").asLong()).isZero();
        assertThat(json.get("shards")).isEmpty();
    }

    @Test
    void statusTellsTheLeaderItsRateAndWhatIsParkedWhichRequeueBringsBack() throws Exception {
        stage.topic("flowing", Map.of("max.message.bytes", "3000"));
        outbox("watched", "migrate");
        outbox("watched", "pump", "--topic", "flowing", "--records", "2000", "--size", "100");
        outbox("watched", "pump", "--topic", "flowing", "--records", "2", "--size", "9000");
        var file = Files.writeString(
                folder.resolve("reaper.yaml"), """
                harvest:
                  baseKafkaConfig: { bootstrap.servers: "%s" }
                  leaderGroupID: watched
                  name: shepherd
                  dataSource: "%s"
                  outboxTable: watched
                relay:
                  poison: park
                  on: "%s"
                logging: { level: error }
                """.formatted(stage.bootstrap(), stage.db(), stage.db()));
        var reap = new ProcessBuilder(reaping(file))
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("out").toFile())
                .start();
        try {
            stage.awaitEmpty("watched");
            var shard = Eventually.eventually("it has been written down", OutboxStage.PATIENCE, () -> {
                var found = outbox("watched", "status", "--json").json().get("shards");
                return found.size() == 1 && found.get(0).get("published").asLong() == 2_000
                        ? java.util.Optional.of(found.get(0))
                        : java.util.Optional.<JsonNode>empty();
            });
            assertThat(shard.get("leader").asText()).isEqualTo("shepherd");
            assertThat(shard.get("epoch").asLong()).isPositive();
            assertThat(outbox("watched", "status").out()).contains("shepherd").containsPattern("parked +2");

            var parked = outbox("watched", "parked", "--json").json().get("parked");
            assertThat(parked).hasSize(2);
            var first = parked.get(0);
            assertThat(first.get("reason").asText()).contains("TooLarge");
            assertThat(outbox("watched", "parked").out())
                    .contains(first.get("eventId").asText(), "flowing");
            var id = first.get("id").asText();
            stage.execute("UPDATE watched_parked SET record_value = 'smaller' WHERE id = " + id); // mended by hand
            assertThat(outbox("watched", "requeue", id).code()).isZero();
            assertThat(stage.read("flowing", 2_001))
                    .anySatisfy(record -> assertThat(OutboxStage.header(record, "event-id"))
                            .isEqualTo(first.get("eventId").asText()));
            var again = outbox("watched", "requeue", id);
            assertThat(again.code()).isEqualTo(ExitCode.FAILED);
            assertThat(again.err()).contains("no parked record " + id);
            var all = outbox("watched", "requeue", "--topic", "flowing", "--json");
            assertThat(all.code()).isZero();
            assertThat(all.json().get("requeued").asInt()).isEqualTo(1);
            Eventually.eventually(
                    "it is parked again",
                    OutboxStage.PATIENCE,
                    () -> stage.number("SELECT count(*) FROM watched_parked") == 1);
        } finally {
            reap.destroyForcibly().onExit().join();
        }
    }

    @Test
    void statusIsWatchedByLinesAndInPlaceOnATerminalOnly() throws Exception {
        outbox("seen", "migrate");
        outbox("seen", "pump", "--topic", "t", "--records", "3");
        var watch = new String[] {"status", "--watch", "--interval", "50ms", "--for", "4s"};

        var lines = outbox("seen", watch);
        assertThat(lines.code()).isZero();
        assertThat(lines.out().lines())
                .hasSizeGreaterThan(2)
                .allSatisfy(
                        line -> assertThat(line).contains("backlog 3, oldest ").doesNotContain("\u001b"));

        var json = outbox("seen", "status", "--watch", "--interval", "50ms", "--for", "4s", "--json");
        assertThat(json.out().lines()).hasSizeGreaterThan(2).allSatisfy(line -> {
            var one = new ObjectMapper().readTree(line);
            assertThat(one.get("backlog").asInt()).isEqualTo(3);
            assertThat(java.time.Instant.parse(one.get("time").asText())).isNotNull();
        });

        var args = new ArrayList<>(Arrays.asList("outbox"));
        args.addAll(Arrays.asList(watch));
        args.addAll(Arrays.asList("--db", stage.db(), "--table", "seen"));
        var drawn = Spoken.onTerminal(
                "", Map.of("TERM", "xterm", "LINES", "24", "COLUMNS", "80"), args.toArray(String[]::new));
        assertThat(drawn.out().split("SHARD", -1)).hasSizeGreaterThan(3);
        assertThat(drawn.out()).contains("\u001b[6A", "\u001b[2K", "seen  ");
        assertThat(Spoken.onTerminal("", Map.of("TERM", "dumb"), args.toArray(String[]::new))
                        .out())
                .contains("backlog 3, oldest ")
                .doesNotContain("\u001b");
    }

    @Test
    void aPartOfTheUriMayComeByAPipeWhichCanBeReadOnce() throws Exception {
        var said = folder.resolve("said");
        var rest = stage.db().substring("jdbc:postgresql:".length());
        var code = Commands.fed(rest, said, "outbox", "schema", "--db", "jdbc:postgresql:${file:/dev/fd/3}");
        assertThat(code).as(Files.readString(said)).isZero();
    }

    @Test
    void watchedStatusEndsByCtrlCWithItsCode() throws Exception {
        outbox("ended", "migrate");
        var command = Commands.interruptible();
        command.addAll(Arrays.asList("outbox", "status", "--watch", "--db", stage.db(), "--table", "ended"));
        var said = folder.resolve("watched");
        var watching = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        try {
            Eventually.eventually(
                    "it has begun", OutboxStage.PATIENCE, () -> said.toFile().length() > 0);
            new ProcessBuilder("kill", "-INT", Long.toString(watching.pid()))
                    .start()
                    .waitFor();
            assertThat(watching.waitFor()).as(Files.readString(said)).isEqualTo(130);
        } finally {
            watching.destroyForcibly();
        }
    }

    @Test
    void watchedStatusOutlastsAnOutageAndSaysSoOnce() throws Exception {
        outbox("outlasting", "migrate");
        try (var link = FaultProxy.to("127.0.0.1", stage.port())) {
            var db = stage.db().replace(":" + stage.port(), ":" + link.port());
            var out = new StringWriter();
            var err = new StringWriter();
            var watching = Spoken.inBackground(
                    out,
                    err,
                    "outbox",
                    "status",
                    "--watch",
                    "--interval",
                    "20ms",
                    "--timeout",
                    "1s",
                    "--db",
                    db,
                    "--table",
                    "outlasting");
            Eventually.eventually("it is told", OutboxStage.PATIENCE, () -> lines(out) > 2);
            link.refuse();
            link.reset();
            Eventually.eventually("the outage is told", OutboxStage.PATIENCE, () -> lines(err) == 1);
            var before = lines(out);
            link.heal();
            Eventually.eventually("it goes on", OutboxStage.PATIENCE, () -> lines(out) > before + 5);
            assertThat(err.toString()).contains("Trying again").hasLineCount(1);
            watching.interrupt();
            watching.join();
        }
    }

    @Test
    void databaseThatStartsDoesNotServeNow() {
        var starting = new SQLException("the database system is starting up", "57P03");
        assertThat(JdbcSource.of("jdbc:postgresql://db.example/app").failed(starting))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("starting up");
    }

    private static long lines(StringWriter text) {
        return text.toString().lines().count();
    }

    @Test
    void blockedRecordsAreListedWithTheirReason() throws Exception {
        outbox("waiting", "migrate");
        stage.execute(
                "INSERT INTO waiting_relay (shard, shards, epoch, low, sent, rate, relay, since, seen)"
                        + " VALUES (-1, 1, 0, 0, 0, 0, 'w', now(), now()), (0, 1, 7, 0, 5, 2.5, 'ann', now(), now() - interval '5 min')");
        stage.execute("INSERT INTO waiting_blocked VALUES (0, 7, 12, 'orders', 'KEY', now(), 'it is too large'),"
                + " (0, 6, 11, 'orders', 'KEY', now(), 'of an earlier leader')");
        assertThat(outbox("waiting", "blocked").out())
                .contains("12  ", "key  orders  it is too large")
                .doesNotContain("earlier");
        var one = outbox("waiting", "blocked", "--json").json().get("blocked");
        assertThat(one).hasSize(1);
        assertThat(one.get(0).get("waits").asText()).isEqualTo("key");
        var status = outbox("waiting", "status");
        assertThat(status.out()).containsPattern("blocked +1").contains("(nobody; last was ann)", "5m");
        var shard = outbox("waiting", "status", "--json").json().get("shards").get(0);
        assertThat(shard.get("served").asBoolean()).isFalse();
        assertThat(shard.get("silentMillis").asLong()).isBetween(300_000L, 600_000L);
    }

    private static java.util.List<String> reaping(Path file) {
        var command = Commands.java();
        command.addAll(Arrays.asList("reap", "-f", file.toString()));
        return command;
    }

    @Test
    void doctorFindsWhatIsWrongAndExitsWithIt() throws Exception {
        stage.topic("single", Map.of());
        outbox("ill", "migrate");
        outbox("ill", "pump", "--topic", "single", "--records", "1");
        var well = outbox("ill", "doctor", "--kafka", stage.bootstrap());
        assertThat(well.out())
                .contains("OK: sequence public.ill_id_seq has CACHE 1")
                .contains("WARNING: topic single has 1 replicas")
                .contains("transaction.version is 2")
                .doesNotContain("ERROR");
        assertThat(well.code()).isZero();

        outbox("ill", "pump", "--topic", "nowhere", "--records", "1");
        stage.execute("ALTER SEQUENCE ill_id_seq CACHE 50");
        stage.execute("CREATE INDEX ON ill (topic)");
        stage.execute("ALTER TABLE ill RESET (autovacuum_vacuum_scale_factor)");
        var ill = outbox("ill", "doctor", "--kafka", stage.bootstrap());
        assertThat(ill.code()).isEqualTo(ExitCode.FAILED);
        assertThat(ill.out())
                .contains("ERROR: sequence public.ill_id_seq has CACHE 50", "ALTER SEQUENCE")
                .contains("ERROR: topic nowhere does not exist")
                .contains("WARNING: ill has 2 indexes")
                .contains("WARNING: ill is vacuumed like any other table");
        var json = outbox("ill", "doctor", "--json");
        assertThat(json.code()).isEqualTo(ExitCode.FAILED);
        assertThat(StreamSupport.stream(json.json().get("findings").spliterator(), false)
                        .filter(finding -> finding.get("severity").asText().equals("error"))
                        .map(finding -> finding.get("what").asText()))
                .singleElement()
                .asString()
                .contains("CACHE 50");
    }

    @Test
    void doctorTellsWhatItFoundInTheDatabaseAlsoIfTheBrokersDoNotAnswer() {
        outbox("alone", "migrate");

        var alone = outbox("alone", "doctor", "--kafka", "127.0.0.1:1");

        assertThat(alone.out())
                .contains("OK: sequence public.alone_id_seq has CACHE 1")
                .contains("ERROR: the brokers do not answer");
        assertThat(alone.code()).as(alone.all()).isEqualTo(ExitCode.FAILED);
    }

    @Test
    void doctorAndReplayLogInAsAFileSays() throws Exception {
        var settings = Map.of(
                "listener.security.protocol.map",
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LINK0:SASL_PLAINTEXT",
                "listener.name.link0.sasl.enabled.mechanisms",
                "PLAIN",
                "listener.name.link0.plain.sasl.jaas.config",
                "org.apache.kafka.common.security.plain.PlainLoginModule required user_ops=\"so\";");
        outbox("secured", "migrate");
        outbox("secured", "migrate", "--to", "rotated");
        var properties = folder.resolve("client.properties");
        var reaper = folder.resolve("reaper.yaml");
        try (var brokers = KafkaBrokers.start(1, 1, settings)) {
            Files.writeString(properties, """
                    security.protocol=SASL_PLAINTEXT
                    sasl.mechanism=PLAIN
                    sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
                        username="ops" password="so";
                    """);
            Files.writeString(reaper, """
                    harvest:
                      baseKafkaConfig:
                        bootstrap.servers: %s
                        security.protocol: sasl_plaintext
                        sasl.mechanism: PLAIN
                        sasl.username: ops
                        sasl.password: so
                    """.formatted(brokers.bootstrap(0)));
            for (var how : List.of(
                    List.of("--kafka", brokers.bootstrap(0), "--kafka-config", properties.toString()),
                    List.of("--kafka-config", reaper.toString()))) {
                var doctor = new ArrayList<>(List.of("doctor", "--timeout", "60s"));
                doctor.addAll(how);
                var found = outbox("secured", doctor.toArray(String[]::new));
                assertThat(found.out()).as(found.all()).contains("transaction.version is 2");
                var replay = new ArrayList<>(List.of("replay", "--from-id", "1", "--into", "copy", "--timeout", "60s"));
                replay.addAll(how);
                var replayed = outbox("secured", replay.toArray(String[]::new));
                assertThat(replayed.out()).as(replayed.all()).isEqualTo("0 published into copy\n");
            }
            Files.writeString(reaper, Files.readString(reaper).replace("password: so", "password: other"));
            var refused = outbox("secured", "doctor", "--timeout", "60s", "--kafka-config", reaper.toString());
            assertThat(refused.out())
                    .as(refused.all())
                    .contains("ERROR: the brokers refuse the login")
                    .doesNotContain("do not answer");
        }
        var nowhere = outbox("secured", "doctor", "--kafka-config", properties.toString());
        assertThat(nowhere.code()).isEqualTo(ExitCode.USAGE);
        assertThat(nowhere.err())
                .contains("which brokers?", properties.toString())
                .doesNotContain("PlainLoginModule");
        assertThat(outbox("secured", "replay", "--from-id", "1", "--yes").err()).contains("which brokers?");
    }

    @Test
    void listsThatAreCutOffSayThatThereIsMoreAndPrintNothingThatATerminalObeys() throws Exception {
        outbox("long", "migrate");
        stage.execute("INSERT INTO long_parked (id, event_id, created, topic, parked, reason)"
                + " SELECT i, gen_random_uuid(), now(), 't', now(), E'bad \\x1b[2J'"
                + " FROM generate_series(1, 1000) i");
        var whole = outbox("long", "parked");
        assertThat(whole.out().lines()).hasSize(1000).allMatch(line -> line.endsWith("bad \uFFFD[2J"));
        assertThat(whole.err()).isEmpty();
        assertThat(outbox("long", "parked", "--json").json().get("more").asBoolean())
                .isFalse();

        stage.execute("INSERT INTO long_parked (id, event_id, created, topic, parked, reason)"
                + " VALUES (1001, gen_random_uuid(), now(), 't', now(), 'bad')");
        var part = outbox("long", "parked");

        assertThat(part.out().lines()).hasSize(1000);
        assertThat(part.err()).contains("the first 1000");
        var json = outbox("long", "parked", "--json").json();
        assertThat(json.get("more").asBoolean()).isTrue();
        assertThat(json.get("parked")).hasSize(1000);
    }

    @Test
    void whatIsMissingIsToldWithACode() {
        assertThat(Spoken.of(Map.of(), "outbox").code()).isEqualTo(ExitCode.USAGE);
        var unwatched = outbox("absent", "status", "--interval", "1s");
        assertThat(unwatched.code()).isEqualTo(ExitCode.USAGE);
        assertThat(unwatched.err()).contains("--watch");
        assertThat(outbox("absent", "status", "--watch").code()).isEqualTo(ExitCode.FAILED);
        var nowhere = Spoken.of(Map.of(), "outbox", "status");
        assertThat(nowhere.code()).isEqualTo(ExitCode.USAGE);
        assertThat(nowhere.err()).contains("--db");
        assertThat(Spoken.of(
                        Map.of("BELLWETHER_OUTBOX", "jdbc:postgresql://127.0.0.1:1/x?user=me&password=hush"),
                        "outbox",
                        "status"))
                .satisfies(spoken -> assertThat(spoken.code()).isEqualTo(ExitCode.UNAVAILABLE))
                .satisfies(spoken -> assertThat(spoken.all()).doesNotContain("hush"));
        var absent = outbox("absent", "status");
        assertThat(absent.code()).isEqualTo(ExitCode.FAILED);
        assertThat(absent.err()).contains("absent");
        assertThat(outbox("absent", "doctor").code()).isEqualTo(ExitCode.FAILED);
    }
}
