package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.PgBouncer;
import dev.bellwether.fixtures.PgBouncer.Mode;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link.Way;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** Writers wake an idle relay. Where it looks by itself, it does so once in ten minutes: nobody here waits for that. */
@Timeout(240)
class WakeUpTest {
    private static final Duration LONG_BEFORE_THE_LOOK = Duration.ofSeconds(60);

    private static @Nullable PostgresServer server;

    /** Not the one that is shared: that one lets transactions be prepared, and so by default nobody is woken there. */
    @BeforeAll
    static void start() {
        server = PostgresServer.startWithoutPreparedTransactions();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static RelayConfig.Builder seldom(RelayConfig.Builder more) {
        return more.maxPoll(Duration.ofMinutes(10));
    }

    private static PostgresServer server() {
        if (server == null) {
            throw new IllegalStateException("not started");
        }
        return server;
    }

    private static RelayStage stage() throws SQLException {
        return new RelayStage(Servers.dataSource(server().uri()), OutboxTable.Layout.BELLWETHER);
    }

    private static String plainInsert(RelayStage stage, int number) {
        return "INSERT INTO " + stage.table.name() + " (topic, record_key, record_value) VALUES ('" + stage.topic
                + "', 'k', '" + number + "')";
    }

    private static boolean isIdle(RelayStage stage) {
        return stage.number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'"
                        + " AND granted AND classid = '" + stage.table.name() + "'::regclass")
                == 1;
    }

    private static void awaitIdle(RelayStage stage) {
        Eventually.eventually("the relay is idle", RelayStage.PATIENCE, () -> isIdle(stage));
    }

    private static void awaitRead(Reader reader, Map<String, Integer> written) {
        Eventually.eventually(
                "all is read, long before the relay looks",
                LONG_BEFORE_THE_LOOK,
                () -> reader.poll().ledger().isComplete(written));
        assertThat(reader.faults(written)).isEmpty();
    }

    /** Returns the process of the server whose last statement was to listen for this table; 0 if there is none. */
    private static long listening(RelayStage stage) {
        return stage.number(
                "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE query = 'LISTEN bellwether_outbox_" + "' || '"
                        + stage.table.name() + "'::regclass::oid");
    }

    @Test
    void messageIsUnderWayWithoutALook() throws Exception {
        try (var stage = stage();
                var reader = stage.reader(true)) {
            stage.relay(WakeUpTest::seldom);
            for (var round = 0; round < 3; round++) {
                awaitIdle(stage);
                stage.stash(Message.of(stage.topic, "k", Integer.toString(round)));
                awaitRead(reader, Map.of("k", round + 1));
            }
            awaitIdle(stage);
            stage.stash(Writers.numbered(stage.topic, "k", 3, 10)); // a batch
            awaitRead(reader, Map.of("k", 10));
        }
    }

    @Test
    void plainInsertIsUnderWayWithoutALookIfTheTableHasItsTrigger() throws Exception {
        try (var stage = stage();
                var reader = stage.reader(true)) {
            try (var connection = stage.connect();
                    var statement = connection.createStatement()) {
                // made again, it takes the place of the one before
                statement.execute(OutboxSchema.wakeUpTrigger(connection, stage.table));
                statement.execute(OutboxSchema.wakeUpTrigger(connection, stage.table));
            }
            stage.relay(WakeUpTest::seldom);
            for (var round = 0; round < 3; round++) {
                awaitIdle(stage);
                stage.execute(plainInsert(stage, round));
                awaitRead(reader, Map.of("k", round + 1));
            }
            assertThat(OutboxAdmin.of(stage.database, stage.table).examine(Optional.empty()))
                    .noneMatch(finding -> finding.what().contains("trigger"));
        }
    }

