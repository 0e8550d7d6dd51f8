package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/** Publishes again what a rotated table has kept. Confined to a thread. */
final class Republisher {
    /*
     * Into the same topics: what was published is taken out of the runs, from an id on, in one transaction that has
     * raised all epochs, and the low marks are set back before it. So who leads next reads these rows as it reads any
     * that were never published: in their order, behind the same fences, each with its event id, and those that are
     * written meanwhile behind them. A key's rows from some id on are the end of what consumers have seen of it, so
     * they see a rewind, and the newest last. That holds only if none of them is missing: so each id that is written
     * down from there on must still have its row, and no part may be emptied until this is committed.
     *
     * A part that is emptied leaves its last id written down (RotatedStore.empty), so that this is noticed.
     */
    private static final int PAGE = 500;
    /** A page has no more bytes, unless it is one row. */
    private static final long PAGE_BYTES = 16 << 20;
    /** Rows with more bytes are fetched one by one. */
    private static final long INLINE = PAGE_BYTES / PAGE;

    private static final int RUNS_AT_ONCE = 10_000;

    private final Connection connection;
    private final RotatedStore store;
    private final Replay which;
    private final OutboxTable table;

    Republisher(Connection connection, RotatedStore store, Replay which) {
        this.connection = connection;
        this.store = store;
        this.which = which;
        table = store.table;
    }

    /** Where published rows go that are read here. */
    interface Destination {
        void send(List<Row> rows);
    }

    /** Keeps all that is there, until the transaction ends. It may wait, so take it before what others wait for. */
    void keep() throws SQLException {
        // to empty a part takes a stronger lock, and a look behind it; to insert a weaker one
        execute("LOCK TABLE " + table.name() + " IN SHARE UPDATE EXCLUSIVE MODE");
    }

    /**
     * Takes them out of what is written down as published, and returns how many there are; in a transaction that
     * {@linkplain #keep keeps} them, and in which nobody else writes anything down.
     *
     * @throws IllegalStateException if some of them are not there any more
     */
    long unpublish() throws SQLException {
        var from = from();
        var there = requireKept(from);
        var before = startOfRun(from);
        var others = ofOtherTopics(from);
        var kept = Arrays.copyOf(before, before.length + others.length);
        System.arraycopy(others, 0, kept, before.length, others.length);
        var count = there - others.length;
        if (count == 0) {
            return 0;
        }
        try (var delete = connection.prepareStatement("DELETE FROM " + table.done() + " WHERE to_id >= ?")) {
            delete.setLong(1, from);
            delete.executeUpdate();
        }
        write(Runs.of(kept, store.ring()));
        try (var low = connection.prepareStatement(
                "UPDATE " + table.relay() + " SET low = least(low, ?) WHERE shard > " + Store.WHOLE)) {
            low.setLong(1, from == Long.MIN_VALUE ? from : from - 1);
            low.executeUpdate();
        }
        return count;
    }

    /**
     * Reads them in their order, and hands them on: as one snapshot has them, or a record that is published meanwhile
     * could come without its predecessor. Until it ends, no part is emptied.
     *
     * @param silence the database ends it if we say nothing for so long, as while a page is sent
     */
    void read(Destination destination, Duration silence) throws SQLException {
        Store.isolated(
                connection,
                Connection.TRANSACTION_REPEATABLE_READ,
                () -> store.transaction(connection, silence, () -> {
                    // before the snapshot is taken: what is emptied behind it would be missing there, too
                    execute("LOCK TABLE " + table.name() + ", " + table.done() + " IN ACCESS SHARE MODE");
                    readAll(destination);
                    return true;
                }));
    }

    private void readAll(Destination destination) throws SQLException {
        var conditions = new StringBuilder(" WHERE id > ? AND id >= ? AND id <= ?").append(store.publishedToo());
        which.topic().ifPresent(topic -> conditions.append(" AND topic = ?"));
        which.until().ifPresent(time -> conditions.append(" AND created < ?"));
        var from = from();
        var last = Long.MIN_VALUE;
        while (true) {
            try (var query = connection.prepareStatement(store.select(0, 1, conditions.toString()))) {
                query.setLong(1, INLINE);
                query.setLong(2, INLINE);
                query.setLong(3, last);
                query.setLong(4, from);
                query.setLong(5, which.toId());
                query.setInt(bindFilters(query, 6), PAGE);
                try (var result = query.executeQuery()) {
                    var rows = Store.rows(result, INLINE);
                    if (rows.isEmpty()) {
                        return;
                    }
                    send(rows, destination);
                    last = rows.get(rows.size() - 1).id();
                }
            }
        }
    }

    /** Hands on a page, or several if its rows are large: their values are fetched one by one. */
    private void send(List<Row> rows, Destination destination) throws SQLException {
        var some = new ArrayList<Row>();
        var weight = 0L;
        for (var row : rows) {
            if (weight > 0 && weight + row.weight() > PAGE_BYTES) {
                destination.send(List.copyOf(some));
                some.clear();
                weight = 0;
            }
            some.add(row.deferred() ? store.fetch(connection, List.of(row)).get(0) : row);
            weight += row.weight();
        }
        destination.send(List.copyOf(some));
    }

    private int bindFilters(PreparedStatement query, int first) throws SQLException {
        var at = first;
        if (which.topic().isPresent()) {
            query.setString(at++, which.topic().get());
        }
        if (which.until().isPresent()) {
            query.setTimestamp(at++, Timestamp.from(which.until().get()));
        }
        return at;
    }

    /** Returns whether the table has a row of this topic. */
    boolean has(String topic) throws SQLException {
        try (var query = connection.prepareStatement("SELECT 1 FROM " + table.name() + " WHERE topic = ? LIMIT 1")) {
            query.setString(1, topic);
            try (var result = query.executeQuery()) {
                return result.next();
            }
        }
    }

