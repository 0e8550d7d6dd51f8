package dev.bellwether.outbox;

import dev.bellwether.spi.BackendThread;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run of a shard's leader: from the fences to the first failure, or to the end of the mandate. Confined to the
 * thread that opens, runs and closes it, except where a method says otherwise.
 */
final class ShardRun {
    private static final Logger LOG = LoggerFactory.getLogger(ShardRun.class);
    private static final long REPORT_NANOS = 1_000_000_000;
    private static final long NO_ROOM_NANOS = 300_000;

    private final Shard shard;
    private final AlternatingSenders lines;
    private final LentConnection reading;
    private final LentConnection deleting;
    private final Store.Tenancy tenancy;
    private final RowReader intake;
    private final ReadPace pace;
    private final RowDeleter disposal;
    private final BlockingQueue<List<Row>> batches = new LinkedBlockingQueue<>();
    /** Rows in the batches. */
    private final AtomicInteger ahead = new AtomicInteger();

    private final InFlight inFlight;
    private final AtomicLong disposed = new AtomicLong();
    private final Deque<Row> waiting = new ArrayDeque<>();
    private final Thread reader;
    private final Thread disposer;
    private final Rotation rotation;
    private volatile boolean ending;
    private volatile @Nullable Exception failure;
    private final ProgressTopic.@Nullable Start progress;
    /** The number of the next transaction; 0 if no progress is kept. */
    private long number;

    private long attempted;
    /** When a transaction that is not full may begin. */
    private long nextNanos = System.nanoTime();

    private List<Row> committing = List.of();
    private long waitingBytes;
    private volatile long committedNanos;
    /** When the reader has reported last. Confined to the reader. */
    private long reportedNanos = System.nanoTime();

    /** What the database knows of those that wait; null if a write has failed. Confined to the reader. */
    private @Nullable List<OutboxAdmin.BlockedRecord> blockedWritten = List.of();

    private long blockedDueNanos = reportedNanos;

    /**
     * Takes over what is open; the fence in Kafka stands already.
     *
     * @param progress where progress is written down, if it is
     */
    ShardRun(
            Shard shard,
            AlternatingSenders lines,
            LentConnection reading,
            LentConnection deleting,
            OpenWriters writers,
            Store.Tenancy tenancy,
            ProgressTopic.@Nullable Start progress) {
        this.shard = shard;
        this.lines = lines;
        this.reading = reading;
        this.deleting = deleting;
        this.tenancy = tenancy;
        var config = shard.config();
        inFlight = new InFlight(config.maxInFlightRecords(), config.maxInFlightBytes());
        intake = new RowReader(
                shard.store(),
                config,
                shard.number(),
                reading.connection(),
                writers,
                tenancy.low(),
                shard.judge()::holds,
                shard.meter(),
                System::nanoTime);
        pace = shard.pace(this::lookAgain);
        this.progress = progress;
        number = progress == null ? 0 : progress.last() + 1;
        disposal = new RowDeleter(this, deleting.connection(), progress == null ? 0 : progress.last());
        rotation = new Rotation(shard.store(), config.retain());
        reader = thread(this::read, "reader");
        disposer = thread(disposal, "disposal");
    }

    private Thread thread(Runnable run, String part) {
        var thread = new Thread(run, shard.config().seat(shard.number()) + "-" + part);
        thread.setDaemon(true);
        return thread;
    }

    Store store() {
        return shard.store();
    }

    int shard() {
        return shard.number();
    }

    InFlight inFlight() {
        return inFlight;
    }

    long epoch() {
        return tenancy.epoch();
    }

    /** There are rows: looks for them now. From any thread. */
    void poke() {
        pace.called();
    }

    private void lookAgain() {
        LockSupport.unpark(reader);
    }

    /** Ends the session for this reason, unless there was one before. From any thread. */
    synchronized void fail(Exception cause) {
        if (failure == null) {
            failure = cause;
        }
    }

    /** From the disposal. */
    void disposed(long[] ids, long bytes) {
        intake.disposed(ids);
        disposed.addAndGet(ids.length);
        inFlight.remove(ids.length, bytes);
        shard.meter().deleted.addAndGet(ids.length);
        lookAgain();
    }

    /** From the disposal. */
    void parked(Row row, String reason) {
        shard.judge().parked(row.id());
        shard.meter().parked.incrementAndGet();
        LOG.warn("outbox {}: parked {}: {}", shard.config().name(), row.describe(), reason);
        shard.emit(new RelayEvent.Parked(shard.number(), row.id(), reason));
    }

    /** Publishes while the condition holds. */
    void run(BooleanSupplier goOn) throws Exception {
        reader.start();
        disposer.start();
        shard.listen(pace);
        while (goOn.getAsBoolean()) {
            var cause = failure;
            if (cause != null) {
                throw cause;
            }
            if (lines.isToSettle()) {
                settle();
            }
            if (gather()) {
                if (isFarAhead() || disposal.isParking()) {
                    LockSupport.parkNanos(NO_ROOM_NANOS);
                } else {
                    publish();
                }
            }
        }
    }

