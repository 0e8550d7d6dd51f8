package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes rows that Kafka has confirmed, and moves away those that it never will, in the order in which it is told. A
 * thread of its own, and the only one: what is left in the table must always be the end of what was sent.
 */
final class RowDeleter implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(RowDeleter.class);
    private static final int MOST = 10_000;
    /** Servers, and firewalls on the way, end connections over which nothing is said for long. */
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final ShardRun session;
    private final Connection connection;
    private final BlockingQueue<Work> queue = new LinkedBlockingQueue<>();
    private volatile boolean finishing;
    private volatile long durable;
    /** Rows that are to be parked and are not yet. */
    private final AtomicInteger parking = new AtomicInteger();
    /** The number of the last transaction whose rows were deleted. */
    private long deleted;

    /** Rows of a transaction to delete, or one to park for a reason. */
    private record Work(
            List<Row> rows, long number, @Nullable String reason) {}

    /**
     * Begins where nothing is left to delete.
     *
     * @param durable the number of the last transaction whose rows are gone, whatever the database forgets
     */
    RowDeleter(ShardRun session, Connection connection, long durable) {
        this.session = session;
        this.connection = connection;
        this.durable = durable;
        deleted = durable;
    }

    /** Deletes what a transaction has published; those that keep no progress have no number, but 0. */
    void delete(List<Row> rows, long number) {
        queue.add(new Work(rows, number, null));
    }

    void park(Row row, String reason) {
        parking.incrementAndGet();
        queue.add(new Work(List.of(row), 0, reason));
    }

    /**
     * Returns whether rows that are to be parked are still in the table. A relay that takes over may find that they can
     * be published after all, so nothing behind them may have been. From any thread.
     */
    boolean isParking() {
        return parking.get() > 0;
    }

    /**
     * Returns the number of the last transaction whose rows are gone, whatever the database forgets. From any thread.
     */
    long durable() {
        return durable;
    }

    /** Ends the thread when all is done that was asked for. */
    void finish() {
        finishing = true;
    }

    @Override
    public void run() {
        var usedNanos = System.nanoTime();
        try {
            while (true) {
                var work = next();
                if (work == null) {
                    if (finishing) {
                        if (deleted > durable) {
                            mark(); // else the next leader would look for rows that are gone
                        }
                        session.reportRest(connection);
                        return;
                    }
                    if (System.nanoTime() - usedNanos >= QUIET_NANOS) {
                        sayNothing();
                        usedNanos = System.nanoTime();
                    }
                    continue;
                }
                if (work.reason() != null) {
                    parkNow(work.rows().get(0), work.reason());
                } else {
                    deleteNow(work);
                }
                usedNanos = System.nanoTime();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (SQLException | DeposedException | RuntimeException e) {
            session.fail(e);
        } catch (Throwable e) { // without it the table fills, and nobody would know
            session.fail(new IllegalStateException("the disposal died of " + e, e));
            throw e;
        }
    }

    /** Returns what is to be done next; null if nothing is for now. */
    private @Nullable Work next() throws InterruptedException {
        try {
            return queue.poll(20, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            if (finishing) {
                throw e; // it has taken too long
            }
            return null; // not by the run that has begun this, which finishes it first: it goes on
        }
    }

    /** So the connection stays; or we know that it has not before anything is published that it is to delete. */
    private void sayNothing() throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute("SELECT 1");
        }
    }

    private Work gathered(Work first) {
        var next = queue.peek();
        if (next == null || next.reason() != null) {
            return first;
        }
        var rows = new ArrayList<>(first.rows());
        var number = first.number();
        while (next != null
                && next.reason() == null
                && rows.size() + next.rows().size() <= MOST) {
            rows.addAll(next.rows());
            number = next.number();
            queue.remove();
            next = queue.peek();
        }
        return new Work(rows, number, null);
    }

    private void deleteNow(Work first) throws SQLException, DeposedException {
        var work = gathered(first);
        var rows = work.rows();
        var ids = new long[rows.size()];
        var bytes = 0L;
        for (var i = 0; i < ids.length; i++) {
            ids[i] = rows.get(i).id();
            bytes += rows.get(i).weight();
        }
        java.util.Arrays.sort(ids);
        // anybody who takes over knows what the last transactions have published, and deletes what a crash brings back;
        // the first is written down at once, so that the loss of all progress is noticed from then on
        var durably = work.number() > 0 && (durable == 0 || work.number() - durable >= ProgressTopic.WINDOW / 4);
        var count = session.store().deleteLeft(connection, session.shard(), session.epoch(), ids);
        if (count < ids.length) {
            LOG.warn(
                    "outbox {}: {} of {} published rows had been deleted by another user",
                    session.store().table.name(),
                    ids.length - count,
                    ids.length);
        }
        deleted = Math.max(deleted, work.number());
        if (durably) {
            mark();
        }
        session.disposed(ids, bytes);
    }

    /** Writes down, to outlast whatever the database forgets, that the rows of all transactions up to here are gone. */
    private void mark() throws SQLException, DeposedException {
        // the deletes stand before it in the database's log: what makes the mark durable makes them so
        session.store().durable(connection, true);
        var mark = new ProgressMark(session.epoch(), deleted);
        if (!session.store().mark(connection, session.shard(), session.epoch(), mark)) {
            throw new DeposedException(session.shard(), session.epoch());
        }
        durable = deleted;
        session.store().durable(connection, false);
    }

    private void parkNow(Row row, String reason) throws SQLException, DeposedException {
        var next = queue.peek();
        var isLast = next == null || next.reason() == null; // what makes the last durable makes those before it so
        if (isLast) {
            session.store().durable(connection, true);
        }
        if (!session.store().park(connection, session.shard(), session.epoch(), row, reason)) {
            throw new DeposedException(session.shard(), session.epoch());
        }
        if (isLast) {
            session.store().durable(connection, false);
        }
        parking.decrementAndGet();
        session.parked(row, reason);
        session.disposed(new long[] {row.id()}, row.weight());
    }
}
