package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.testkit.Never;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A snapshot of MariaDB may show a row without the one of its key that was committed before: a read shows both. */
@Isolated("it loads both processors, so that snapshots take long")
class MariaDbSnapshotTest {
    private static final int KEYS = 10;
    private static final int WRITERS = 4;
    private static final int OPEN = 800;
    private static final Duration LONG = Duration.ofSeconds(Long.getLong("bellwether.snapshots.seconds", 15));
    private static final int LIMIT = 1_000;
    private static final OutboxTable TABLE = OutboxTable.named("outbox");

    @Test
    void aRowThatWasNotShownComesBeforeTheNextOfItsKeyThatWas() throws Exception {
        try (var server = MysqlFamilyServer.start(Kind.MARIADB);
                var connection = DriverManager.getConnection(server.uri())) {
            OutboxSchema.create(connection, TABLE);
            for (var key : List.of("a", "b", "a", "c", "a", "b")) { // ids 1 to 6
                Outbox.of(TABLE).stash(connection, Message.of("t", key, key));
            }
            var store = (MysqlStore) Store.of(connection, TABLE);
            var gaps = store.gaps();
            gaps.noticed(1, 1);
            var wanted = new Store.Wanted(2, LIMIT, 1_000, 0, 1);
            var whole = store.read(connection, wanted, gaps);
            assertThat(ids(whole.late())).containsExactly(1L);
            assertThat(ids(whole.hot())).containsExactly(3L, 4L, 5L, 6L);

            var fifth = whole.hot().get(2);
            var completed = store.completed(connection, wanted, gaps, new Store.Found(List.of(), List.of(fifth)));
            assertThat(ids(completed.orElseThrow().late())).as("of the gap").containsExactly(1L);
            assertThat(ids(completed.orElseThrow().hot()))
                    .as("of the same key, and no other")
                    .containsExactly(3L, 5L);
            var few = new Store.Wanted(2, 1, 1_000, 0, 1);
            assertThat(store.completed(connection, few, gaps, new Store.Found(List.of(), List.of(fifth))))
                    .as("too many: all is read again")
                    .isEmpty();
            assertThat(ids(store.read(connection, few, gaps).late()))
                    .as("what is late comes first")
                    .containsExactly(1L);
        }
    }

    /** MySQL is here because one statement is all that a read of it takes. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    @Tag("full") // on the code as it was, 2 reads of 4,600 had one on MariaDB
    void noReadHasAHoleInAKeyBesideManyOpenTransactions(Kind kind) throws Exception {
        var stop = new AtomicBoolean();
        try (var server = MysqlFamilyServer.start(kind);
                var connection = DriverManager.getConnection(server.uri())) {
            OutboxSchema.create(connection, TABLE);
            try (var statement = connection.createStatement()) {
                statement.execute("SET GLOBAL max_connections = " + (OPEN + 50));
                statement.execute("CREATE TABLE other (n integer)");
                statement.execute("CREATE TABLE counters (k integer PRIMARY KEY, n integer NOT NULL)");
                for (var key = 0; key < KEYS; key++) {
                    statement.execute("INSERT INTO counters VALUES (" + key + ", 0)");
                }
            }
            var work = new ArrayList<Callable<Boolean>>();
            for (var i = 0; i < WRITERS; i++) {
                var random = new Random(i);
                work.add(() -> write(server, random, stop));
            }
            besideManyOpen(server, work, stop, () -> read(kind, connection));
        }
    }

    /**
     * Why one read is enough to close a gap, although a snapshot does not follow the order of the commits. With the
     * cache of queries, too: it keeps what was read until the transaction that writes has told it.
     */
    @ParameterizedTest
    @CsvSource({"MARIADB, 0", "MARIADB, 1", "MARIADB_SCHEMA, 0", "MYSQL, 0"})
    @Tag("full")
    void readThatBeginsWhenTheLockIsGoneShowsWhatItsHolderHasCommitted(Kind kind, int cache) throws Exception {
        var stop = new AtomicBoolean();
        var options = cache == 1 ? new String[] {"--query-cache-type=1", "--query-cache-size=16M"} : new String[0];
        try (var server = MysqlFamilyServer.start(kind, options);
                var reading = server.connect();
                var deleting = server.connect()) {
            OutboxSchema.create(reading, TABLE);
            try (var statement = reading.createStatement()) {
                statement.execute("SET GLOBAL max_connections = " + (OPEN + 50));
                statement.execute("CREATE TABLE other (n integer)");
            }
            var drawn = new LinkedBlockingQueue<Long>();
            var rolledBack = ConcurrentHashMap.<Long>newKeySet();
            var work = new ArrayList<Callable<Boolean>>();
            for (var i = 0; i < WRITERS; i++) {
                var random = new Random(i);
                work.add(() -> draw(server, random, drawn, rolledBack, stop));
            }
            besideManyOpen(server, work, stop, () -> close(kind, cache, reading, deleting, drawn, rolledBack));
        }
    }

