package dev.bellwether.cli.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.bellwether.cli.Commands;
import dev.bellwether.cli.OutboxStage;
import dev.bellwether.cli.Spoken;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
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
        } finally {
            reap.destroyForcibly().onExit().join();
        }
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
                .contains("WARNING: ill is vacuumed as any table is");
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
    void whatIsMissingIsToldWithACode() {
        assertThat(Spoken.of(Map.of(), "outbox").code()).isEqualTo(ExitCode.USAGE);
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