    /** And the relay hears of it there: the channel, and the lock, are those of another table then. */
    @Test
    void tableThatGetsAnotherFormKeepsItsTrigger() throws Exception {
        try (var stage = stage();
                var reader = stage.reader(true)) {
            try (var connection = stage.connect();
                    var statement = connection.createStatement()) {
                statement.execute(OutboxSchema.wakeUpTrigger(connection, stage.table));
            }
            stage.relay(WakeUpTest::seldom);
            var admin = OutboxAdmin.of(stage.database, stage.table);
            var number = 0;
            for (var form : List.of(OutboxForm.ROTATED, OutboxForm.PLAIN, OutboxForm.ROTATED)) {
                awaitIdle(stage);
                assertThat(admin.migrate(form, RelayStage.PATIENCE)).isTrue();
                awaitIdle(stage);
                stage.execute(plainInsert(stage, number++));
                awaitRead(reader, Map.of("k", number));
                awaitIdle(stage);
                stage.stash(Message.of(stage.topic, "k", Integer.toString(number++)));
                awaitRead(reader, Map.of("k", number));
            }
            assertThat(admin.examine(Optional.empty()))
                    .noneMatch(finding -> finding.what().contains("trigger"));
        }
    }

    /** What a driver has prepared on the server names the table that was dropped, until it is parsed again. */
    @Test
    void writerWhoseStatementsArePreparedWakesTheRelayOfTheTableThatCame() throws Exception {
        try (var stage = stage();
                var reader = stage.reader(true);
                var writer = stage.connect()) {
            stage.relay(WakeUpTest::seldom);
            var outbox = Outbox.of(stage.table);
            var admin = OutboxAdmin.of(stage.database, stage.table);
            var number = 0;
            for (var form : List.of(OutboxForm.ROTATED, OutboxForm.PLAIN)) {
                awaitIdle(stage);
                for (var until = number + 8; number < until; number++) {
                    outbox.stash(writer, Message.of(stage.topic, "k", Integer.toString(number)));
                }
                awaitRead(reader, Map.of("k", number));
                assertThat(admin.migrate(form, RelayStage.PATIENCE)).isTrue();
                awaitIdle(stage);
                outbox.stash(writer, Message.of(stage.topic, "k", Integer.toString(number++)));
                awaitRead(reader, Map.of("k", number));
            }
        }
    }

    @Test
    void triggerOfARotatedTableWakesTheRelay() throws Exception {
        try (var stage = new RelayStage(Servers.dataSource(server().uri()), OutboxForm.ROTATED);
                var reader = stage.reader(true)) {
            try (var connection = stage.connect();
                    var statement = connection.createStatement()) {
                statement.execute(OutboxSchema.wakeUpTrigger(connection, stage.table));
            }
            stage.relay(more -> seldom(more).shards(2));
            for (var round = 0; round < 3; round++) {
                awaitIdle(stage);
                stage.execute(plainInsert(stage, round));
                awaitRead(reader, Map.of("k", round + 1));
            }
        }
    }

    @Test
    void recordThatIsRequeuedIsUnderWayWithoutALook() throws Exception {
        try (var stage = stage();
                var reader = stage.reader(true)) {
            stage.execute("INSERT INTO " + stage.table.parked()
                    + " (id, event_id, created, topic, record_key, record_value, parked, reason) VALUES (7,"
                    + " gen_random_uuid(), now(), '" + stage.topic + "', 'k', '0', now(), 'it was too large')");
            stage.relay(WakeUpTest::seldom);
            awaitIdle(stage);
            assertThat(OutboxAdmin.of(stage.database, stage.table).requeue(7)).isTrue();
            awaitRead(reader, Map.of("k", 1));
        }
    }

    @Test
    void eachShardIsWoken() throws Exception {
        try (var stage = stage();
                var reader = stage.reader(true)) {
            var relay = stage.relay(more -> seldom(more).shards(3));
            for (var round = 0; round < 3; round++) {
                awaitIdle(stage);
                stage.stash(numbered(stage, round));
                awaitRead(reader, counts(round + 1));
            }
            assertThat(relay.stats()).allMatch(stats -> stats.published() > 0);
        }
    }

