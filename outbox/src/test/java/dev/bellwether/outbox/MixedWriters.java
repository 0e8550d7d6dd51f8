package dev.bellwether.outbox;

import static dev.bellwether.fixtures.Sql.execute;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;

/**
 * Applications of all kinds that write at once: transactions that last from nothing to seconds, roll back, go back to
 * savepoints, insert many rows by one statement, insert slowly, burn ids by the hundred, or are prepared and committed
 * later. Each locks its keys before it draws an id. Thread-safe.
 */
final class MixedWriters implements AutoCloseable {
    private static final int MOST_BURNT = 300;

    private final DataSource database;
    private final OutboxTable table;
    private final String topic;
    private final int keys;
    private final String counters;
    private final boolean postgres;
    private final long seed;
    private final ExecutorService pool = Executors.newCachedThreadPool();
    private final List<Future<Long>> running = new ArrayList<>();
    private final AtomicInteger serial = new AtomicInteger();
    private final Set<String> unexpected = ConcurrentHashMap.newKeySet();
    private volatile boolean stopped;

    MixedWriters(DataSource database, OutboxTable table, String topic, int keys, long seed) throws SQLException {
        this.database = database;
        this.table = table;
        this.topic = topic;
        this.keys = keys;
        this.seed = seed;
        counters = table.name() + "_counters";
        try (var connection = database.getConnection();
                var statement = connection.createStatement()) {
            postgres = connection.getMetaData().getDatabaseProductName().equals("PostgreSQL");
            statement.execute("CREATE TABLE " + counters + " (k varchar(20) PRIMARY KEY, n integer NOT NULL)");
            for (var key = 0; key < keys; key++) {
                statement.execute("INSERT INTO " + counters + " VALUES ('k" + key + "', 0)");
            }
        }
    }

    /** Lets so many begin, each with a connection of its own. */
    MixedWriters begin(int writers) {
        for (var writer = 0; writer < writers; writer++) {
            var random = new Random(seed * 1_000 + writer);
            Callable<Long> work = () -> writer(random);
            running.add(pool.submit(work));
        }
        return this;
    }

    /** Lets what is begun end, and returns how many numbers each key has got. */
    Map<String, Integer> end() throws InterruptedException, SQLException {
        stopped = true;
        for (var one : running) {
            try {
                one.get();
            } catch (ExecutionException e) {
                throw new AssertionError("a writer of seed " + seed + " failed", e.getCause());
            }
        }
        try (var connection = database.getConnection();
                var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT k, n FROM " + counters)) {
            var written = new TreeMap<String, Integer>();
            while (result.next()) {
                if (result.getInt(2) > 0) {
                    written.put(result.getString(1), result.getInt(2));
                }
            }
            return written;
        }
    }

    private long writer(Random random) throws SQLException {
        var transactions = 0L;
        Connection connection = null;
        while (!stopped) {
            try {
                if (connection == null) {
                    connection = database.getConnection();
                    connection.setAutoCommit(false);
                }
                transaction(connection, random);
                transactions++;
                pause(random, 5);
            } catch (SQLException e) {
                // a deadlock, or the database was away: what is not committed is not counted
                expect(e);
                discard(connection);
                connection = null;
                pause(random, 50);
            }
        }
        discard(connection);
        return transactions;
    }

    /**
     * Deadlocks are what writers who take several locks must live with; anything else would be a fault of this test.
     */
    private void expect(SQLException e) {
        if (!String.valueOf(e.getSQLState()).startsWith("40")) {
            unexpected.add(e.getSQLState() + ": " + e.getMessage());
        }
    }

    /** Returns what failed otherwise than by a deadlock. */
    Set<String> unexpected() {
        return unexpected;
    }

    private static void discard(@org.jspecify.annotations.Nullable Connection connection) {
        if (connection != null) {
            try {
                connection.close(); // which rolls back
            } catch (SQLException e) {
                stillBroken(e);
            }
        }
    }

    private static void stillBroken(SQLException e) {
        if (e.getMessage() == null) {
            throw new IllegalStateException(e);
        }
    }

    private void transaction(Connection connection, Random random) throws SQLException {
        if (random.nextInt(40) == 0) {
            burn(connection, random);
            return;
        }
        var prepared = random.nextInt(60) == 0
                ? "x" + ProcessHandle.current().pid() + "_" + seed + "_" + serial.getAndIncrement()
                : "";
        if (!prepared.isEmpty() && !postgres) {
            execute(connection, "COMMIT");
            execute(connection, "XA START '" + prepared + "'");
        }
        var chosen =
                random.ints(1 + random.nextInt(3), 0, keys).sorted().distinct().toArray();
        var numbers = new TreeMap<Integer, Integer>();
        for (var key : chosen) {
            numbers.put(key, lock(connection, key));
        }
        var rounds = 1 + random.nextInt(3);
        for (var round = 0; round < rounds; round++) {
            round(connection, random, numbers);
            hold(random);
        }
        for (var entry : numbers.entrySet()) {
            execute(
                    connection,
                    "UPDATE " + counters + " SET n = " + entry.getValue() + " WHERE k = 'k" + entry.getKey() + "'");
        }
        end(connection, random, prepared);
    }