    /** Returns the id that it begins with: behind that may be older records, which were requeued. */
    private long from() throws SQLException {
        if (which.since().isEmpty()) {
            return which.fromId();
        }
        try (var query = connection.prepareStatement("SELECT min(id) FROM " + table.name() + " WHERE created >= ?")) {
            query.setTimestamp(1, Timestamp.from(which.since().get()));
            try (var result = query.executeQuery()) {
                result.next();
                var first = result.getLong(1);
                return result.wasNull() ? Long.MAX_VALUE : first;
            }
        }
    }

    /** Returns the published rows from an id on, which is to be bound twice. */
    private String publishedFrom() {
        return "(SELECT from_id, to_id FROM " + table.done() + " WHERE to_id >= ?) AS run CROSS JOIN LATERAL"
                + " (SELECT id, topic FROM " + table.name() + " WHERE id BETWEEN from_id AND to_id AND id >= ?) AS o";
    }

    /** Returns how many there are, if all are there. */
    private long requireKept(long from) throws SQLException {
        var written = number(
                "SELECT coalesce(sum(to_id - greatest(from_id, ?) + 1), 0)::bigint FROM " + table.done()
                        + " WHERE to_id >= ?",
                from);
        var there = number("SELECT count(*) FROM " + publishedFrom(), from);
        if (written == there) {
            return there;
        }
        var last = number(
                "SELECT max(to_id) FROM " + table.done() + " AS run WHERE to_id >= ? AND NOT EXISTS (SELECT 1 FROM "
                        + table.name() + " WHERE id BETWEEN from_id AND to_id AND id >= ? AND id = to_id)",
                from);
        throw new IllegalStateException(
                "nothing is published again: of the records from row " + from + " on, " + table.name()
                        + " does not have all any more, so an older one could be the last of its key. "
                        + (last == 0
                                ? "Some were deleted by hand."
                                : "The last that is gone is row " + last
                                        + ": begin behind it, or name another topic to publish into."));
    }

    /** Returns the ids before this one that are in the same run. */
    private long[] startOfRun(long from) throws SQLException {
        try (var query = connection.prepareStatement(
                "SELECT from_id FROM " + table.done() + " WHERE to_id >= ? AND from_id < ? ORDER BY to_id LIMIT 1")) {
            query.setLong(1, from);
            query.setLong(2, from);
            try (var result = query.executeQuery()) {
                return result.next() ? LongStream.range(result.getLong(1), from).toArray() : new long[0];
            }
        }
    }

    private long[] ofOtherTopics(long from) throws SQLException {
        if (which.topic().isEmpty()) {
            return new long[0];
        }
        try (var query =
                connection.prepareStatement("SELECT id FROM " + publishedFrom() + " WHERE topic <> ? ORDER BY id")) {
            query.setFetchSize(RUNS_AT_ONCE);
            query.setLong(1, from);
            query.setLong(2, from);
            query.setString(3, which.topic().get());
            try (var result = query.executeQuery()) {
                return Store.numbers(result);
            }
        }
    }

    private void write(Runs runs) throws SQLException {
        try (var insert = connection.prepareStatement("INSERT INTO " + table.done()
                + " (from_id, to_id) SELECT a, b FROM unnest(?::bigint[], ?::bigint[]) AS run(a, b)")) {
            for (var at = 0; at < runs.from().length; at += RUNS_AT_ONCE) {
                var end = Math.min(runs.from().length, at + RUNS_AT_ONCE);
                insert.setArray(1, PostgresStore.array(connection, Arrays.copyOfRange(runs.from(), at, end)));
                insert.setArray(2, PostgresStore.array(connection, Arrays.copyOfRange(runs.to(), at, end)));
                insert.executeUpdate();
            }
        }
    }

    /** Asks for a number that depends on an id, which is to be bound twice. */
    private long number(String sql, long from) throws SQLException {
        try (var query = connection.prepareStatement(sql)) {
            query.setLong(1, from);
            query.setLong(2, from);
            try (var result = query.executeQuery()) {
                return result.next() ? result.getLong(1) : 0;
            }
        }
    }

    private void execute(String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** Sends rows into another topic, each page of them in a transaction, one after the other. */
    static final class Into implements Destination, AutoCloseable {
        private final TransactionalSender sender;
        private final String topic;
        private long count;
        private long last;

        Into(TransactionalSender sender, String topic) {
            this.sender = sender;
            this.topic = topic;
            try {
                sender.open();
            } catch (RuntimeException e) {
                close();
                throw stopped("the brokers do not answer, or refuse it (" + e.getMessage() + ")", e);
            }
        }

        long count() {
            return count;
        }

        @Override
        public void send(List<Row> rows) {
            var there = new ArrayList<Row>(rows.size());
            for (var row : rows) {
                there.add(row.in(topic));
            }
            try {
                sender.append(there, null);
                sender.commit(null);
            } catch (LineStoppedException | ProgressRefusedException | RuntimeException e) {
                throw stopped("the brokers did not take more (" + e.getMessage() + ")", e);
            }
            count += rows.size();
            last = rows.get(rows.size() - 1).id();
        }

        /** Returns what to throw, which tells where to go on. */
        IllegalStateException stopped(String why, Exception e) {
            var done = count == 0
                    ? "nothing was published into " + topic
                    : count + " records were published into " + topic + ", the last of row " + last
                            + "; it can go on behind that";
            return new IllegalStateException(done + ": " + why, e);
        }

        @Override
        public void close() {
            sender.close(true);
        }
    }
}