    /**
     * Returns whether anybody who took over now would not learn all that was published and may still be in the table.
     */
    private boolean isFarAhead() {
        return number - ProgressTopic.WINDOW > disposal.durable();
    }

    /** Returns whether there is something to send. */
    private boolean gather() throws InterruptedException {
        if (waiting.isEmpty()) {
            take(batches.poll(20, TimeUnit.MILLISECONDS));
        }
        var most = shard.size().records();
        var more = !waiting.isEmpty();
        while (more && waiting.size() < most && waitingBytes < shard.config().maxTransactionBytes()) {
            more = take(batches.poll(Math.max(0, nextNanos - System.nanoTime()), TimeUnit.NANOSECONDS));
        }
        return !waiting.isEmpty();
    }

    private boolean take(@Nullable List<Row> batch) {
        if (batch == null) {
            return false;
        }
        ahead.addAndGet(-batch.size());
        waiting.addAll(batch);
        waitingBytes += weight(batch);
        return true;
    }

    private void publish()
            throws LineStoppedException, HaltedException, InterruptedException, ProgressRefusedException {
        var judge = shard.judge();
        if (judge.searches()) {
            settle(); // what comes next depends on it
        }
        var slice = judge.slice(waiting, shard.size().records(), shard.config().maxTransactionBytes());
        waitingBytes -= weight(slice);
        judge.meet(slice);
        var rows = new ArrayList<Row>(slice.size());
        HaltedException halt = null;
        for (var row : slice) {
            var reason = judge.condemns(row);
            if (judge.holds(row)) {
                hold(row);
            } else if (reason.isEmpty()) {
                rows.add(row);
            } else if (shard.config().poison() == Poison.HALT) {
                halt = new HaltedException(row, reason.get()); // those before it go first
                break;
            } else {
                dispose(row, reason.get());
            }
        }
        if (disposal.isParking()) {
            putBack(rows);
        } else if (!rows.isEmpty()) {
            var began = System.nanoTime();
            nextNanos = began + shard.config().transactionInterval().toNanos();
            attempted += rows.size();
            shard.size().begins(rows.size());
            var told = number;
            var progress = progress(rows);
            var along = maySendAlong() && !judge.searches() && !shard.isCareful();
            lines.append(rows, along ? progress : null);
            settle();
            committing = rows;
            lines.commit(
                    along || progress == null ? null : progress.get(), () -> committed(rows, told, began), this::wake);
        }
        if (halt != null) {
            settle();
            throw halt;
        }
    }

    /**
     * Returns whether a commit of an earlier transaction, if it was delayed, cannot come between the progress and the
     * rows of this one: it would commit that they are published, and not them.
     */
    private boolean maySendAlong() {
        return progress != null && progress.refusesLateCommits();
    }

    private void putBack(List<Row> rows) {
        for (var i = rows.size() - 1; i >= 0; i--) {
            waiting.addFirst(rows.get(i));
        }
        waitingBytes += weight(rows);
    }

    private @Nullable Supplier<ProducerRecord<byte[], byte[]>> progress(List<Row> rows) {
        var start = progress;
        return start == null
                ? null
                : () -> start.topic().record(shard(), Published.of(number++, start.base(), epoch(), rows));
    }

    private static long weight(List<Row> rows) {
        var weight = 0L;
        for (var row : rows) {
            weight += row.weight();
        }
        return weight;
    }

    /** On the thread that commits. */
    private void committed(List<Row> rows, long transaction, long beganNanos) {
        committedNanos = System.nanoTime() - beganNanos;
        shard.meter().transaction(rows.size(), committedNanos);
        disposal.delete(rows, transaction);
    }

    /** From any thread. */
    private void wake() {
        batches.add(List.of());
    }

    private void settle() throws InterruptedException, ProgressRefusedException {
        if (lines.settle()) {
            shard.judge().passed(committing);
            shard.succeeded(committing.size(), committedNanos);
        }
    }

    private void dispose(Row row, String reason) {
        if (shard.config().poison() == Poison.PARK) {
            disposal.park(row, reason);
            return;
        }
        var topic = shard.judge().block(row);
        shard.blocked().add(row, topic ? OutboxAdmin.Waits.TOPIC : OutboxAdmin.Waits.KEY, reason);
        hold(row);
        if (topic && !shard.judge().isNews(row.topic())) {
            LOG.debug("outbox {}: topic {} is still blocked: {}", shard.config().name(), row.topic(), reason);
            return;
        }
        LOG.warn(
                "outbox {}: blocked {} of {}: {}",
                shard.config().name(),
                topic ? "the topic" : "the key",
                row.describe(),
                reason);
        shard.emit(new RelayEvent.KeyBlocked(shard.number(), row.id(), reason));
    }