    @Test
    void relayHearsAgainWhenItsListeningConnectionHasBroken() throws Exception {
        try (var stage = stage();
                var reader = stage.reader(true)) {
            stage.relay(WakeUpTest::seldom);
            awaitIdle(stage);
            var before = listening(stage);
            assertThat(before).isPositive();
            stage.number("SELECT pg_terminate_backend(" + before + ")::integer");
            Eventually.eventually(
                    "it listens again",
                    RelayStage.PATIENCE,
                    () -> listening(stage) != 0 && listening(stage) != before && isIdle(stage));
            stage.stash(Message.of(stage.topic, "k", "0"));
            awaitRead(reader, Map.of("k", 1));
        }
    }

    @Test
    void whatWasStashedWhileNobodyListenedIsUnderWayWhenSomebodyListensAgain() throws Exception {
        var refusing = new AtomicBoolean();
        try (var stage = stage();
                var reader = stage.reader(true)) {
            // it looks but once in ten minutes also while nobody listens
            stage.relay(
                    more -> seldom(more).minPoll(Duration.ofMinutes(10)),
                    refusing(stage.database, refusing),
                    KafkaProducer::new);
            awaitIdle(stage);
            refusing.set(true);
            stage.number("SELECT pg_terminate_backend(" + listening(stage) + ")::integer");
            Eventually.eventually("it has noticed", RelayStage.PATIENCE, () -> !isIdle(stage));
            stage.stash(Message.of(stage.topic, "k", "0"));
            Eventually.throughout("nobody looks", Duration.ofMillis(500), () -> stage.left() == 1);
            refusing.set(false);
            awaitRead(reader, Map.of("k", 1));
        }
    }

    /** Then nobody is lent any; and for a minute no writer would wake the relay. */
    @Test
    void listenerDoesNotGiveItsConnectionUpWhileTheDatabaseIsSilent() throws Exception {
        var table = OutboxTable.named(Servers.fresh("silent"));
        var config = RelayConfig.named("x")
                .table(table)
                .databaseTimeout(Duration.ofSeconds(2))
                .build();
        try (var link = FaultProxy.to("127.0.0.1", server().port());
                var connection = server().connect()) {
            OutboxSchema.create(connection, table);
            var sql = new WakeUpSql(table);
            var through = Servers.dataSource(PostgresServer.uri(link.port()) + "&loginTimeout=2");
            var listener = new WakeUpListener(through, config);
            listener.add(new ReadPace(config, 0, sql, listener, () -> {}, System::nanoTime), sql);
            try {
                Eventually.eventually("it listens", RelayStage.PATIENCE, () -> listens(listener, connection, sql));
                link.cut(Way.BOTH);
                listener.borrows();
                Eventually.eventually("it has noticed", RelayStage.PATIENCE, () -> !listener.isListening());
                listener.borrowed(true);
                link.heal();
                Eventually.eventually(
                        "it listens again", Duration.ofSeconds(40), () -> listens(listener, connection, sql));
            } finally {
                link.heal();
                listener.close();
                listener.join();
            }
        }
    }

    /** As after a short silence, in which both have waited. */
    @Test
    void listenerKeepsItsConnectionIfWhoLacksOneGetsItWhenTheDatabaseAnswers() throws Exception {
        var answers = new AtomicInteger();
        var starved = new AtomicReference<@Nullable WakeUpListener>();
        try (var listening = new Listening(real -> answering(real, () -> {
            var borrowed = starved.getAndSet(null);
            if (borrowed != null) {
                borrowed.borrowed(true);
                answers.incrementAndGet();
            }
        }))) {
            starved.set(listening.listener);
            listening.listener.borrows();
            Eventually.eventually("the database has answered", RelayStage.PATIENCE, () -> answers.get() == 1);
            Eventually.throughout("it listens", Duration.ofSeconds(2), listening.listener::isListening);
        }
    }

