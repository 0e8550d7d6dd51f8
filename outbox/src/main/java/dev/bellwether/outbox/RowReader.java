package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * Reads the rows of a shard, each once, so that of two rows of one key the earlier comes first. Confined to the
 * reader's thread; told by others what was deleted.
 */
final class RowReader {
    /*
     * Writers of one key are serialized before they draw an id: so, in any snapshot that has a row, all earlier rows of
     * its key were committed. Those behind the cursor are in gaps; therefore gaps and what lies beyond the cursor are
     * read in one statement.
     *
     * "known" has the ids that were read and may still be there. An id leaves it only before a query begins, and only
     * if its deletion was committed before that: otherwise an old snapshot could show a row that was sent long ago as
     * if it were new.
     */
    private static final long HOLDERS_NANOS = 50_000_000;
    private static final int READ = 5_000;
    private static final int PAGE = 20_000;
    private static final long SWEEP_NANOS = 5_000_000;
    private static final int SWEEP_IDS = 16_384;
    private static final int SMALLEST_INLINE = 256;

    private final Store store;
    private final RelayConfig config;
    private final int shard;
    private final Connection connection;
    private final Predicate<Row> held;
    private final Meter meter;
    private final LongSupplier nanoTime;
    private final LongSet known = new LongSet();
    private final Gaps gaps;
    private final OpenWriters writers;
    private final ConcurrentLinkedQueue<long[]> disposed = new ConcurrentLinkedQueue<>();
    private long cursor;
    private long averageBytes = 256;
    private long holdersDue;
    private long sweepDue;
    private long swept = Long.MIN_VALUE;
    /** The last that should not have been there. */
    private OptionalLong stray = OptionalLong.empty();

    private OptionalLong published = OptionalLong.empty();

    /** Rows to send, and whether there may be more at once. */
    record Batch(List<Row> rows, long weight, boolean more) {}

    /**
     * Begins behind a low mark.
     *
     * @param held whether a row is of a blocked key, and stays
     */
    RowReader(
            Store store,
            RelayConfig config,
            int shard,
            Connection connection,
            OpenWriters writers,
            long low,
            Predicate<Row> held,
            Meter meter,
            LongSupplier nanoTime) {
        this.store = store;
        this.config = config;
        this.shard = shard;
        this.connection = connection;
        this.writers = writers;
        this.gaps = store.gaps();
        this.cursor = low;
        this.held = held;
        this.meter = meter;
        this.nanoTime = nanoTime;
        this.holdersDue = nanoTime.getAsLong();
        this.sweepDue = holdersDue;
    }

    /** These rows are gone, and that is committed. From any thread. */
    void disposed(long[] ids) {
        disposed.add(ids);
    }

    /** Returns the id up to which everything is decided: it was seen and is gone, or will never come. */
    long low() {
        return Math.min(gaps.least(cursor + 1), known.least(cursor + 1)) - 1;
    }

    /** Returns whether ids are missing of which rows may still come. */
    boolean hasGaps() {
        return !gaps.isEmpty();
    }

    /** Returns the id up to which rows were read. */
    long cursor() {
        return cursor;
    }

    /** Returns the first id that was read and may still be there. */
    OptionalLong oldest() {
        var oldest = known.least(Long.MAX_VALUE);
        return oldest == Long.MAX_VALUE ? OptionalLong.empty() : OptionalLong.of(oldest);
    }

    /** Returns what is there now, at most so much. */
    Batch next(int room, long byteRoom) throws SQLException {
        forgetDisposed();
        var now = nanoTime.getAsLong();
        if (!gaps.isEmpty() && now - holdersDue >= 0) {
            writers.look().ifPresent(gaps::holders);
            holdersDue = now + Math.max(HOLDERS_NANOS, 20 * (nanoTime.getAsLong() - now));
        }
        if (now - sweepDue >= 0) {
            sweep();
            sweepDue = now + Math.max(config.sweepInterval().toNanos(), 20 * (nanoTime.getAsLong() - now));
            forgetDisposed();
        }
        var most = Math.max(1024, Math.min(byteRoom, config.maxInFlightBytes() / 4));
        var limit = (int) Math.max(
                1,
                Math.min(
                        Math.min(room, Math.min(READ, config.maxTransactionRecords())),
                        most / Math.max(1, 2 * averageBytes)));
        var inline = Math.max(SMALLEST_INLINE, most / limit);
        if (published.isEmpty()) {
            published = OptionalLong.of(store.published(connection)); // from here on only this run of ours adds to it
        }
        var closing = gaps.closing();
        var wanted = new Store.Wanted(cursor, limit, inline, shard, config.shards(), published.getAsLong());
        var found = store.read(connection, wanted, gaps);
        var taken = new Taken(most);
        var lateDone = takeLate(found.late(), taken) && found.late().size() < limit;
        if (lateDone) {
            gaps.closed(closing);
            takeHot(found, taken);
            gaps.coarsen(known);
        }
        var rows = taken.withDeferred();
        var seen = found.late().size() + found.hot().size();
        if (seen > 0) {
            var total = bytes(found.late()) + bytes(found.hot());
            averageBytes = Math.max(1, (averageBytes * 3 + total / seen) / 4);
        }
        return new Batch(
                rows,
                taken.weight,
                taken.full || !lateDone || found.more() || found.hot().size() >= limit);
    }

