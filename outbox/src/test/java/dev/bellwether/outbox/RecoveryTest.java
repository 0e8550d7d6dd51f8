package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.errors.DisconnectException;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What fails passes by: the relay begins anew by itself, and what consumers see is rewinds at most. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a table of its own
class RecoveryTest {
    private static final Map<String, String> NOBODY = Map.of("bootstrap.servers", "127.0.0.1:1");

    @Test
    void twoInAHundredSendsCommitsAndDeletesFailAndNothingIsLostOrReordered() throws Exception {
        var random = new Random(11);
        var fault = new FaultyProducer.Fault() {
            @Override
            public void before(String method) {
                if (method.equals("send") && chance(50)) {
                    throw new TimeoutException("planted");
                }
                if (method.equals("commitTransaction") && chance(10)) {
                    throw new DisconnectException("planted");
                }
                if (method.equals("delete") && chance(50)) {
                    throw new java.io.UncheckedIOException(new java.io.IOException("planted"));
                }
            }

            @Override
            public void after(String method) {
                if (method.equals("commitTransaction") && chance(10)) {
                    throw new TimeoutException("planted, though it went through");
                }
                if (method.equals("delete") && chance(50)) {
                    throw new java.io.UncheckedIOException(new java.io.IOException("planted, though it went through"));
                }
            }

            private synchronized boolean chance(int oneIn) {
                return random.nextInt(oneIn) == 0;
            }
        };
        try (var stage = new RelayStage();
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            stage.relay(
                    more -> more.maxTransactionRecords(10).transactionInterval(Duration.ofMillis(10)),
                    FaultyDatabase.of(stage.database, fault),
                    properties -> FaultyProducer.of(properties, fault));
            var written = new Writers(stage.database, stage.table, stage.topic, 10).write(4, 500, 3);
            stage.awaitEmpty();
            check(committed, uncommitted, written);
            assertThat(stage.events).anyMatch(RelayEvent.Faulted.class::isInstance);
        }
    }

    @Test
    void databaseThatIsKilledAndComesBackIsReadOn() throws Exception {
        var server = PostgresServer.start();
        try (server;
                var stage = new RelayStage(Servers.dataSource(server.uri()), OutboxTable.Layout.BELLWETHER);
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            stage.relay();
            var writers = new Writers(stage.database, stage.table, stage.topic, 10);
            var writing = writers.begin(4, 1_500, 4);
            for (var crash = 0; crash < 2; crash++) {
                var soFar = committed.poll().ledger().records();
                Eventually.eventually(
                        "some are read",
                        RelayStage.PATIENCE,
                        () -> committed.poll().ledger().records() > soFar + 100 || writing.isDone());
                server.crashAndRestart();
            }
            writing.join();
            var written = writers.written();
            stage.awaitEmpty();
            check(committed, uncommitted, written);
        }
    }

    private static void check(Reader committed, Reader uncommitted, Map<String, Integer> written) {
        Eventually.eventually(
                "all is read",
                RelayStage.PATIENCE,
                () -> committed.poll().ledger().isComplete(written)
                        && uncommitted.poll().ledger().isComplete(written));
        assertThat(committed.faults(written)).isEmpty();
        assertThat(uncommitted.faults(written)).isEmpty();
        assertThat(committed.deduped().repeats()).isZero();
    }

    @Test
    void producerThatCannotBeMadeIsTriedAgain() throws Exception {
        var first = new boolean[] {true};
        try (var stage = new RelayStage()) {
            stage.relay(more -> more, properties -> {
                if (first[0]) {
                    first[0] = false;
                    throw new TimeoutException("planted");
                }
                Producer<byte[], byte[]> producer = new KafkaProducer<>(properties);
                return producer;
            });
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
            assertThat(first[0]).isFalse();
        }
    }