    /** As where many shards begin at a time: each waits for a moment only. */
    @Test
    void listenerKeepsItsConnectionIfOneShardAfterAnotherGetsItsOwn() throws Exception {
        try (var listening = new Listening(real -> real)) {
            listening.listener.borrows();
            Eventually.throughout("it listens", Duration.ofSeconds(4), () -> {
                listening.listener.borrows();
                listening.listener.borrowed(true);
                return listening.listener.isListening();
            });
        }
    }

    /** Runs this when the database has answered whether it lives. */
    private static Connection answering(Connection real, Runnable answered) {
        return FaultyDatabase.proxy(Connection.class, (method, arguments) -> {
            var result = FaultyDatabase.call(real, method, arguments);
            if (!method.getName().equals("createStatement") || !(result instanceof Statement statement)) {
                return result;
            }
            return FaultyDatabase.proxy(Statement.class, (called, with) -> {
                var told = FaultyDatabase.call(statement, called, with);
                if (with != null && with[0].equals("SELECT 1")) {
                    answered.run();
                }
                return told;
            });
        });
    }

    @Test
    void listenerThatHangsInTheDriverListensAgain() throws Exception {
        try (var hanging = new Listening(WakeUpTest::hanging)) {
            Eventually.eventually(
                    "it listens again", Duration.ofSeconds(40), () -> hanging.listens() && hanging.opened.get() == 2);
        }
    }

    @Test
    void shardThatLacksAConnectionGetsTheOneOnWhichTheListenerHangs() throws Exception {
        try (var hanging = new Listening(WakeUpTest::hanging)) {
            Eventually.eventually("it is given back", Duration.ofSeconds(40), () -> {
                hanging.listener.borrows();
                hanging.listener.borrowed(false);
                return hanging.closed.get() == 1;
            });
        }
    }

    @Test
    void listenerThatHangsInTheDriverGivesItsConnectionBackWhenItEnds() throws Exception {
        try (var hanging = new Listening(WakeUpTest::hanging)) {
            hanging.listener.close();
            hanging.listener.join();
            Eventually.eventually("it is given back", Duration.ofSeconds(40), () -> hanging.closed.get() == 1);
        }
    }

    /** As where an executor is shut down: nobody breaks it off later. */
    @Test
    void listenerThatHangsGivesItsConnectionBackAlsoIfWhoEndsItIsInterrupted() throws Exception {
        try (var hanging = new Listening(WakeUpTest::hanging)) {
            hanging.listener.close();
            Thread.currentThread().interrupt();
            hanging.listener.join();
            assertThat(Thread.interrupted()).isTrue();
            Eventually.eventually("it is given back", Duration.ofSeconds(40), () -> hanging.closed.get() == 1);
        }
    }

    /** It is a thread that reads, or borrows, which breaks it off: that must not fail with that. */
    @Test
    void listenerWhosePoolCannotBreakItsConnectionOffHurtsNobodyElse() throws Exception {
        Lending pool = real -> {
            var hanging = hanging(real);
            return FaultyDatabase.proxy(Connection.class, (method, arguments) -> {
                var result = FaultyDatabase.call(hanging, method, arguments);
                if (method.getName().equals("abort")) {
                    throw new AbstractMethodError("pretended: the pool knows no abort");
                }
                return result;
            });
        };
        try (var hanging = new Listening(pool)) {
            Eventually.eventually(
                    "it listens again", Duration.ofSeconds(40), () -> hanging.listens() && hanging.opened.get() == 2);
        }
    }

    /** How the first connection of a listener is lent. */
    private interface Lending {
        Connection lent(Connection real) throws SQLException;
    }

    /** A listener that listens, and how many connections it has opened, and closed. */
    private static final class Listening implements AutoCloseable {
        private final AtomicInteger opened = new AtomicInteger();
        private final AtomicInteger closed = new AtomicInteger();
        private final Connection reading = server().connect();
        private final WakeUpSql sql;
        private final WakeUpListener listener;

