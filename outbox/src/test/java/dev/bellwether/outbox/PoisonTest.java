package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;

class PoisonTest {
    private static final int KEYS = 3;
    static final String TOO_LARGE = new Random(7)
            .ints(5_000, 33, 127)
            .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
            .toString(); // which does not compress

    @Test
    void recordThatBrokersFindTooLargeIsParkedWhereverItStands() throws Exception {
        try (var stage = new RelayStage()) {
            var small = Servers.fresh("small");
            Servers.topic(stage.bootstrap, small, 1, Map.of("max.message.bytes", "3000"));
            var written = new HashMap<String, Integer>();
            var poison = new ArrayList<Message>();
            var messages = new ArrayList<Message>();
            // one poison in each transaction of six, at each position of it
            for (var group = 0; group < 6; group++) {
                for (var place = 0; place < 6; place++) {
                    if (place == group) {
                        var bad = Message.of(small, "bad", TOO_LARGE);
                        poison.add(bad);
                        messages.add(bad);
                        continue;
                    }
                    var key = "k" + place % KEYS;
                    messages.add(Message.of(small, key, Integer.toString(written.merge(key, 1, Integer::sum) - 1)));
                }
            }
            stage.stash(messages);
            stage.relay(more -> more.poison(Poison.PARK).maxTransactionRecords(6));
            try (var reader = new Reader(stage.bootstrap, false, small)) {
                stage.awaitEmpty();
                Eventually.eventually(
                        "all others are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(written));
                assertThat(reader.faults(written)).isEmpty();
                assertThat(Reader.faultsOfCommitted(stage.bootstrap, written, small))
                        .isEmpty();
                var admin = OutboxAdmin.of(stage.database, stage.table);
                var parked = admin.parked(100);
                assertThat(parked.stream()
                                .map(OutboxAdmin.ParkedRecord::eventId)
                                .toList())
                        .isEqualTo(poison.stream()
                                .map(message -> message.eventId().toString())
                                .toList());
                assertThat(parked).allSatisfy(one -> assertThat(one.reason()).contains("TooLarge"));
                allowLarge(stage.bootstrap, small);
                assertThat(admin.requeue(parked.get(0).id())).isTrue();
                assertThat(admin.requeue(parked.get(0).id())).isFalse();
                Eventually.eventually(
                        "it is read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().records().stream()
                                .anyMatch(record -> Reader.header(record, "event-id")
                                        .equals(poison.get(0).eventId().toString())));
                assertThat(admin.state().parked()).isEqualTo(poison.size() - 1);
            }
        }
    }

    /** There may be no room for it: who tried to read it failed, again and again, and what was behind it waited. */
    @Test
    void recordThatIsFarTooLargeIsBlockedUnread() throws Exception {
        try (var stage = new RelayStage()) {
            var roomless = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var connection = stage.database.getConnection();
                return FaultyDatabase.proxy(Connection.class, (called, with) -> {
                    if (with != null && String.valueOf(with[0]).endsWith(" WHERE id = ANY(?) ORDER BY id")) {
                        throw new OutOfMemoryError("planted");
                    }
                    return FaultyDatabase.call(connection, called, with);
                });
            });
            stage.execute("INSERT INTO " + stage.table.name() + " (topic, record_key, record_value) VALUES ('"
                    + stage.topic + "', 'huge', convert_to(repeat('x', 3000000), 'UTF8'))");
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.relay(more -> more.maxInFlightBytes(1 << 20), roomless, KafkaProducer::new);
            Eventually.eventually(
                    "the other is published, or the session fails",
                    RelayStage.PATIENCE,
                    () -> stage.left() == 1 || stage.events.stream().anyMatch(RelayEvent.Faulted.class::isInstance));
            assertThat(stage.events).noneMatch(RelayEvent.Faulted.class::isInstance);
            assertThat(stage.await(RelayEvent.KeyBlocked.class).reason())
                    .contains("its 3000000 bytes are more than the producer's max.request.size, 1048576");
        }
    }

    /** Where brokers make topics, too: each of its keys would cost a session. */
    @Test
    void topicWithANameThatNoneCanHaveWaitsAsAWhole() throws Exception {
        try (var brokers = KafkaBrokers.start(1);
                var stage = new RelayStage(brokers.bootstrap())) {
            for (var key = 0; key < 50; key++) {
                stage.stash(Message.of("no topic", "k" + key, "0"));
            }
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.relay();
            Eventually.eventually("those alone are left", RelayStage.PATIENCE, () -> stage.left() == 50);
            assertThat(stage.events.stream().filter(RelayEvent.KeyBlocked.class::isInstance))
                    .as("told once")
                    .hasSize(1);
            assertThat(stage.events.stream().filter(RelayEvent.LeaderRefreshed.class::isInstance))
                    .as("sessions")
                    .hasSizeLessThan(10);
        }
    }

    /** Else who takes over, and finds that the record can be published by now, publishes it behind its successors. */
    @Test
    void nothingBehindARecordIsCommittedBeforeThatIsParked() throws Exception {
        try (var stage = new RelayStage()) {
            var small = Servers.fresh("small");
            Servers.topic(stage.bootstrap, small, 1, Map.of("max.message.bytes", "3000"));
            stage.stash(
                    Message.of(small, "k", "0"), Message.of(small, "k", "1 " + TOO_LARGE), Message.of(small, "k", "2"));
            var committed = new CountDownLatch(1);
            var dead = new CountDownLatch(1);
            var dying = FaultyDatabase.of(stage.database, new FaultyProducer.Fault() {
                @Override
                public void before(String step) {
                    if (step.equals("park")) {
                        await(committed); // it must not be, so there is nothing to wait for
                        dead.countDown();
                    }
                    if (dead.getCount() == 0) {
                        throw new UncheckedIOException(new IOException("planted"));
                    }
                }
            });
            var first = stage.relay(
                    more -> more.poison(Poison.PARK),
                    dying,
                    properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
                        @Override
                        public void after(String method) {
                            if (method.equals("commitTransaction")) {
                                committed.countDown();
                            }
                        }
                    }));
            assertThat(dead.await(90, TimeUnit.SECONDS)).isTrue();
            first.close();
            allowLarge(stage.bootstrap, small);
            stage.relay(more -> more.poison(Poison.PARK));
            stage.awaitEmpty();
            try (var reader = new Reader(stage.bootstrap, true, small)) {
                Eventually.eventually(
                        "all are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().records() >= 3);
                assertThat(reader.faults(Map.of("k", 3)))
                        .as("NEVER: an old record is the last of its key")
                        .isEmpty();
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void whatFailsWhileARecordIsRequeuedLeavesItParked() throws Exception {
        try (var stage = new RelayStage()) {
            stage.execute("INSERT INTO " + stage.table.parked() + " (id, event_id, created, topic, parked, reason)"
                    + " VALUES (1, gen_random_uuid(), now(), 't', now(), 'too large')");
            var failing = FaultyDatabase.of(stage.database, new FaultyProducer.Fault() {
                @Override
                public void before(String step) {
                    throw new IllegalStateException("planted in " + step);
                }
            });
            assertThatThrownBy(() -> OutboxAdmin.of(failing, stage.table).requeue(1))
                    .hasMessage("planted in delete");
            assertThat(stage.left()).isZero();
            assertThat(OutboxAdmin.of(stage.database, stage.table).parked(10)).hasSize(1);
        }
    }

    private static void allowLarge(String bootstrap, String topic) throws Exception {
        try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap))) {
            admin.incrementalAlterConfigs(Map.of(
                            new ConfigResource(ConfigResource.Type.TOPIC, topic),
                            List.of(new AlterConfigOp(
                                    new ConfigEntry("max.message.bytes", "100000"), AlterConfigOp.OpType.SET))))
                    .all()
                    .get();
        }
    }

    @Test
    void topicThatWasMissingOnceTakesLaterRecordsAndWhatWasParkedIsRequeuedByTopic() throws Exception {
        try (var stage = new RelayStage()) {
            var later = Servers.fresh("later");
            stage.stash(Writers.numbered(later, "k", 0, 5));
            stage.relay(more -> more.poison(Poison.PARK)
                    .haltRetry(Duration.ofSeconds(1))
                    .producer(Map.of("bootstrap.servers", stage.bootstrap, "max.block.ms", 1_000)));
            stage.awaitEmpty();
            var admin = OutboxAdmin.of(stage.database, stage.table);
            assertThat(admin.parked(10)).hasSize(5);
            Servers.topic(stage.bootstrap, later, 1, Map.of());
            try (var reader = new Reader(stage.bootstrap, true, later)) {
                Eventually.eventually("later records are published", RelayStage.PATIENCE, () -> {
                    try {
                        stage.stash(Message.of(later, "other", "0"));
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                    return reader.poll().ledger().records() > 0;
                });
                var parked = admin.parked(100_000).stream()
                        .filter(one -> one.topic().equals(later))
                        .count();
                assertThat(admin.requeueTopic(later)).isEqualTo((int) parked);
                Eventually.eventually(
                        "those that were parked are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(Map.of("k", 5)));
                assertThat(admin.parked(10)).isEmpty();
            }
        }
    }

    @Test
    void whatIsParkedOfATopicIsRequeuedBesideAnotherWhoRequeuesTheOldest() throws Exception {
        try (var stage = new RelayStage();
                var other = stage.connect()) {
            var parked = stage.table.parked();
            stage.execute("INSERT INTO " + parked + " (id, event_id, created, topic, parked, reason) SELECT i,"
                    + " gen_random_uuid(), now(), 't', now(), 'r' FROM generate_series(1, 2500) AS i");
            other.setAutoCommit(false);
            try (var oldest = other.createStatement()) {
                assertThat(oldest.executeUpdate("DELETE FROM " + parked + " WHERE id <= 1000"))
                        .isEqualTo(1_000);
            }
            var admin = OutboxAdmin.of(stage.database, stage.table);
            var requeued = CompletableFuture.supplyAsync(() -> {
                try {
                    return admin.requeueTopic("t");
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            Eventually.eventually(
                    "it waits for the other",
                    RelayStage.PATIENCE,
                    () -> stage.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                                    + " AND query LIKE '%" + parked + "%'")
                            > 0);
            other.commit();
            assertThat(requeued.get(90, TimeUnit.SECONDS)).isEqualTo(1_500);
            assertThat(admin.lastParked("t")).isEmpty();
        }
    }

    @Test
    void manyRecordsThatCannotBePublishedCostAFewSessionsAndNotOneEach() throws Exception {
        try (var stage = new RelayStage()) {
            var compacted = Servers.fresh("compacted");
            Servers.topic(stage.bootstrap, compacted, 1, Map.of("cleanup.policy", "compact"));
            var small = Servers.fresh("small");
            Servers.topic(stage.bootstrap, small, 1, Map.of("max.message.bytes", "3000"));
            var messages = new ArrayList<Message>();
            for (var number = 0; number < 2_000; number++) {
                messages.add(Message.of(compacted, "k", Integer.toString(number)));
                switch (number % 40) {
                    case 10 ->
                        messages.add(Message.to(compacted).value("no key").build());
                    case 20 -> messages.add(Message.of(small, "large", TOO_LARGE));
                    case 30 ->
                        messages.add(
                                Message.to(stage.topic).key("k").partition(99).build());
                    default -> {}
                }
            }
            stage.stash(messages);
            // with time for each call: one that times out on a busy machine costs a session, too
            stage.relay(more -> more.poison(Poison.PARK));
            try (var reader = new Reader(stage.bootstrap, false, compacted)) {
                stage.awaitEmpty();
                Eventually.eventually(
                        "all others are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(Map.of("k", 2_000)));
                assertThat(reader.faults(Map.of("k", 2_000)))
                        .as("NEVER: out of order or lost")
                        .isEmpty();
                assertThat(Reader.faultsOfCommitted(stage.bootstrap, Map.of("k", 2_000), compacted))
                        .isEmpty();
                assertThat(OutboxAdmin.of(stage.database, stage.table).parked(1_000))
                        .hasSize(150);
                assertThat(stage.events.stream()
                                .filter(RelayEvent.LeaderRefreshed.class::isInstance)
                                .count())
                        .as("sessions for 150 records that cannot be published")
                        .isLessThan(10);
            }
        }
    }

    @Test
    void recordWhoseIdWasGivenOutAgainIsParkedBesideTheOther() throws Exception {
        for (var database : List.of(
                PostgresServer.shared().uri(),
                MysqlFamilyServer.shared().uri(),
                MysqlFamilyServer.shared(Kind.MYSQL).uri())) {
            var table = OutboxTable.named(Servers.fresh("parking"));
            try (var connection = Servers.dataSource(database).getConnection()) {
                var store = Store.of(connection, table);
                OutboxSchema.create(connection, store);
                store.prepare(connection, true);
                var epoch = store.acquire(connection, new Store.Claim("x", 0, 1, "relay", true))
                        .epoch();
                for (var round = 0; round < 3; round++) {
                    try (var statement = connection.createStatement()) {
                        statement.execute("INSERT INTO " + table.name() + " (id, topic) VALUES (7, 't" + round + "')");
                    }
                    var row = store.read(connection, new Store.Wanted(0, 10, 1_000, 0, 1), store.gaps())
                            .hot()
                            .get(0);
                    assertThat(store.park(connection, 0, epoch, row, "reason")).isTrue();
                }
                assertThat(OutboxAdmin.of(Servers.dataSource(database), table).parked(10))
                        .as("NEVER: a record that is nowhere")
                        .extracting(OutboxAdmin.ParkedRecord::topic)
                        .containsExactlyInAnyOrder("t0", "t1", "t2");
            }
        }
    }

    @Test
    void recordThatFailsItsWholeRequestIsFoundAmongInnocentOnes() throws Exception {
        try (var stage = new RelayStage()) {
            var compacted = Servers.fresh("compacted");
            // which takes no record without a key, and refuses all that come with one
            Servers.topic(stage.bootstrap, compacted, 1, Map.of("cleanup.policy", "compact"));
            var messages = Writers.numbered(compacted, "k", 0, 40);
            messages.add(23, Message.to(compacted).value("no key").build());
            messages.add(7, Message.to(compacted).value("no key").build());
            stage.stash(messages);
            stage.relay(more -> more.poison(Poison.PARK));
            try (var reader = new Reader(stage.bootstrap, true, compacted)) {
                stage.awaitEmpty();
                Eventually.eventually(
                        "all others are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(Map.of("k", 40)));
                assertThat(reader.faults(Map.of("k", 40))).isEmpty();
                assertThat(OutboxAdmin.of(stage.database, stage.table).parked(100))
                        .hasSize(2);
            }
        }
    }

    @Test
    void blockedKeyWaitsForItsTopicAndOthersFlow() throws Exception {
        try (var stage = new RelayStage()) {
            var later = Servers.fresh("later");
            var messages = new ArrayList<Message>();
            messages.addAll(Writers.numbered(stage.topic, "before", 0, 5));
            messages.addAll(Writers.numbered(later, "waits", 0, 5));
            messages.addAll(Writers.numbered(stage.topic, "after", 0, 5));
            stage.stash(messages);
            var relay = stage.relay(more -> more.haltRetry(Duration.ofSeconds(2))
                    .producer(Map.of("bootstrap.servers", stage.bootstrap, "max.block.ms", 1_000)));
            try (var reader = stage.reader(true)) {
                var written = Map.of("before", 5, "after", 5);
                Eventually.eventually(
                        "the others are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(written));
                assertThat(stage.await(RelayEvent.KeyBlocked.class).reason()).contains("does not exist");
                Eventually.eventually("those that wait are left", RelayStage.PATIENCE, () -> stage.left() == 5);
                stage.stash(Writers.numbered(stage.topic, "after", 5, 10));
                Eventually.eventually(
                        "new ones are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(Map.of("after", 10)));
                assertThat(relay.stats().get(0).blocked()).isBetween(0L, 5L);
            }
            Servers.topic(stage.bootstrap, later, 1, Map.of());
            try (var reader = new Reader(stage.bootstrap, true, later)) {
                Eventually.eventually(
                        "those that waited are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(Map.of("waits", 5)));
                assertThat(reader.faults(Map.of("waits", 5))).isEmpty();
            }
        }
    }

    /** A key is tried again ever more rarely; whether there is such a topic can be asked. */
    @Test
    void topicThatIsMadeIsServedAfterHaltRetryHoweverLongItWasMissing() throws Exception {
        try (var stage = new RelayStage()) {
            var small = Servers.fresh("small");
            Servers.topic(stage.bootstrap, small, 1, Map.of("max.message.bytes", "3000"));
            var later = Servers.fresh("later");
            stage.stash(Message.of(small, "bad", TOO_LARGE), Message.of(later, "waits", "0"));
            var tried = new CopyOnWriteArrayList<Long>();
            stage.relay(more -> more.haltRetry(Duration.ofMillis(150)).listener(event -> {
                if (event instanceof RelayEvent.KeyBlocked blocked
                        && blocked.reason().contains("TooLarge")) {
                    tried.add(System.nanoTime());
                }
            }));
            Eventually.eventually(
                    "the key was tried again six times, after 150, 300, 600, 1,200, 2,400 and 4,800 ms",
                    RelayStage.PATIENCE,
                    () -> tried.size() >= 7);
            Servers.topic(stage.bootstrap, later, 1, Map.of());
            var made = System.nanoTime();
            Eventually.eventually("what waited is gone", RelayStage.PATIENCE, () -> stage.left() == 1);
            assertThat(System.nanoTime() - made)
                    .as("it waited for no pause of the key, which would be twice as long as the last was")
                    .isLessThan(tried.get(6) - tried.get(5));
        }
    }

    @Test
    void noRecordOvertakesABlockedOneOfItsKeyWhereverItStands() throws Exception {
        var random = new Random(17);
        try (var stage = new RelayStage()) {
            var small = Servers.fresh("small");
            Servers.topic(stage.bootstrap, small, 2, Map.of("max.message.bytes", "3000"));
            var reached = new HashMap<String, Integer>();
            var written = new HashMap<String, Integer>();
            var blocked = new java.util.HashSet<String>();
            var messages = new ArrayList<Message>();
            for (var i = 0; i < 120; i++) {
                var key = "k" + random.nextInt(10);
                var number = written.merge(key, 1, Integer::sum) - 1;
                var bad = blocked.size() < 5 && random.nextInt(8) == 0;
                messages.add(Message.of(small, key, number + " " + (bad ? TOO_LARGE : "")));
                if (bad) {
                    blocked.add(key);
                } else if (!blocked.contains(key)) {
                    reached.put(key, number + 1);
                }
            }
            stage.stash(messages);
            stage.relay(more -> more.maxTransactionRecords(7).haltRetry(Duration.ofMillis(500)));
            try (var reader = new Reader(stage.bootstrap, false, small)) {
                var left = written.values().stream().mapToInt(n -> n).sum()
                        - reached.values().stream().mapToInt(n -> n).sum();
                Eventually.eventually(
                        "those that may flow have flown", RelayStage.PATIENCE, () -> stage.left() == left);
                stage.await(RelayEvent.KeyBlocked.class);
                Eventually.eventually(
                        "they are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(reached));
                assertThat(reader.faults(reached)).isEmpty();
                allowLarge(stage.bootstrap, small);
                stage.awaitEmpty(); // the blocked ones are tried again by themselves
                Eventually.eventually(
                        "all are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(written));
                assertThat(reader.faults(written)).isEmpty();
                assertThat(Reader.faultsOfCommitted(stage.bootstrap, written, small))
                        .isEmpty();
            }
        }
    }

    @Test
    void haltStopsAllUntilTheRecordIsGone() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 3));
            stage.execute("INSERT INTO " + stage.table.name() + " (topic, record_key, headers) VALUES ('" + stage.topic
                    + "', 'bad'::bytea, ': a header without a name')");
            stage.stash(Writers.numbered(stage.topic, "k", 3, 6));
            stage.relay(more -> more.poison(Poison.HALT).haltRetry(Duration.ofMillis(300)));
            var halted = stage.await(RelayEvent.Halted.class);
            assertThat(halted.reason()).contains("no name");
            Eventually.eventually(
                    "what stands before it is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 3)));
            Eventually.eventually("the rest is left", RelayStage.PATIENCE, () -> stage.left() == 4);
            stage.execute("DELETE FROM " + stage.table.name() + " WHERE id = " + halted.id());
            Eventually.eventually(
                    "the rest is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 6)));
            assertThat(reader.faults(Map.of("k", 6))).isEmpty();
        }
    }

    @Test
    void partitionThatDoesNotExistIsPoison() throws Exception {
        try (var stage = new RelayStage()) {
            stage.stash(
                    Message.to(stage.topic).key("k").value("x").partition(99).build(),
                    Message.of(stage.topic, "other", "0"));
            stage.relay(more -> more.poison(Poison.PARK)
                    .producer(Map.of("bootstrap.servers", stage.bootstrap, "max.block.ms", 1_000)));
            stage.awaitEmpty();
            assertThat(stage.await(RelayEvent.Parked.class).reason()).contains("none of them is 99");
            assertThat(OutboxAdmin.of(stage.database, stage.table).parked(10).stream()
                            .map(OutboxAdmin.ParkedRecord::topic)
                            .collect(Collectors.toList()))
                    .containsExactly(stage.topic);
        }
    }

    /** Not after a second wait for {@code delivery.timeout.ms}, though its progress went along with it. */
    @Test
    void partitionWithoutALeaderIsKnownAfterOneTransactionThatTimedOut() throws Exception {
        var judge =
                new PoisonDetector(PoisonDetectorTest.leaderless(Set.of(1), Partitioning.MURMUR2), 1, System::nanoTime);
        try (var stage = new RelayStage()) {
            var config =
                    stage.config(more -> more.haltRetry(Duration.ofHours(1)).wakeUp(false));
            var shard = new Shard(
                    0,
                    config,
                    stage.database,
                    properties -> timingOut(),
                    judge,
                    new WakeUpListener(stage.database, config),
                    "relay");
            stage.stash(Message.to(stage.topic).key("k").partition(1).build());
            ShardMandate.during(
                    shard,
                    () -> assertThat(stage.await(RelayEvent.KeyBlocked.class).reason())
                            .contains("no leader"));
            assertThat(stage.events.stream()
                            .takeWhile(event -> !(event instanceof RelayEvent.KeyBlocked))
                            .filter(RelayEvent.LeaderRefreshed.class::isInstance)
                            .count())
                    .as("sessions, each of which waits for the brokers")
                    .isOne();
        }
    }

    /** A producer whose records are on their way when they time out. */
    private static Producer<byte[], byte[]> timingOut() {
        var producer = new MockProducer<>(false, null, new ByteArraySerializer(), new ByteArraySerializer());
        return FaultyProducer.of(producer, new FaultyProducer.Fault() {
            @Override
            public void before(String method) {
                if (method.equals("flush")) {
                    producer.errorNext(new TimeoutException("expired"));
                }
            }
        });
    }

    /** Led by others in between, or by nobody, it has heard nothing of the partition since. */
    @Test
    void partitionThatHasALeaderAgainIsServedAtOnceByAShardThatLeadsAgain() throws Exception {
        var without = ConcurrentHashMap.<Integer>newKeySet();
        without.add(1);
        var judge =
                new PoisonDetector(PoisonDetectorTest.leaderless(without, Partitioning.MURMUR2), 1, System::nanoTime);
        try (var stage = new RelayStage()) {
            var config =
                    stage.config(more -> more.haltRetry(Duration.ofHours(1)).wakeUp(false));
            var shard = new Shard(
                    0,
                    config,
                    stage.database,
                    KafkaProducer::new,
                    judge,
                    new WakeUpListener(stage.database, config),
                    "relay");
            stage.stash(Message.to(stage.topic).key("k").partition(1).build());
            var row = new Row(1, "e", stage.topic, null, null, null, 1, -1, 0, false);
            judge.failed(new LineStoppedException(row, 0, 1, new TimeoutException("expired"), false));
            shard.blocked().add(row, OutboxAdmin.Waits.PARTITION, "its partition has no leader");
            ShardMandate.during(
                    shard,
                    () -> Eventually.eventually(
                            "it waits", RelayStage.PATIENCE, () -> shard.stats().blocked() == 1));
            assertThat(shard.blocked().list()).hasSize(1);
            without.clear();
            ShardMandate.during(shard, stage::awaitEmpty);
            assertThat(shard.blocked().list()).isEmpty();
        }
    }

    /** Pools may have that as their default: there, who waits for a row and finds it gone fails. */
    @Test
    void recordThatAnotherRequeuesMeanwhileIsNotThereInAnyIsolation() throws Exception {
        try (var stage = new RelayStage();
                var another = stage.connect()) {
            stage.execute("INSERT INTO " + stage.table.parked() + " (id, event_id, created, topic, parked, reason)"
                    + " VALUES (1, gen_random_uuid(), now(), 't', now(), '')");
            another.setAutoCommit(false);
            try (var statement = another.createStatement()) {
                statement.execute("DELETE FROM " + stage.table.parked());
            }
            var before = new AtomicInteger(-1);
            var repeatable = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var connection =
                        (Connection) Objects.requireNonNull(FaultyDatabase.call(stage.database, method, arguments));
                connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
                return FaultyDatabase.proxy(Connection.class, (of, given) -> {
                    if (of.getName().equals("close")) {
                        before.set(connection.getTransactionIsolation());
                    }
                    return FaultyDatabase.call(connection, of, given);
                });
            });
            var requeued = CompletableFuture.supplyAsync(() -> {
                try {
                    return OutboxAdmin.of(repeatable, stage.table).requeue(1);
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            Eventually.eventually(
                    "it waits for the other", RelayStage.PATIENCE, () -> DivideTest.waits(stage.database));
            another.commit();
            assertThat(requeued).succeedsWithin(RelayStage.PATIENCE).isEqualTo(false);
            assertThat(before).as("the isolation that is given back").hasValue(Connection.TRANSACTION_REPEATABLE_READ);
        }
    }
}