    private static void close(
            Kind kind,
            int cache,
            Connection reading,
            Connection deleting,
            BlockingQueue<Long> drawn,
            Set<Long> rolledBack)
            throws SQLException {
        var store = (MysqlStore) Store.of(reading, TABLE);
        store.prepare(reading, false);
        var locks = store.openWriters(reading, deleting);
        var gaps = store.gaps();
        var open = new HashSet<Long>();
        var shown = 0;
        var without = 0;
        var missed = new ArrayList<Long>();
        var end = System.nanoTime() + LONG.toNanos();
        while (System.nanoTime() - end < 0) {
            var now = new ArrayList<Long>();
            drawn.drainTo(now);
            now.forEach(id -> gaps.noticed(id, id));
            open.addAll(now);
            locks.look().ifPresent(gaps::holders);
            var closing = gaps.closing();
            var late = store.shown(reading, new Store.Wanted(Long.MAX_VALUE, LIMIT, 1_000, 0, 1), gaps)
                    .late();
            for (var row : late) {
                gaps.filled(row.id());
                open.remove(row.id());
                shown++;
            }
            gaps.closed(closing);
            var closed = open.stream().filter(id -> !gaps.contains(id)).toList();
            without += closed.size();
            closed.stream().filter(id -> !rolledBack.contains(id)).forEach(missed::add);
            closed.forEach(open::remove);
        }
        System.out.println(kind + (cache == 1 ? " with its cache" : "") + ": " + shown + " ids with a row, " + without
                + " without, " + missed.size() + " of those not rolled back");
        assertThat(shown).isGreaterThan(100);
        assertThat(without).isGreaterThan(10);
        assertThat(missed)
                .as(Never.mark("rows that a read has missed which began when the lock was gone"))
                .isEmpty();
    }

    /** Draws an id, says which, and commits or rolls back. */
    private static boolean draw(
            MysqlFamilyServer server,
            Random random,
            BlockingQueue<Long> drawn,
            Set<Long> rolledBack,
            AtomicBoolean stop)
            throws SQLException {
        try (var connection = server.connect();
                var statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            while (!stop.get()) {
                Outbox.of(TABLE).stash(connection, Message.of("t", "k", "v"));
                try (var result = statement.executeQuery("SELECT last_insert_id()")) {
                    result.next();
                    var id = result.getLong(1);
                    if (random.nextInt(5) == 0) {
                        rolledBack.add(id);
                        drawn.add(id);
                        connection.rollback();
                    } else {
                        drawn.add(id);
                        connection.commit();
                    }
                }
                LockSupport.parkNanos(random.nextInt(3_000_000));
            }
        }
        return true;
    }

    private interface Part {
        void run() throws SQLException;
    }

    /** Runs it while work goes on, beside open transactions that make each snapshot long. */
    private static void besideManyOpen(
            MysqlFamilyServer server, List<Callable<Boolean>> work, AtomicBoolean stop, Part part) throws Exception {
        var pool = Executors.newCachedThreadPool();
        var open = new ArrayList<Connection>();
        try {
            for (var i = 0; i < OPEN; i++) {
                var one = server.connect();
                one.setAutoCommit(false);
                try (var statement = one.createStatement()) {
                    statement.execute("INSERT INTO other VALUES (1)");
                }
                open.add(one);
            }
            var running = Stream.concat(
                            work.stream(),
                            Stream.generate(() -> (Callable<Boolean>) () -> burn(stop))
                                    .limit(WRITERS))
                    .map(pool::submit)
                    .toList();
            part.run();
            stop.set(true);
            for (var one : running) {
                one.get();
            }
        } finally {
            stop.set(true);
            pool.shutdownNow();
            for (var one : open) {
                one.close();
            }
        }
    }

    /** Reads on and on, the same rows many times, and looks for holes. */
    private static void read(Kind kind, Connection connection) throws SQLException {
        var store = (MysqlStore) Store.of(connection, TABLE);
        store.prepare(connection, false);
        var cursor = 0L;
        var reads = 0;
        var shown = 0; // by one statement
        var holes = 0;
        var end = System.nanoTime() + LONG.toNanos();
        while (System.nanoTime() - end < 0) {
            var wanted = new Store.Wanted(cursor, LIMIT, 1_000, 0, 1);
            shown += holes(store.shown(connection, wanted, store.gaps()).hot());
            var found = store.read(connection, wanted, store.gaps());
            reads++;
            holes += holes(found.hot());
            if (found.hot().size() > LIMIT / 2) {
                cursor = found.hot().get(found.hot().size() / 2).id();
            }
        }
        System.out.println(
                kind + ": " + reads + " reads, " + holes + " with a hole; of as many statements alone " + shown);
        assertThat(reads).isGreaterThan(100);
        assertThat(holes)
                .as(Never.mark("reads that show a row without the one before it"))
                .isZero();
    }

    private static int holes(List<Row> rows) {
        Map<String, Integer> last = new HashMap<>();
        for (var row : rows) {
            var number = Integer.parseInt(new String(row.value(), StandardCharsets.UTF_8));
            var before = last.put(row.topic() + new String(row.key(), StandardCharsets.UTF_8), number);
            if (before != null && number != before + 1) {
                return 1;
            }
        }
        return 0;
    }

    private static boolean write(MysqlFamilyServer server, Random random, AtomicBoolean stop) throws SQLException {
        try (var connection = DriverManager.getConnection(server.uri());
                var statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            while (!stop.get()) {
                var messages = new ArrayList<Message>();
                for (var key : random.ints(1 + random.nextInt(3), 0, KEYS)
                        .sorted()
                        .distinct()
                        .toArray()) {
                    try (var result =
                            statement.executeQuery("SELECT n FROM counters WHERE k = " + key + " FOR UPDATE")) {
                        result.next();
                        messages.add(Message.of("t", "k" + key, result.getString(1)));
                    }
                    statement.execute("UPDATE counters SET n = n + 1 WHERE k = " + key);
                }
                Outbox.of(TABLE).stash(connection, messages);
                connection.commit();
            }
        }
        return true;
    }

    private static boolean burn(AtomicBoolean stop) {
        var sum = 0L;
        while (!stop.get()) {
            sum += System.nanoTime();
        }
        return sum != 0;
    }

    private static List<Long> ids(List<Row> rows) {
        return Stream.of(rows).flatMap(List::stream).map(Row::id).toList();
    }
}