        private Listening(Lending first) throws SQLException {
            var table = OutboxTable.named(Servers.fresh("listening"));
            OutboxSchema.create(reading, table);
            sql = new WakeUpSql(table);
            var config = RelayConfig.named("x").table(table).build();
            listener = new WakeUpListener(through(Servers.dataSource(server().uri()), first), config);
            listener.add(new ReadPace(config, 0, sql, listener, () -> {}, System::nanoTime), sql);
            Eventually.eventually("it listens", RelayStage.PATIENCE, this::listens);
        }

        private DataSource through(DataSource database, Lending first) {
            return FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var real = (Connection) Objects.requireNonNull(FaultyDatabase.call(database, method, arguments));
                var lent = opened.getAndIncrement() == 0 ? first.lent(real) : real;
                return FaultyDatabase.proxy(Connection.class, (called, with) -> {
                    if (called.getName().equals("close")) {
                        closed.incrementAndGet();
                    }
                    return FaultyDatabase.call(lent, called, with);
                });
            });
        }

        private boolean listens() {
            return WakeUpTest.listens(listener, reading, sql);
        }

        @Override
        public void close() throws SQLException {
            listener.close();
            listener.join();
            reading.close();
        }
    }

    /**
     * Returns a connection that tells of the first notification, and then of nothing until it is broken off: as where
     * the network falls silent within one, since the driver waits for the rest of it without a limit.
     */
    private static Connection hanging(Connection real) throws SQLException {
        var hangs = new AtomicBoolean();
        var broken = new CompletableFuture<Boolean>();
        var driver = real.unwrap(PGConnection.class);
        var hears = FaultyDatabase.proxy(PGConnection.class, (method, arguments) -> {
            if (hangs.get()) {
                broken.join();
                throw new SQLException("pretended: broken off", "08006");
            }
            var told = FaultyDatabase.call(driver, method, arguments);
            hangs.set(told instanceof PGNotification[] some && some.length > 0);
            return told;
        });
        return FaultyDatabase.proxy(Connection.class, (method, arguments) -> {
            if (method.getName().equals("abort")) {
                broken.complete(true);
            }
            return method.getName().equals("unwrap") ? hears : FaultyDatabase.call(real, method, arguments);
        });
    }

    /** Sends its probe, as a reader does. */
    private static boolean listens(WakeUpListener listener, Connection connection, WakeUpSql sql) {
        try {
            listener.probe(connection, sql);
            return listener.isListening();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static DataSource refusing(DataSource database, AtomicBoolean refusing) {
        return FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
            if (refusing.get()) {
                throw new SQLTransientConnectionException("planted");
            }
            return FaultyDatabase.call(database, method, arguments);
        });
    }

    /** Runs something just before the relay tries to become idle, once. */
    private static DataSource beforeIdle(DataSource database, AtomicReference<@Nullable Runnable> once) {
        return FaultyDatabase.of(database, new FaultyProducer.Fault() {
            @Override
            public void before(String called) {
                var what = called.equals("idle") ? once.getAndSet(null) : null;
                if (what != null) {
                    what.run();
                }
            }
        });
    }

    @Test
    void writerThatFoundTheRelayBusyIsOverAndSeenBeforeTheRelayWaits() throws Exception {
        var once = new AtomicReference<@Nullable Runnable>();
        try (var stage = stage();
                var reader = stage.reader(true)) {
            stage.relay(WakeUpTest::seldom, beforeIdle(stage.database, once), KafkaProducer::new);
            awaitIdle(stage);
            for (var round = 0; round < 3; round++) {
                // the relay has looked, and is about to become idle: this one notifies nobody
                var number = 2 * round + 1;
                once.set(() -> stashed(stage, number));
                stage.stash(Message.of(stage.topic, "k", Integer.toString(2 * round)));
                awaitRead(reader, Map.of("k", 2 * round + 2));
                awaitIdle(stage);
            }
        }
    }

    private static void stashed(RelayStage stage, int number) {
        try {
            stage.stash(Message.of(stage.topic, "k", Integer.toString(number)));
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Until the first shard's leader is idle again, writers notify nobody, and the others may sleep for long. */
    @Test
    void othersLookWhenTheLeaderOfTheFirstShardWasKilledWhileIdle() throws Exception {
        var once = new AtomicReference<@Nullable Runnable>();
        try (var stage = stage();
                var reader = stage.reader(true)) {
            var key = keyOfSecondOfTwoShards(stage);
            stage.relay(more -> seldom(more).shards(2), beforeIdle(stage.database, once), KafkaProducer::new);
            awaitIdle(stage);
            stage.stash(Message.of(stage.topic, key, "0"));
            awaitRead(reader, Map.of(key, 1));
            awaitIdle(stage);
            once.set(() -> {
                try {
                    stage.stash(Message.of(stage.topic, key, "1"));
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            stage.number("SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory'"
                    + " AND mode = 'ExclusiveLock' AND classid = '" + stage.table.name() + "'::regclass");
            awaitRead(reader, Map.of(key, 2));
        }
    }

    private static String keyOfSecondOfTwoShards(RelayStage stage) throws SQLException {
        try (var connection = stage.connect()) {
            connection.setAutoCommit(false);
            var store = Store.of(connection, stage.table);
            for (var number = 0; ; number++) {
                Outbox.of(stage.table).stash(connection, Message.of(stage.topic, "k" + number, "0"));
                var mine = store.ids(connection, 0, Long.MAX_VALUE, 10, 1, 2).length > 0;
                connection.rollback();
                if (mine) {
                    return "k" + number;
                }
            }
        }
    }

    @Test
    void relayDoesNotBecomeIdleWhileAWriterIsOpenThatFoundItBusy() throws Exception {
        var once = new AtomicReference<@Nullable Runnable>();
        try (var stage = stage();
                var reader = stage.reader(true);
                var slow = stage.connect()) {
            slow.setAutoCommit(false);
            stage.relay(WakeUpTest::seldom, beforeIdle(stage.database, once), KafkaProducer::new);
            awaitIdle(stage);
            var begun = new AtomicBoolean();
            once.set(() -> {
                try {
                    Outbox.of(stage.table).stash(slow, Message.of(stage.topic, "slow", "0"));
                    begun.set(true);
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            stage.stash(Message.of(stage.topic, "k", "0"));
            Eventually.eventually("it has begun", RelayStage.PATIENCE, begun::get);
            Eventually.throughout("it is not idle", Duration.ofSeconds(1), () -> !isIdle(stage));
            slow.commit();
            awaitRead(reader, Map.of("k", 1, "slow", 1));
            awaitIdle(stage);
        }
    }

    @Test
    void noMessageIsLeftLyingWheneverItComes() throws Exception {
        var random = new Random(System.nanoTime());
        try (var stage = stage();
                var reader = stage.reader(true)) {
            stage.relay(WakeUpTest::seldom);
            awaitIdle(stage);
            for (var round = 0; round < 150; round++) {
                // about as long as the relay takes to become idle again
                LockSupport.parkNanos(random.nextInt(40_000_000));
                stage.stash(Message.of(stage.topic, "k", Integer.toString(round)));
                awaitRead(reader, Map.of("k", round + 1));
            }
        }
    }

    @Test
    void nobodyIsNotifiedWhileNoRelayIsIdle() throws Exception {
        try (var stage = stage();
                var hearing = stage.connect()) {
            try (var statement = hearing.createStatement()) {
                statement.execute("LISTEN bellwether_outbox_"
                        + stage.number("SELECT '" + stage.table.name() + "'::regclass::oid"));
            }
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.stash(Writers.numbered(stage.topic, "k", 1, 5));
            assertThat(heard(hearing)).isZero();
            var relay = stage.relay(WakeUpTest::seldom);
            awaitIdle(stage);
            var before = heard(hearing); // its probe
            stage.stash(Message.of(stage.topic, "k", "5"));
            stage.awaitEmpty();
            assertThat(before + heard(hearing)).isGreaterThan(before);
            awaitIdle(stage);
            relay.close();
            Eventually.eventually("its lock goes with it", RelayStage.PATIENCE, () -> !isIdle(stage));
        }
    }

    private static int heard(Connection hearing) throws SQLException {
        try (var statement = hearing.createStatement()) {
            statement.execute("SELECT 1"); // what was sent comes with the answer
        }
        var all = hearing.unwrap(PGConnection.class).getNotifications();
        return all == null ? 0 : all.length;
    }

    @Test
    void transactionsThatArePreparedWakeNobodyUnlessTold() throws Exception {
        var shared = Servers.dataSource(PostgresServer.shared().uri());
        try (var stage = new RelayStage(shared, OutboxTable.Layout.BELLWETHER);
                var reader = stage.reader(true);
                var connection = stage.connect();
                var statement = connection.createStatement()) {
            stage.relay(WakeUpTest::seldom);
            awaitIdle(stage);
            connection.setAutoCommit(false);
            var outbox = Outbox.of(stage.table);
            outbox.withWakeUp(true).stash(connection, Message.of(stage.topic, "k", "0"));
            assertThatThrownBy(() -> statement.execute("PREPARE TRANSACTION '" + stage.name + "'"))
                    .hasMessageContaining("NOTIFY");
            connection.rollback();
            for (var quiet : List.of(outbox, outbox.withWakeUp(false))) {
                quiet.stash(connection, Message.of(stage.topic, "k", "0"));
                statement.execute("PREPARE TRANSACTION '" + stage.name + "'");
                stage.execute("ROLLBACK PREPARED '" + stage.name + "'");
            }
            outbox.withWakeUp(true).stash(connection, Message.of(stage.topic, "k", "0"));
            connection.commit();
            awaitRead(reader, Map.of("k", 1));
        }
    }

    @Test
    void rowsThatNobodyAnnouncesMakeTheRelayLookOften() throws Exception {
        var looks = new AtomicInteger();
        var counting = new FaultyProducer.Fault() {
            @Override
            public void before(String called) {
                if (called.equals("read")) {
                    looks.incrementAndGet();
                }
            }
        };
        try (var stage = stage();
                var reader = stage.reader(true)) {
            stage.relay(
                    more -> more.maxPoll(Duration.ofMillis(20)),
                    FaultyDatabase.of(stage.database, counting),
                    KafkaProducer::new);
            awaitIdle(stage);
            stage.stash(Message.of(stage.topic, "k", "0"));
            awaitRead(reader, Map.of("k", 1));
            Eventually.eventually(
                    "no ids are missing any more",
                    RelayStage.PATIENCE,
                    () -> stage.number("SELECT low FROM " + stage.table.relay() + " WHERE shard = 0") >= 1);
            awaitIdle(stage);
            var before = looks.get();
            Eventually.throughout(
                    "it looks about once a second", Duration.ofSeconds(2), () -> looks.get() - before <= 5);
            stage.execute(plainInsert(stage, 1));
            awaitRead(reader, Map.of("k", 2));
            var after = looks.get();
            // at one a second, it would take four minutes
            Eventually.eventually("it looks often", RelayStage.PATIENCE, () -> looks.get() - after > 250);
        }
    }

    @Test
    void relayThatIsToldNotToListenLooks() throws Exception {
        try (var stage = stage();
                var reader = stage.reader(true)) {
            stage.relay(more -> more.wakeUp(false));
            stage.stash(Message.of(stage.topic, "k", "0"));
            awaitRead(reader, Map.of("k", 1));
            Eventually.throughout(
                    "it is not idle, and does not listen",
                    Duration.ofSeconds(1),
                    () -> !isIdle(stage) && listening(stage) == 0);
        }
    }

    @Test
    void shardThatLacksAConnectionGetsTheOneThatListens() throws Exception {
        var most = new AtomicInteger(5);
        try (var stage = stage();
                var reader = stage.reader(true)) {
            stage.relay(
                    more -> more.shards(2).maxPoll(Duration.ofMillis(20)),
                    limited(stage.database, most),
                    KafkaProducer::new);
            awaitIdle(stage);
            stage.stash(numbered(stage, 0));
            awaitRead(reader, counts(1));
            awaitIdle(stage);
            most.set(4);
            stage.number("SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory'"
                    + " AND mode = 'ExclusiveLock' AND classid = '" + stage.table.name() + "'::regclass");
            stage.await(RelayEvent.Faulted.class);
            stage.stash(numbered(stage, 1));
            awaitRead(reader, counts(2));
            assertThat(isIdle(stage)).isFalse();
        }
    }

    /** Returns a message of each of twenty keys, enough for each shard to get some. */
    private static List<Message> numbered(RelayStage stage, int number) {
        var messages = new ArrayList<Message>();
        for (var key = 0; key < 20; key++) {
            messages.add(Message.of(stage.topic, "k" + key, Integer.toString(number)));
        }
        return messages;
    }

    private static Map<String, Integer> counts(int count) {
        var counts = new HashMap<String, Integer>();
        for (var key = 0; key < 20; key++) {
            counts.put("k" + key, count);
        }
        return counts;
    }

    /** Has so many connections at a time, and refuses more. */
    private static DataSource limited(DataSource database, AtomicInteger most) {
        var open = new AtomicInteger();
        return FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
            if (open.incrementAndGet() > most.get()) {
                open.decrementAndGet();
                throw new SQLTransientConnectionException("none left");
            }
            var connection = (Connection) Objects.requireNonNull(FaultyDatabase.call(database, method, arguments));
            var closed = new AtomicBoolean();
            return FaultyDatabase.proxy(Connection.class, (called, with) -> {
                // by abort alone no pool gets it back
                if (called.getName().equals("close") && closed.compareAndSet(false, true)) {
                    open.decrementAndGet();
                }
                return FaultyDatabase.call(connection, called, with);
            });
        });
    }

    @Test
    void poolerThatSharesSessionsIsNotListenedThrough() throws Exception {
        try (var bouncer = PgBouncer.before(
                        server(), Mode.TRANSACTION, "default_pool_size = 5", "max_prepared_statements = 200");
                var stage = stage();
                var reader = stage.reader(true)) {
            stage.relay(
                    more -> more.maxPoll(Duration.ofMillis(20)), Servers.dataSource(bouncer.uri()), KafkaProducer::new);
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            awaitRead(reader, Map.of("k", 10));
            Eventually.throughout("it is not idle", Duration.ofSeconds(4), () -> !isIdle(stage));
            stage.stash(Writers.numbered(stage.topic, "k", 10, 20));
            awaitRead(reader, Map.of("k", 20));
        }
    }

    @Test
    void poolerThatPoolsSessionsIs() throws Exception {
        try (var bouncer = PgBouncer.before(server(), Mode.SESSION);
                var stage = stage();
                var reader = stage.reader(true)) {
            stage.relay(WakeUpTest::seldom, Servers.dataSource(bouncer.uri()), KafkaProducer::new);
            awaitIdle(stage);
            stage.stash(Message.of(stage.topic, "k", "0"));
            awaitRead(reader, Map.of("k", 1));
        }
    }

    @Test
    void whereThereIsNoNotifyTheTriggerIsRefused() throws Exception {
        var mariaDb = MysqlFamilyServer.shared(MysqlFamilyServer.Kind.MARIADB);
        try (var connection = Servers.dataSource(mariaDb.uri()).getConnection()) {
            assertThatThrownBy(() -> OutboxSchema.wakeUpTrigger(connection, OutboxTable.named("outbox")))
                    .hasMessageContaining("MariaDB has nothing like NOTIFY");
        }
    }
}
