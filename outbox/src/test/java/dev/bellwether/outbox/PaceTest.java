package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How often we look, how long we wait, how much is under way: each setting has an effect. */
class PaceTest {

    @Test
    void pausesAfterFailuresDoubleUpToTheirBound() throws Exception {
        var attempts = new CopyOnWriteArrayList<Long>();
        try (var stage = new RelayStage()) {
            stage.relay(more -> more.backoff(Duration.ofMillis(20)).maxBackoff(Duration.ofMillis(160)), properties -> {
                attempts.add(System.nanoTime());
                throw new TimeoutException("planted");
            });
            // without a bound, the sixteenth would come after eleven minutes
            Eventually.eventually("sixteen attempts", RelayStage.PATIENCE, () -> attempts.size() >= 16);
            for (var i = 1; i < 16; i++) {
                var pause = Math.min(160, 20L << Math.min(i - 1, 10));
                assertThat(attempts.get(i) - attempts.get(i - 1))
                        .as("nanoseconds before attempt %s", i)
                        .isGreaterThanOrEqualTo(pause * 1_000_000);
            }
        }
    }

    @Test
    void pauseBeginsSmallAgainAfterASuccess() throws Exception {
        var fail = new boolean[] {true};
        var failures = new CopyOnWriteArrayList<Long>();
        try (var stage = new RelayStage()) {
            stage.relay(
                    more -> more.backoff(Duration.ofMillis(5)).maxBackoff(Duration.ofHours(1)),
                    properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
                        @Override
                        public void before(String method) {
                            if (fail[0] && method.equals("commitTransaction")) {
                                failures.add(System.nanoTime());
                                // after fourteen in a row the next pause would be a minute
                                fail[0] = failures.size() % 7 != 0;
                                throw new TimeoutException("planted");
                            }
                        }
                    }));
            for (var round = 0; round < 3; round++) {
                fail[0] = true;
                stage.stash(Message.of(stage.topic, "k", Integer.toString(round)));
                stage.awaitEmpty();
            }
            assertThat(failures).hasSize(21);
        }
    }

    @Test
    void relayLooksAtIntervalsAndWhenItIsPoked() throws Exception {
        var looks = new AtomicInteger();
        var counting = new FaultyProducer.Fault() {
            @Override
            public void before(String called) {
                if (called.equals("read")) {
                    looks.incrementAndGet();
                }
            }
        };
        try (var stage = new RelayStage()) {
            var through = FaultyDatabase.of(stage.database, counting);
            var lazy = stage.relay(
                    more -> more.minPoll(Duration.ofHours(1))
                            .maxPoll(Duration.ofHours(1))
                            .wakeUp(false),
                    through,
                    KafkaProducer::new);
            Eventually.eventually("it has looked", RelayStage.PATIENCE, () -> looks.get() == 1);
            Eventually.throughout("it looks no more", Duration.ofMillis(500), () -> looks.get() == 1);
            stage.stash(Message.of(stage.topic, "k", "0"));
            lazy.poke();
            stage.awaitEmpty();
            lazy.close();
            stage.relay(
                    more -> more.minPoll(Duration.ofMillis(1))
                            .maxPoll(Duration.ofMillis(5))
                            .wakeUp(false) // else it would look seldom, and wait to be called
                            .candidate("eager"),
                    through,
                    KafkaProducer::new);
            Eventually.eventually("it looks often", RelayStage.PATIENCE, () -> looks.get() > 100);
        }
    }

    /** Others take a shard that is silent for one whose leader does nothing. */
    @Test
    void leaderThatLooksOnceAnHourSaysEachSecondThatItLives() throws Exception {
        try (var stage = new RelayStage()) {
            stage.relay(more -> more.minPoll(Duration.ofHours(1))
                    .maxPoll(Duration.ofHours(1))
                    .wakeUp(false));
            stage.await(RelayEvent.LeaderRefreshed.class);
            Eventually.throughout(
                    "it is heard of",
                    Duration.ofSeconds(10),
                    () -> stage.number("SELECT coalesce(max((extract(epoch FROM clock_timestamp() - seen)"
                                    + " * 1000)::bigint),"
                                    + " 0) FROM " + stage.table.relay() + " WHERE shard = 0")
                            < 5_000);
        }
    }

    /** A statement that its client has given up waits on in the server, with its connection. */
    @Test
    void lockedTableKeepsNoMoreConnectionsOfTheServerThanTheRelayUses() throws Exception {
        try (var stage = new RelayStage();
                var other = stage.connect()) {
            var relay = stage.relay(more -> more.databaseTimeout(Duration.ofSeconds(1)));
            stage.await(RelayEvent.LeaderRefreshed.class);
            other.setAutoCommit(false);
            try (var statement = other.createStatement()) {
                statement.execute("LOCK TABLE " + stage.table.name() + " IN ACCESS EXCLUSIVE MODE");
            }
            Eventually.eventually(
                    "five attempts have failed",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream()
                                    .filter(RelayEvent.Faulted.class::isInstance)
                                    .count()
                            >= 5);
            assertThat(waiting(stage)).as("those that wait").isLessThanOrEqualTo(2);
            other.commit();
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
            relay.close();
        }
    }

    @Test
    void lockedTableKeepsOneConnectionOfTheServerForItsState() throws Exception {
        try (var stage = new RelayStage();
                var other = stage.connect()) {
            stage.relay().close(); // makes the row of the shard
            other.setAutoCommit(false);
            try (var statement = other.createStatement()) {
                statement.execute("LOCK TABLE " + stage.table.name() + " IN ACCESS EXCLUSIVE MODE");
            }
            var attempts = new AtomicInteger();
            var counting = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                attempts.incrementAndGet();
                return FaultyDatabase.call(stage.database, method, arguments);
            });
            var relay = stage.relay(
                    more -> more.candidate("second")
                            .databaseTimeout(Duration.ofSeconds(1))
                            .stateInterval(Duration.ofMillis(50))
                            .backoff(Duration.ofHours(1)) // the state alone is asked for
                            .maxBackoff(Duration.ofHours(1)),
                    counting,
                    KafkaProducer::new);
            assertThat(relay.state()).isEmpty();
            stage.await(RelayEvent.Faulted.class);
            var before = attempts.get();
            Eventually.eventually("five attempts more", RelayStage.PATIENCE, () -> attempts.get() >= before + 5);
            assertThat(waiting(stage)).as("those that wait").isLessThanOrEqualTo(1);
            other.commit();
            Eventually.eventually(
                    "it is known", RelayStage.PATIENCE, () -> relay.state().isPresent());
        }
    }

    /** A server does not notice that the client of a session that waits for a lock has gone. */
    @Test
    void lockedTableKeepsNoConnectionOfTheServerForALookThatWasGivenUp() throws Exception {
        try (var stage = new RelayStage();
                var other = stage.connect()) {
            other.setAutoCommit(false);
            try (var statement = other.createStatement()) {
                statement.execute("LOCK TABLE " + stage.table.name() + " IN ACCESS EXCLUSIVE MODE");
            }
            var impatient = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var result = FaultyDatabase.call(stage.database, method, arguments);
                if (result instanceof Connection connection) {
                    connection.setNetworkTimeout(Runnable::run, 500);
                }
                return result;
            });
            var admin = OutboxAdmin.of(impatient, stage.table);
            for (var look = 0; look < 3; look++) {
                assertThatThrownBy(admin::quickState).isInstanceOf(SQLException.class);
                assertThatThrownBy(() -> admin.examine(Optional.empty())).isInstanceOf(SQLException.class);
            }
            assertThat(waiting(stage)).as("those that wait").isLessThanOrEqualTo(1);
        }
    }

    private static long waiting(RelayStage stage) {
        return stage.number("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '" + stage.table.name()
                + "'::regclass");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void transactionWaitsForItsIntervalUnlessItIsFullOrTheFirst(boolean once) throws Exception {
        try (var stage = new RelayStage()) {
            var relay = stage.relay(more -> more.transactionInterval(Duration.ofMinutes(1))
                    .maxTransactionRecords(10)
                    .once(once));
            stage.stash(Writers.numbered(stage.topic, "k", 0, 1));
            stage.awaitEmpty();
            stage.stash(Writers.numbered(stage.topic, "k", 1, 2));
            Eventually.eventually("the second is read", RelayStage.PATIENCE, () -> inFlight(relay) == 1);
            Eventually.throughout("and waits", Duration.ofMillis(300), () -> inFlight(relay) == 1);
            stage.stash(Writers.numbered(stage.topic, "k", 2, 3));
            Eventually.eventually("the third is read", RelayStage.PATIENCE, () -> inFlight(relay) == 2);
            Eventually.throughout("and waits, too", Duration.ofMillis(300), () -> inFlight(relay) == 2);
            stage.stash(Writers.numbered(stage.topic, "k", 3, 11));
            stage.awaitEmpty();
            assertThat(relay.stats().get(0).transactions()).isEqualTo(2);
        }
    }

    private static int inFlight(OutboxRelay relay) {
        return relay.stats().get(0).inFlight();
    }

    @Test
    void databaseThatIsSilentForTooLongIsTakenForDead() throws Exception {
        try (var server = PostgresServer.start();
                var stage = new RelayStage(Servers.dataSource(server.uri()), OutboxTable.Layout.BELLWETHER);
                var reader = stage.reader(true)) {
            stage.relay(more -> more.databaseTimeout(Duration.ofSeconds(1)));
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            stage.awaitEmpty();
            server.pause();
            try {
                stage.await(RelayEvent.Faulted.class);
            } finally {
                server.resume();
            }
            stage.stash(Writers.numbered(stage.topic, "k", 10, 20));
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 20)));
            assertThat(reader.faults(Map.of("k", 20))).isEmpty();
        }
    }

    @Test
    void manyOfOneKeyAreUnderWayAtOnceAndInOrder() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(false)) {
            stage.stash(Writers.numbered(stage.topic, "hot", 0, 3_000));
            var relay = stage.relay();
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("hot", 3_000)));
            assertThat(reader.faults(Map.of("hot", 3_000))).isEmpty();
            assertThat(reader.ledger().repeats()).isZero();
            // one at a time, as the original does it, would have taken 3,000 turns
            assertThat(relay.stats().get(0).transactions()).isLessThan(300);
        }
    }

    @Test
    void requestsUnderWayAtOnceAreThoseOfTheProducersProperty() throws Exception {
        var seen = new CopyOnWriteArrayList<Map<String, Object>>();
        try (var stage = new RelayStage()) {
            stage.relay(
                    more -> more.producer(
                            Map.of("bootstrap.servers", stage.bootstrap, "max.in.flight.requests.per.connection", 1)),
                    properties -> {
                        seen.add(new HashMap<>(properties));
                        return new KafkaProducer<>(properties);
                    });
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            stage.awaitEmpty();
            assertThat(seen.get(0))
                    .containsEntry("max.in.flight.requests.per.connection", 1)
                    .containsEntry("transactional.id", "outbox." + stage.name + ".0.a")
                    .containsEntry("acks", "all");
        }
    }

    @Test
    void meterTellsRateAndTotalsAtItsIntervalWhileRecordsFlow() throws Exception {
        try (var stage = new RelayStage()) {
            stage.relay(more -> more.meterInterval(Duration.ofMillis(50)));
            stage.stash(Writers.numbered(stage.topic, "k", 0, 500));
            stage.awaitEmpty();
            var read = stage.await(RelayEvent.MeterRead.class).stats();
            assertThat(read.published()).isBetween(1L, 500L);
            assertThat(read.ratePerSecond()).isPositive();
            assertThat(read.leading()).isTrue();
            assertThat(read.transactions()).isPositive();
            assertThat(read.lastTransaction()).isPositive().isLessThanOrEqualTo(read.longestTransaction());
            Eventually.eventually(
                    "the last one has them all",
                    RelayStage.PATIENCE,
                    () -> meters(stage).stream().anyMatch(stats -> stats.published() == 500));
            var told = meters(stage).size();
            Eventually.throughout(
                    "nothing flows, nothing is told",
                    Duration.ofMillis(300),
                    () -> meters(stage).size() == told);
        }
    }

    private static List<RelayStats> meters(RelayStage stage) {
        return stage.events.stream()
                .filter(RelayEvent.MeterRead.class::isInstance)
                .map(event -> ((RelayEvent.MeterRead) event).stats())
                .toList();
    }

    @Test
    void tablesAreMadeOnlyIfWeMay() throws Exception {
        try (var stage = new RelayStage()) {
            stage.execute("DROP TABLE " + stage.table.parked());
            stage.execute("DROP TABLE " + stage.table.relay());
            var refused = stage.relay(more -> more.createTables(false).candidate("may-not"));
            assertThat(stage.await(RelayEvent.Faulted.class).cause()).hasMessageContaining(stage.table.relay());
            refused.close();
            stage.relay(more -> more.candidate("may"));
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
        }
    }

    @Test
    void eventIdComesInTheHeaderThatWasChosen() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            stage.relay(more -> more.eventIdHeader("x-event"));
            var message = Message.of(stage.topic, "k", "0");
            stage.stash(message);
            var record = Eventually.eventually(
                    "it is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().records().stream().findFirst());
            assertThat(Reader.header(record, "x-event"))
                    .isEqualTo(message.eventId().toString());
            assertThat(Reader.header(record, "event-id")).isEmpty();
        }
    }
}