    private void hold(Row row) {
        inFlight.remove(1, row.weight());
        shard.meter().blocked.incrementAndGet();
    }

    private void read() {
        var config = shard.config();
        var connection = reading.connection();
        try {
            pace.begin(connection);
            while (goesOn()) {
                reportIfDue();
                var room = Math.min(inFlight.room(), config.maxAhead() - ahead.get());
                if (room <= 0) {
                    BackendThread.pause(NO_ROOM_NANOS);
                    continue;
                }
                var batch = intake.next(room, inFlight.byteRoom());
                shard.reached();
                if (!batch.rows().isEmpty()) {
                    inFlight.add(batch.rows().size(), batch.weight());
                    ahead.addAndGet(batch.rows().size());
                    batches.add(batch.rows()); // put would hear of an interrupt, which is by somebody else
                    pace.found();
                }
                if (!batch.more()) {
                    pace.rest(connection, intake.hasGaps(), this::reportIfDue);
                }
            }
        } catch (SQLException | DeposedException | RuntimeException e) {
            fail(e);
        } catch (Throwable e) { // without a reader nothing is published, and nobody would know
            fail(new IllegalStateException("the reader died of " + e, e));
            throw e;
        } finally {
            pace.end(connection);
        }
    }

    private boolean goesOn() {
        return !ending && failure == null;
    }

    /** Says once a second that the shard is served, also if we look for rows less often. Returns whether to go on. */
    private boolean reportIfDue() throws SQLException, DeposedException {
        if (System.nanoTime() - reportedNanos >= REPORT_NANOS) {
            report();
            shard.reached();
            if (shard.number() == 0) {
                rotation.turn(reading.connection(), intake.cursor(), System.nanoTime());
            }
        }
        return goesOn();
    }

    private void report() throws SQLException, DeposedException {
        var connection = reading.connection();
        var low = intake.low();
        // of a row that we know: to look for the first that is there would be to walk over all that are dead
        var oldest = intake.oldest();
        shard.meter()
                .waits(
                        oldest.isPresent()
                                ? OptionalLong.of(shard.store().ageMillis(connection, oldest.getAsLong() - 1))
                                : oldest,
                        System.nanoTime());
        var nanos = Math.max(1, System.nanoTime() - reportedNanos);
        writeSent(sent -> shard.store().report(connection, shard.number(), epoch(), low, sent, sent * 1e9 / nanos));
        reportedNanos = System.nanoTime();
        var blocked = shard.blocked().list();
        if (!blocked.equals(blockedWritten) && reportedNanos - blockedDueNanos >= 0) {
            blockedWritten = shard.writeBlocked(connection, epoch(), blocked) ? blocked : null;
            if (blockedWritten == null) {
                // one that waits for a lock before it fails keeps us from reading
                blockedDueNanos = reportedNanos + 20 * (System.nanoTime() - reportedNanos);
            }
        }
    }

    /** From the disposal, when nothing more is published. */
    void reportRest(Connection connection) throws SQLException, DeposedException {
        writeSent(sent -> sent == 0 || shard.store().addSent(connection, shard.number(), epoch(), sent));
    }

    /** Writes down how many records were published, and returns whether the shard is still ours. */
    private interface Report {
        boolean write(long sent) throws SQLException;
    }

    private void writeSent(Report report) throws SQLException, DeposedException {
        var sent = shard.meter().takeUnreported();
        var written = false;
        try {
            written = report.write(sent);
        } finally {
            if (!written) {
                shard.meter().putBackUnreported(sent);
            }
        }
        if (!written) {
            throw new DeposedException(shard.number(), epoch());
        }
    }

    /**
     * Ends it. What Kafka has confirmed is deleted first, if that goes quickly.
     *
     * @return whether rows are left in the table that were sent
     */
    boolean close(boolean orderly, long drainNanos) {
        ending = true;
        var until = System.nanoTime() + drainNanos;
        shard.deafen(pace);
        lookAgain();
        lines.close(orderly, drainNanos);
        disposal.finish();
        var interrupted = Thread.interrupted(); // told to stop, not to forget what is written down in a moment
        join(disposer, until);
        join(reader, until);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        var left = attempted > disposed.get();
        if (reader.isAlive() || disposer.isAlive()) { // the database is silent, and would not answer us either
            reading.breakOff(reader);
            deleting.breakOff(disposer);
        } else {
            reading.close();
            deleting.close();
        }
        return left;
    }

    private static void join(Thread thread, long until) {
        try {
            var millis = (until - System.nanoTime()) / 1_000_000;
            if (thread.isAlive() && millis > 0) {
                thread.join(millis);
            }
            if (thread.isAlive()) {
                thread.interrupt();
                thread.join(100);
            }
        } catch (InterruptedException e) {
            thread.interrupt();
            Thread.currentThread().interrupt();
        }
    }
}
