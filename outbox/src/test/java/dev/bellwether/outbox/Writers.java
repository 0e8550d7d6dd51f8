package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/**
 * Applications that write: each transaction takes the lock of its keys, then writes their next numbers, and commits
 * after a while or rolls back. So ids of different keys commit in any order, and those of one key in theirs.
 */
final class Writers {
    private final DataSource database;
    private final OutboxTable table;
    private final String topic;
    private final int keys;
    private final String counters;
    private final AtomicInteger begun = new AtomicInteger();
    private volatile long pauseMillis;
    private final AtomicBoolean stop = new AtomicBoolean();

    Writers(DataSource database, OutboxTable table, String topic, int keys) throws SQLException {
        this.database = database;
        this.table = table;
        this.topic = topic;
        this.keys = keys;
        counters = table.name() + "_counters";
        try (var connection = database.getConnection();
                var statement = connection.createStatement()) {
            statement.execute("CREATE TABLE " + counters + " (k varchar(20) PRIMARY KEY, n integer NOT NULL)");
            for (var key = 0; key < keys; key++) {
                statement.execute("INSERT INTO " + counters + " VALUES ('k" + key + "', 0)");
            }
        }
    }

    /** Lets each writer wait so long after each transaction. */
    Writers pausing(long millis) {
        pauseMillis = millis;
        return this;
    }

    void stop() {
        stop.set(true);
    }

    /** Writes so many transactions with so many threads, and returns how many numbers each key has got by then. */
    Map<String, Integer> write(int threads, int transactions, long seed) throws Exception {
        var pool = Executors.newFixedThreadPool(threads);
        try {
            var work = new ArrayList<Callable<Boolean>>();
            for (var thread = 0; thread < threads; thread++) {
                var random = new Random(seed * 31 + thread);
                work.add(() -> writer(random, transactions));
            }
            for (var done : pool.invokeAll(work)) {
                done.get();
            }
        } finally {
            pool.shutdownNow();
            pool.awaitTermination(10, TimeUnit.SECONDS);
        }
        return written();
    }

    /**
     * Begins to {@link #write}; not in the common pool, which has one thread on two processors, and other things to
     * wait for.
     */
    CompletableFuture<Map<String, Integer>> begin(int threads, int transactions, long seed) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return write(threads, transactions, seed);
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                },
                task -> new Thread(task, "writers").start());
    }

    private boolean writer(Random random, int transactions) throws InterruptedException {
        Connection connection = null;
        while (!stop.get() && begun.getAndIncrement() < transactions) {
            try {
                if (connection == null) {
                    connection = database.getConnection();
                    connection.setAutoCommit(false);
                }
                transaction(connection, random);
                TimeUnit.MILLISECONDS.sleep(pauseMillis);
            } catch (SQLException e) {
                connection = null; // the database was killed under us: what is not committed is not counted
                begun.decrementAndGet();
                TimeUnit.MILLISECONDS.sleep(20);
            }
        }
        if (connection != null) {
            try {
                connection.close();
            } catch (SQLException e) {
                return false;
            }
        }
        return true;
    }

    private void transaction(Connection connection, Random random) throws SQLException, InterruptedException {
        var messages = new ArrayList<Message>();
        var chosen =
                random.ints(1 + random.nextInt(3), 0, keys).sorted().distinct().toArray();
        for (var key : chosen) {
            var number = next(connection, key);
            messages.add(Message.of(topic, "k" + key, number + " " + "x".repeat(random.nextInt(200))));
        }
        Outbox.of(table).stash(connection, messages);
        if (random.nextInt(4) == 0) {
            TimeUnit.MILLISECONDS.sleep(random.nextInt(20)); // others overtake us
        }
        if (random.nextInt(10) == 0) {
            connection.rollback();
        } else {
            connection.commit();
        }
    }

    private int next(Connection connection, int key) throws SQLException {
        try (var select = connection.prepareStatement("SELECT n FROM " + counters + " WHERE k = ? FOR UPDATE");
                var update = connection.prepareStatement("UPDATE " + counters + " SET n = n + 1 WHERE k = ?")) {
            select.setString(1, "k" + key);
            int number;
            try (var result = select.executeQuery()) {
                result.next();
                number = result.getInt(1);
            }
            update.setString(1, "k" + key);
            update.executeUpdate();
            return number;
        }
    }

    /** Returns how many numbers each key has got. */
    Map<String, Integer> written() throws SQLException {
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

    static List<Message> numbered(String topic, String key, int from, int to) {
        var messages = new ArrayList<Message>();
        for (var number = from; number < to; number++) {
            messages.add(Message.of(topic, key, Integer.toString(number)));
        }
        return messages;
    }
}