    private void end(Connection connection, Random random, String prepared) throws SQLException {
        var commits = random.nextInt(7) != 0;
        if (prepared.isEmpty()) {
            execute(connection, commits ? "COMMIT" : "ROLLBACK");
            return;
        }
        if (postgres) {
            execute(connection, "PREPARE TRANSACTION '" + prepared + "'");
            hold(random);
            connection.rollback(); // of nothing: the driver must not think that it is in a transaction
            connection.setAutoCommit(true);
            execute(connection, (commits ? "COMMIT" : "ROLLBACK") + " PREPARED '" + prepared + "'");
            connection.setAutoCommit(false);
            return;
        }
        execute(connection, "XA END '" + prepared + "'");
        execute(connection, "XA PREPARE '" + prepared + "'");
        hold(random);
        execute(connection, (commits ? "XA COMMIT '" : "XA ROLLBACK '") + prepared + "'");
    }

    /** Inserts the next numbers of the keys, one way or another. */
    private void round(Connection connection, Random random, Map<Integer, Integer> numbers) throws SQLException {
        switch (random.nextInt(5)) {
            case 0 -> {
                execute(connection, "SAVEPOINT here");
                insert(connection, random, new TreeMap<>(numbers), false); // which burns ids
                hold(random);
                execute(connection, "ROLLBACK TO SAVEPOINT here");
                insert(connection, random, numbers, false);
            }
            case 1 -> insert(connection, random, numbers, true);
            case 2 -> {
                insert(connection, random, numbers, true);
                insert(connection, random, numbers, false);
            }
            default -> insert(connection, random, numbers, false);
        }
    }

    /** Inserts one or more numbers for each key, by one statement. */
    private void insert(Connection connection, Random random, Map<Integer, Integer> numbers, boolean slowly)
            throws SQLException {
        var rows = new ArrayList<String>();
        for (var entry : numbers.entrySet()) {
            for (var more = 1 + random.nextInt(3); more > 0; more--) {
                rows.add("SELECT '" + topic + "' AS t, 'k" + entry.getKey() + "' AS k, '" + entry.getValue() + " "
                        + "x".repeat(random.nextInt(100)) + "' AS v");
                entry.setValue(entry.getValue() + 1);
            }
        }
        var pause = slowly && random.nextInt(4) == 0 ? (postgres ? "pg_sleep(0.01)" : "sleep(0.01)") : "";
        var values = postgres ? "convert_to(r.k, 'UTF8'), convert_to(r.v, 'UTF8')" : "r.k, r.v";
        execute(
                connection,
                "INSERT INTO " + table.name() + " (topic, record_key, record_value) SELECT r.t, " + values + " FROM ("
                        + String.join(" UNION ALL ", rows) + ") AS r"
                        + (pause.isEmpty() ? "" : " WHERE " + (postgres ? pause + " IS NOT NULL" : pause + " = 0")));
    }

    private void burn(Connection connection, Random random) throws SQLException {
        var rows = 1 + random.nextInt(MOST_BURNT);
        var insert = new StringBuilder("INSERT INTO " + table.name() + " (topic, record_key) VALUES ");
        for (var row = 0; row < rows; row++) {
            insert.append(row == 0 ? "" : ", ").append("('").append(topic).append("', NULL)");
        }
        execute(connection, insert.toString());
        execute(connection, "ROLLBACK");
    }

    private int lock(Connection connection, int key) throws SQLException {
        try (var statement = connection.createStatement();
                var result =
                        statement.executeQuery("SELECT n FROM " + counters + " WHERE k = 'k" + key + "' FOR UPDATE")) {
            result.next();
            return result.getInt(1);
        }
    }

    /** Mostly not at all; sometimes for long. */
    private static void hold(Random random) {
        var kind = random.nextInt(20);
        if (kind == 0) {
            pause(random, 1_500);
        } else if (kind < 4) {
            pause(random, 200);
        } else if (kind < 8) {
            pause(random, 20);
        }
    }

    private static void pause(Random random, int mostMillis) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(mostMillis)));
    }

    @Override
    public void close() {
        stopped = true;
        pool.shutdownNow();
    }
}
