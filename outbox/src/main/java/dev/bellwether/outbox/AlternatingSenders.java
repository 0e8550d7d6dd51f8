package dev.bellwether.outbox;

import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.jspecify.annotations.Nullable;

/**
 * Two lines that take turns: while the transaction of one is committed, the other appends the next. Confined to the
 * thread of its session.
 */
final class AlternatingSenders {
    /*
     * Why two: a broker lets a producer's next transaction wait until its last is marked in all partitions.
     *
     * The order is that of one line. Rows are appended only when all before them are in the log, and committed only
     * when all before them are committed. So what a partition has got is a prefix of what was sent, and what is
     * committed a prefix of that. After a commit that failed, or of which nobody knows, nothing is committed any more:
     * the session ends, and the next sends all that is left.
     *
     * The first is fenced first, and sends first: so nobody who was fenced on it begins to commit, and at most one
     * transaction of the other's is committed before that is fenced, too.
     */
    private final TransactionalSender[] lines;
    private final ExecutorService committer;
    private int turn;
    private @Nullable Future<?> commit;

    AlternatingSenders(String name, TransactionalSender one, TransactionalSender other) {
        lines = new TransactionalSender[] {one, other};
        committer = Executors.newSingleThreadExecutor(run -> {
            var thread = new Thread(run, name + "-commit");
            thread.setDaemon(true);
            return thread;
        });
    }

    /**
     * Puts up both fences: what an earlier session of this shard has not committed never will be, and it appends
     * nothing more.
     */
    void open() {
        for (var line : lines) {
            line.open();
        }
    }

    /**
     * Returns when all of them are in the log, though what was appended before may still be uncommitted.
     *
     * @param progress what they say of themselves, sent along; null if it is sent with the commit, or not at all
     */
    void append(List<Row> rows, @Nullable Supplier<ProducerRecord<byte[], byte[]>> progress)
            throws LineStoppedException, ProgressRefusedException {
        lines[turn].append(rows, progress);
    }

    /**
     * Begins to commit what was appended last, when all before it is {@linkplain #settle settled}.
     *
     * @param progress what it says of itself, in a record of the same transaction, if that was not sent along
     * @param committed what to do then, on another thread
     * @param ended what to do in any case, on the same
     */
    void commit(@Nullable ProducerRecord<byte[], byte[]> progress, Runnable committed, Runnable ended) {
        if (commit != null) {
            throw new IllegalStateException("what was appended before may still fail");
        }
        var line = lines[turn];
        turn = 1 - turn;
        commit = committer.submit(() -> {
            try {
                line.commit(progress);
                committed.run();
                return null;
            } finally {
                ended.run();
            }
        });
    }

    /** Returns whether a commit has ended that is not settled. */
    boolean isToSettle() {
        return commit != null && commit.isDone();
    }

    /**
     * Returns when nothing is left to commit: whether there was something.
     *
     * @throws ProgressRefusedException if it failed because the brokers will never take its progress
     * @throws RuntimeException if the commit failed
     */
    boolean settle() throws InterruptedException, ProgressRefusedException {
        if (commit == null) {
            return false;
        }
        try {
            commit.get();
            commit = null;
            return true;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ProgressRefusedException refused) {
                throw refused;
            }
            throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e.getCause());
        }
    }

    /** Ends it, and awaits a commit that is under way for so long. */
    void close(boolean orderly, long patienceNanos) {
        committer.shutdown();
        var interrupted = Thread.interrupted(); // told to stop, not to forget what is confirmed in a moment
        try {
            committer.awaitTermination(patienceNanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        for (var line : lines) {
            line.close(orderly);
            interrupted |= Thread.interrupted(); // which would cut short the next
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
