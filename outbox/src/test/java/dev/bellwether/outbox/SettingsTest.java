package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.junit.jupiter.api.Test;

/** Each setting does what it says. */
class SettingsTest {

    @Test
    void inFlightRecordsAndBytesAreBoundedAndLargeValuesPass() throws Exception {
        var held = new CountDownLatch(1);
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            var messages = new ArrayList<Message>();
            for (var i = 0; i < 300; i++) {
                messages.add(Message.of(stage.topic, "k", i + " " + "x".repeat(i % 50 == 0 ? 60_000 : 100)));
            }
            stage.stash(messages);
            var few = stage.relay(more -> more.maxInFlightRecords(40).candidate("few"), holding(held));
            Eventually.eventually(
                    "it is full", RelayStage.PATIENCE, () -> few.stats().get(0).inFlight() == 40);
            few.close();
            var small = stage.relay(more -> more.maxInFlightBytes(100_000).candidate("small"), holding(held));
            Eventually.eventually(
                    "it is full",
                    RelayStage.PATIENCE,
                    () -> small.stats().get(0).inFlightBytes() > 50_000);
            assertThat(small.stats().get(0).inFlightBytes()).isLessThan(200_000);
            held.countDown();
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 300)));
            assertThat(reader.faults(Map.of("k", 300))).isEmpty();
            assertThat(reader.records()).anyMatch(record -> record.value().length > 60_000);
        }
    }

    private static java.util.function.Function<
                    Map<String, Object>, org.apache.kafka.clients.producer.Producer<byte[], byte[]>>
            holding(CountDownLatch latch) {
        return properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
            @Override
            public void before(String method) {
                try {
                    if (method.equals("beginTransaction")) {
                        latch.await();
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        });
    }

    @Test
    void readAheadBoundsWhatIsReadWhileOneIsSent() throws Exception {
        var held = new CountDownLatch(1);
        try (var stage = new RelayStage()) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 200));
            var relay = stage.relay(more -> more.maxTransactionRecords(10).readAhead(3), holding(held));
            // ten are being sent, and three batches wait
            Eventually.eventually(
                    "it is full",
                    RelayStage.PATIENCE,
                    () -> relay.stats().get(0).inFlight() == 40);
            held.countDown();
            stage.awaitEmpty();
            assertThat(relay.stats().get(0).transactions()).isGreaterThanOrEqualTo(20);
        }
    }

    @Test
    void shardsShareTheKeysAndKeepTheirOrder() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            var relay = stage.relay(more -> more.shards(3));
            var written = new Writers(stage.database, stage.table, stage.topic, 20).write(4, 500, 5);
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written));
            assertThat(reader.faults(written)).isEmpty();
            assertThat(reader.ledger().repeats()).isZero();
            assertThat(relay.stats()).allMatch(stats -> stats.published() > 0);
            relay.close();
            stage.relay(more -> more.shards(2).candidate("other"));
            assertThat(stage.await(RelayEvent.Faulted.class).cause()).hasMessageContaining("divided into 3 shards");
            stage.stash(Writers.numbered(stage.topic, "late", 0, 3));
            OutboxAdmin.of(stage.database, stage.table)
                    .divide(stage.name, 2, Map.of("bootstrap.servers", stage.bootstrap));
            stage.awaitEmpty();
        }
    }

    /** Told by properties of its own where the brokers are, as an SSL engine factory is told its certificates. */
    public static final class Directory implements ConfigProvider {
        private String brokers = "nobody:1";

        @Override
        public void configure(Map<String, ?> properties) {
            brokers = String.valueOf(properties.get("brokers"));
        }

        @Override
        public ConfigData get(String path) {
            return get(path, Set.of("bootstrap"));
        }

        @Override
        public ConfigData get(String path, Set<String> keys) {
            return new ConfigData(Map.of("bootstrap", brokers));
        }

        @Override
        public void close() {}
    }

    @Test
    void whatAPlugInNeedsReachesEveryClientOfTheRelay() throws Exception {
        try (var stage = new RelayStage()) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 3));
            stage.relay(more -> more.producer(Map.of(
                    "config.providers",
                    "directory",
                    "config.providers.directory.class",
                    Directory.class.getName(),
                    "config.providers.directory.param.brokers",
                    stage.bootstrap,
                    "bootstrap.servers",
                    "${directory:bootstrap}")));
            var first = Eventually.eventually(
                    "it has begun, or failed",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream()
                            .filter(event ->
                                    event instanceof RelayEvent.Faulted || event instanceof RelayEvent.LeaderRefreshed)
                            .findFirst());
            assertThat(first).isInstanceOf(RelayEvent.LeaderRefreshed.class);
            stage.awaitEmpty();
        }
    }

    @Test
    void whatIsTheProducersAloneReachesNoOtherClient() {
        var common = KafkaTopics.common(Map.of(
                "bootstrap.servers", "b:1",
                "org.acme.own", "x",
                "interceptor.classes", "org.acme.Interceptor",
                "key.serializer", "org.acme.Serializer",
                "isolation.level", "read_uncommitted",
                "client.id", "c",
                "retries", 3));
        assertThat(common).containsOnlyKeys("bootstrap.servers", "org.acme.own");
    }

    @Test
    void tableOfTheOriginalIsRelayedAsItIs() throws Exception {
        try (var stage = new RelayStage(OutboxTable.Layout.GOHARVEST);
                var reader = stage.reader(true)) {
            stage.execute("INSERT INTO " + stage.table.name()
                    + " (create_time, kafka_topic, kafka_key, kafka_value, kafka_header_keys, kafka_header_values)"
                    + " VALUES (now(), '" + stage.topic + "', 'k', '0', ARRAY['a', 'b'], ARRAY['1', 'zwei ü'])");
            var ours =
                    Message.to(stage.topic).key("k").value("1").header("c", "3").build();
            stage.stash(ours);
            stage.execute("INSERT INTO " + stage.table.name()
                    + " (create_time, kafka_topic, kafka_key, kafka_value, kafka_header_keys, kafka_header_values)"
                    + " VALUES (now(), '" + stage.topic + "', 'bad', 'x', ARRAY['a', 'b'], ARRAY['1'])");
            stage.relay(more -> more.poison(Poison.PARK));
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 2)));
            assertThat(Reader.header(reader.records().get(0), "b")).isEqualTo("zwei ü");
            assertThat(Reader.header(reader.records().get(0), "event-id")).hasSize(36);
            assertThat(Reader.header(reader.records().get(1), "c")).isEqualTo("3");
            assertThat(Reader.header(reader.records().get(1), "event-id"))
                    .isEqualTo(ours.eventId().toString());
            assertThat(reader.records().get(1).headers()).hasSize(2);
            assertThat(stage.number("SELECT count(*) FROM " + stage.table.parked()))
                    .isEqualTo(1);
        }
    }

    @Test
    void doctorFindsWhatBreaksTheOrder() throws Exception {
        try (var stage = new RelayStage()) {
            var admin = OutboxAdmin.of(stage.database, stage.table);
            Map<String, Object> kafka = Map.of("bootstrap.servers", stage.bootstrap);
            assertThat(errors(admin.examine(java.util.Optional.of(kafka)))).containsExactly("fsync is off");
            stage.execute("ALTER SEQUENCE " + stage.table.name() + "_id_seq CACHE 20 INCREMENT 50");
            assertThat(String.join("\n", errors(admin.examine(java.util.Optional.empty()))))
                    .contains("CACHE 20", "INCREMENT 50");
        }
    }

    private static List<String> errors(List<OutboxAdmin.Finding> findings) {
        return findings.stream()
                .filter(finding -> finding.severity() == OutboxAdmin.Severity.ERROR)
                .map(OutboxAdmin.Finding::what)
                .toList();
    }

    @Test
    void rowWhoseIdWasDrawnLongBeforeIsFoundAndCounted() throws Exception {
        try (var stage = new RelayStage()) {
            var relay = stage.relay(more -> more.sweepInterval(Duration.ofMillis(50)));
            stage.number("SELECT nextval('" + stage.table.name() + "_id_seq')"); // id 1, for later
            stage.stash(Writers.numbered(stage.topic, "k", 0, 3));
            stage.awaitEmpty();
            // its transaction is over, which is the proof that it never comes
            Eventually.eventually(
                    "id 1 is given up",
                    RelayStage.PATIENCE,
                    () -> stage.number("SELECT low FROM " + stage.table.relay() + " WHERE shard = 0") >= 4);
            stage.execute("INSERT INTO " + stage.table.name() + " (id, topic, record_key, record_value) VALUES (1, '"
                    + stage.topic + "', 'pooled', '0')");
            stage.awaitEmpty();
            assertThat(relay.stats().get(0).strays()).isEqualTo(1);
        }
    }

    @Test
    void preparedTransactionMayCommitLateAndKeepsItsPlace() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true);
                var connection = stage.connect()) {
            stage.relay(more -> more.sweepInterval(Duration.ofHours(1)));
            connection.setAutoCommit(false);
            Outbox.of(stage.table).stash(connection, Message.of(stage.topic, "slow", "0"));
            try (var statement = connection.createStatement()) {
                statement.execute("PREPARE TRANSACTION '" + stage.name + "'");
            }
            stage.stash(Writers.numbered(stage.topic, "quick", 0, 3));
            Eventually.eventually(
                    "the quick are read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("quick", 3)));
            var before = stage.number(
                    "SELECT extract(epoch FROM seen) * 1000 FROM " + stage.table.relay() + " WHERE shard = 0");
            Eventually.eventually(
                    "many a look at the holders",
                    RelayStage.PATIENCE,
                    () -> stage.number("SELECT extract(epoch FROM seen) * 1000 FROM " + stage.table.relay()
                                    + " WHERE shard = 0")
                            > before + 1_000);
            stage.execute("COMMIT PREPARED '" + stage.name + "'");
            stage.stash(Writers.numbered(stage.topic, "slow", 1, 2));
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("quick", 3, "slow", 2)));
            assertThat(reader.faults(Map.of("quick", 3, "slow", 2))).isEmpty();
        }
    }

    @Test
    void keysAreWhereLibrdkafkaPutsThem() throws Exception {
        // CRC-32 as zlib has it; 0xCBF43926 is that of "123456789", as every table of such sums says
        assertThat(Crc32Partitioner.partition("123456789".getBytes(java.nio.charset.StandardCharsets.US_ASCII), 7))
                .isEqualTo((int) (0xCBF43926L % 7));
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            stage.stash(Writers.numbered(stage.topic, "123456789", 0, 3));
            stage.relay(more -> more.partitioning(Partitioning.CRC32));
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().records().size() == 3);
            assertThat(reader.records()).allMatch(record -> record.partition() == (int) (0xCBF43926L % 3));
        }
    }

    @Test
    void databaseWhoseDefaultIsolationIsRepeatableReadIsRelayedWithoutARewind() throws Exception {
        var repeatable = Servers.dataSource(
                PostgresServer.shared().uri() + "&options=-c%20default_transaction_isolation=repeatable%5C%20read");
        try (var stage = new RelayStage(repeatable, OutboxTable.Layout.BELLWETHER);
                var reader = stage.reader(false)) {
            var relay = stage.relay(more -> more.maxTransactionRecords(20));
            stage.stash(Writers.numbered(stage.topic, "k", 0, 3_000));
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 3_000)));
            assertThat(relay.stats().get(0).rewinds()).isZero();
            assertThat(reader.ledger().repeats()).isZero();
        }
    }

    @Test
    void contradictionsAndBadValuesAreRefused() {
        var builder = RelayConfig.named("x");
        assertThatThrownBy(() -> builder.producer(Map.of("acks", "1"))).hasMessageContaining("acks");
        assertThatThrownBy(() -> builder.shards(0)).hasMessageContaining("between 1 and 64");
        assertThatThrownBy(() -> builder.maxInFlightRecords(0)).hasMessageContaining("at least 1");
        assertThatThrownBy(() ->
                        RelayConfig.named("x").minPoll(Duration.ofSeconds(1)).build())
                .hasMessageContaining("longer than maxPoll");
        assertThatThrownBy(() -> builder.transactionInterval(Duration.ofHours(1)))
                .hasMessageContaining("transactionInterval is 1 h: it must be between 0 and a minute");
        assertThatThrownBy(() -> OutboxTable.named("a; drop")).hasMessageContaining("must be a name");
        assertThatThrownBy(() -> Message.to("t").header("event-id", "x")).hasMessageContaining("eventId");
        assertThatThrownBy(() -> builder.eventIdHeader("a:b")).hasMessageContaining("colon");
        assertThatThrownBy(() -> builder.producer(Map.of("partitioner.ignore.keys", "true")))
                .hasMessageContaining("partitioner.ignore.keys");
    }
}