    private static long bytes(List<Row> rows) {
        return rows.stream()
                .filter(row -> !row.isOfAnotherShard())
                .mapToLong(Row::size)
                .sum();
    }

    private boolean takeLate(List<Row> rows, Taken taken) {
        var last = Long.MIN_VALUE;
        for (var row : rows) {
            if (row.id() <= last) {
                throw new IllegalStateException("the database returned id " + row.id() + " after " + last);
            }
            last = row.id();
            if (!known.contains(row.id()) && !take(row, taken)) {
                return false;
            }
            gaps.filled(row.id());
        }
        return true;
    }

    private void takeHot(Store.Found found, Taken taken) {
        var runs = new ArrayDeque<>(found.published());
        for (var row : found.hot()) {
            if (row.id() <= cursor) {
                throw new IllegalStateException("the database returned id " + row.id() + " after " + cursor);
            }
            while (!runs.isEmpty() && runs.getFirst().to() < row.id()) {
                pass(runs.removeFirst());
            }
            if (!take(row, taken)) {
                return;
            }
            gaps.noticed(cursor + 1, row.id() - 1);
            cursor = row.id();
        }
        runs.forEach(this::pass);
    }

    /** Goes past rows that were published before, as past those of other shards. */
    private void pass(Store.Run run) {
        gaps.noticed(cursor + 1, run.from() - 1);
        cursor = Math.max(cursor, run.to());
    }

    private boolean take(Row row, Taken taken) {
        if (row.isOfAnotherShard()) {
            return true;
        }
        if (held.test(row)) {
            known.add(row.id());
            meter.blocked.incrementAndGet();
            return true;
        }
        if (!taken.add(row)) {
            return false;
        }
        known.add(row.id());
        return true;
    }

    private void forgetDisposed() {
        for (var ids = disposed.poll(); ids != null; ids = disposed.poll()) {
            for (var id : ids) {
                known.remove(id);
            }
        }
    }

    /**
     * Looks for rows that should not be there: their ids were drawn in an earlier transaction, or by hand, or begin
     * again. Just behind the cursor each time, and around the last that was found, where those come whose ids begin
     * again; elsewhere a few milliseconds' worth, and the next time from there on: what is dead and not yet removed has
     * to be walked over, and may be millions.
     */
    private void sweep() throws SQLException {
        var began = nanoTime.getAsLong();
        sweepBehind(cursor);
        if (stray.isPresent()) {
            sweepBehind(Math.min(cursor, stray.getAsLong() + SWEEP_IDS / 2));
        }
        do {
            // ids below 1 are given by hand, if at all
            var to = swept < 0 ? 0 : swept + SWEEP_IDS;
            if (to >= cursor) {
                sweep(swept, cursor);
                swept = Long.MIN_VALUE;
                return;
            }
            sweep(swept, to);
            swept = to;
        } while (nanoTime.getAsLong() - began < SWEEP_NANOS);
    }

    private void sweepBehind(long to) throws SQLException {
        sweep(Math.max(Long.MIN_VALUE + SWEEP_IDS, to) - SWEEP_IDS, to);
    }

    private void sweep(long after, long to) throws SQLException {
        var from = after;
        while (true) {
            var ids = store.ids(connection, from, to, PAGE, shard, config.shards());
            for (var id : ids) {
                if (!known.contains(id) && !gaps.contains(id)) {
                    gaps.noticed(id, id); // the next read takes it
                    stray = OptionalLong.of(id);
                    meter.strays.incrementAndGet();
                }
            }
            if (ids.length < PAGE) {
                return;
            }
            from = ids[ids.length - 1];
        }
    }

    /** Rows up to a number of bytes, or one. */
    private final class Taken {
        private final long most;
        private final List<Row> rows = new ArrayList<>();
        private long weight;
        private boolean deferred;
        private boolean full;

        Taken(long most) {
            this.most = most;
        }

        boolean add(Row row) {
            if (full || (!rows.isEmpty() && weight + row.weight() > most)) {
                full = true;
                return false;
            }
            rows.add(row);
            weight += row.weight();
            deferred |= row.deferred();
            return true;
        }

        /** Fetches the large values. A row that is gone meanwhile was deleted by hand. */
        List<Row> withDeferred() throws SQLException {
            if (!deferred) {
                return rows;
            }
            var wanted = rows.stream().filter(this::isToBeFetched).toList();
            var fetched = wanted.isEmpty() ? wanted : store.fetch(connection, wanted);
            var complete = new ArrayList<Row>(rows.size());
            var next = 0;
            for (var row : rows) {
                if (!isToBeFetched(row)) {
                    complete.add(row);
                } else if (next < fetched.size() && fetched.get(next).id() == row.id()) {
                    complete.add(fetched.get(next++));
                } else {
                    known.remove(row.id());
                    weight -= row.weight();
                }
            }
            return complete;
        }

        /** What is certain to be refused is not: it might not even have room in memory. */
        private boolean isToBeFetched(Row row) {
            return row.deferred() && !ProducerSettings.isTooLarge(config, row.size());
        }
    }
}