    @Test
    void rowsThatAnOperatorDeletesWhileTheyArePublishedAreNoOtherLeader() throws Exception {
        var committed = new AtomicBoolean();
        var deletedByHand = new AtomicInteger();
        try (var stage = new RelayStage(OutboxForm.PLAIN);
                var reader = stage.reader(true)) {
            var delete = "DELETE FROM " + stage.table.name();
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.relay(
                    more -> more,
                    FaultyDatabase.of(stage.database, new FaultyProducer.Fault() {
                        @Override
                        public void before(String step) {
                            if (step.equals("delete") && committed.get() && deletedByHand.get() == 0) {
                                deletedByHand.addAndGet(update(stage, delete));
                            }
                        }
                    }),
                    properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
                        @Override
                        public void after(String method) {
                            if (method.equals("commitTransaction")) {
                                committed.set(true);
                            }
                        }
                    }));
            stage.awaitEmpty();
            stage.stash(Message.of(stage.topic, "k", "1"));
            stage.awaitEmpty();
            Eventually.eventually(
                    "both are read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 2)));
            assertThat(deletedByHand).hasValue(1);
            assertThat(stage.events).noneMatch(RelayEvent.Faulted.class::isInstance);
        }
    }

    @Test
    void publishedRowsThatAnOperatorDeletesBeforeASuccessorDoesAreNoOtherLeader() throws Exception {
        try (var stage = new RelayStage(OutboxForm.PLAIN)) {
            try (var relay = stage.relay()) {
                stage.await(RelayEvent.LeaderRefreshed.class);
                assertThat(relay.isLeader()).isTrue();
            }
            var deletesFirst = FaultyDatabase.of(stage.database, new FaultyProducer.Fault() {
                @Override
                public void before(String step) {
                    assertThat(update(stage, "DELETE FROM " + stage.table.name()))
                            .isOne();
                }
            });
            try (var connection = deletesFirst.getConnection()) {
                var store = Store.of(connection, stage.table);
                var epoch = store.tenancy(connection, 0).orElseThrow().epoch();

                assertThat(publishedAndLeft(stage).delete(store, connection, 0, epoch))
                        .isZero();
                assertThatThrownBy(() -> publishedAndLeft(stage).delete(store, connection, 0, epoch - 1))
                        .isInstanceOf(DeposedException.class);
            }
        }
    }

    /** Returns what tells of a row that it is published, and that is in the table. */
    private static PublishedRows publishedAndLeft(RelayStage stage) throws SQLException {
        var message = Message.of(stage.topic, "k", "0");
        stage.stash(message);
        var id = stage.number("SELECT max(id) FROM " + stage.table.name());
        var published = new PublishedRows();
        published.add(new Published(1, 0, 1, new long[] {id}, new int[] {
            Published.hash(message.eventId().toString())
        }));
        return published;
    }

    private static int update(RelayStage stage, String sql) {
        try (var connection = stage.connect();
                var statement = connection.createStatement()) {
            return statement.executeUpdate(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    @Test
    void errorOfTheElectionsIsThrownByTheStart() {
        Supplier<Elections> broken = () -> {
            throw new NoClassDefFoundError("planted");
        };
        var config = RelayConfig.named("x").producer(NOBODY).build();
        assertThatThrownBy(() -> OutboxRelay.start(Servers.dataSource("jdbc:none"), config, broken))
                .isInstanceOf(NoClassDefFoundError.class)
                .hasMessage("planted");
    }

    @Test
    void whatFailsWhenTheStartWaitsNoMoreIsAnEvent() {
        var started = new CountDownLatch(1);
        Supplier<Elections> slow = () -> {
            try {
                started.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            throw new ElectionException("planted");
        };
        var told = new CopyOnWriteArrayList<RelayEvent>();
        var config = RelayConfig.named("x").producer(NOBODY).listener(told::add).build();
        try (var relay = OutboxRelay.start(Servers.dataSource("jdbc:none"), config, slow)) {
            started.countDown();
            Eventually.eventually(
                    "it is told",
                    RelayStage.PATIENCE,
                    () -> told.stream().anyMatch(RelayEvent.CandidacyFailed.class::isInstance));
            assertThat(relay.isLeader()).isFalse();
        }
    }

    /** It says that it publishes nothing; those shards would have no other leader. */
    @Test
    void relayThatCannotStandForItsLastShardStandsForNone() {
        var where = "memory:" + Servers.fresh("half");
        var tries = new AtomicInteger();
        Supplier<Elections> late = () -> {
            if (tries.getAndIncrement() == 0) {
                throw new UnavailableException("planted"); // so that the start does not wait for what comes
            }
            return Elections.connect(where);
        };
        var told = new CopyOnWriteArrayList<RelayEvent>();
        var config = RelayConfig.named("n".repeat(191)) // with a number of two figures, it is too long
                .shards(11)
                .producer(NOBODY)
                .listener(told::add)
                .build();
        try (var observer = Elections.connect(where);
                var relay = OutboxRelay.start(Servers.dataSource("jdbc:none"), config, late)) {
            Eventually.eventually(
                    "it is told",
                    RelayStage.PATIENCE,
                    () -> told.stream().anyMatch(RelayEvent.CandidacyFailed.class::isInstance));
            var first = observer.election(config.seat(0));
            Eventually.throughout(
                    "it does not stand",
                    Duration.ofSeconds(1),
                    () -> first.candidates().isEmpty());
            assertThat(relay.isLeader()).isFalse();
        }
    }

    @Test
    void errorOfAListenerEndsNothing() {
        var told = new ArrayList<RelayEvent>();
        var config = RelayConfig.named("x")
                .listener(event -> {
                    told.add(event);
                    throw new NoClassDefFoundError("planted");
                })
                .build();
        var shard = StandDownTest.withoutADatabase(0, config);
        var event = new RelayEvent.CandidacyFailed(0, new ElectionException("planted"));
        shard.emit(event);
        assertThat(told).isEqualTo(List.of(event));
    }

    @Test
    void stateIsReadAgainAfterAnError() throws Exception {
        try (var stage = new RelayStage()) {
            var config = stage.config(more -> more.stateInterval(Duration.ofMillis(50)));
            var first = new AtomicBoolean(true);
            var reader = new StateReader(config, () -> {
                if (first.getAndSet(false)) {
                    throw new OutOfMemoryError("planted");
                }
                return LentConnection.of(stage.connect(), stage.table, RelayStage.PATIENCE);
            });
            Eventually.eventually(
                    "it is known", RelayStage.PATIENCE, () -> reader.latest().isPresent());
            reader.end();
        }
    }

    /** As some do with all threads of a process. */
    @Test
    void readerThatSomebodyElseInterruptsReadsOn() throws Exception {
        publishesOnWhenInterrupted("-reader");
    }

    @Test
    void disposalThatSomebodyElseInterruptsDeletesOn() throws Exception {
        publishesOnWhenInterrupted("-disposal");
    }

    private static void publishesOnWhenInterrupted(String part) throws Exception {
        try (var stage = new RelayStage()) {
            stage.relay();
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
            var name = stage.config(more -> more).seat(0) + part;
            assertThat(Thread.getAllStackTraces().keySet())
                    .filteredOn(thread -> thread.getName().equals(name))
                    .singleElement()
                    .satisfies(Thread::interrupt);
            stage.stash(Message.of(stage.topic, "k", "1"));
            stage.awaitEmpty();
            assertThat(stage.events).noneMatch(RelayEvent.Faulted.class::isInstance);
        }
    }

    /** What it waits in returns at once from then on: it kept a processor busy, also with nothing to publish. */
    @Test
    void threadOfAProducerThatSomebodyElseInterruptsRestsAgain() throws Exception {
        try (var stage = new RelayStage()) {
            stage.relay(more -> more.producer(
                    Map.of("bootstrap.servers", Servers.brokers().bootstrap(), "metadata.max.age.ms", 500)));
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
            var name = "kafka-producer-network-thread | "
                    + stage.config(more -> more).seat(0);
            var threads = Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().startsWith(name))
                    .toList();
            assertThat(threads).isNotEmpty();
            threads.forEach(Thread::interrupt);
            Eventually.eventually(
                    "they are interrupted no more",
                    RelayStage.PATIENCE,
                    () -> threads.stream().noneMatch(Thread::isInterrupted));
            assertThat(threads).allMatch(Thread::isAlive);
        }
    }

    /** Else it would ask the database as fast as that answers. */
    @Test
    void readerThatWasInterruptedWaitsAsLongAsBefore() throws Exception {
        var config = RelayConfig.named("x").build();
        var nobody =
                new WakeUpListener(Servers.dataSource(PostgresServer.shared().uri()), config);
        var pace = new ReadPace(config, 0, null, nobody, () -> {}, System::nanoTime);
        try (var connection = Servers.dataSource(PostgresServer.shared().uri()).getConnection()) {
            Thread.currentThread().interrupt();
            pace.rest(connection, false, () -> true);
            assertThat(Thread.interrupted()).as("the next wait ends at once").isFalse();
        } finally {
            Thread.interrupted(); // nobody else is to be
        }
    }

    @Test
    void listenerForWritersTriesAgainAfterAnError() {
        var asked = new AtomicInteger();
        var config = RelayConfig.named("x").producer(NOBODY).build();
        var broken = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
            asked.incrementAndGet();
            throw new OutOfMemoryError("planted");
        });
        var listener = new WakeUpListener(broken, config);
        var sql = new WakeUpSql(config.table());
        listener.add(new ReadPace(config, 0, sql, listener, () -> {}, System::nanoTime), sql);
        Eventually.eventually("it asks again", RelayStage.PATIENCE, () -> asked.get() > 1);
        listener.close();
        listener.join();
    }

    @Test
    void balancerLooksAgainAfterAnError() {
        var asked = new AtomicInteger();
        var config = RelayConfig.named("x").lease(Duration.ofSeconds(1)).build();
        var broken = FaultyDatabase.proxy(Elections.class, (method, arguments) -> {
            asked.incrementAndGet();
            throw new OutOfMemoryError("planted");
        });
        var balancer = new Balancer(broken, config, "relay").start();
        Eventually.eventually("it looks again", RelayStage.PATIENCE, () -> asked.get() > 1);
        balancer.end();
    }
}
