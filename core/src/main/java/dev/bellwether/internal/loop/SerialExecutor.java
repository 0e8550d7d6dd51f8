package dev.bellwether.internal.loop;

import dev.bellwether.spi.Loop;
import java.util.ArrayDeque;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs one user's code on the user's executor, one piece at a time, in order.
 *
 * <p>Confined to the loop, which is told when a piece has ended; only the running piece itself is shared. A piece that
 * the executor refuses has ended, with that failure; one that it drops silently runs forever, as far as anybody can
 * tell.
 */
public final class SerialExecutor {
    /** What became of a piece. */
    public interface Outcome {
        /** It ended, with a failure or none; it had waited so long, by the monotonic clock, before it began. */
        void ended(@Nullable Throwable failure, long queuedNanos);
    }

    private static final long LONGEST_UNBEGUN_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Executor executor;
    private final Loop loop;
    private final Runnable onIdle;
    private final ArrayDeque<Piece> waiting = new ArrayDeque<>();
    private @Nullable Piece running;

    public SerialExecutor(Executor executor, Loop loop, Runnable onIdle) {
        this.executor = executor;
        this.loop = loop;
        this.onIdle = onIdle;
    }

    /** Runs a piece after those before it. */
    public void submit(Callable<?> work, Outcome outcome) {
        waiting.add(new Piece(work, outcome, loop.clock().nanos()));
        next();
    }

    public boolean idle() {
        return running == null && waiting.isEmpty();
    }

    /** Returns whether nothing runs or waits, or the executor seems to have dropped it: it has not begun for long. */
    public boolean isHeard() {
        return idle() || (running != null && running.seemsDropped(loop.clock().nanos()));
    }

    /** Interrupts the thread of the piece that is running, if one is. What waits is not affected. */
    public void interrupt() {
        if (running != null) {
            running.interrupt(false);
        }
    }

    /** Interrupts the piece that is running, and all that wait, as soon as they begin. */
    public void interruptAll() {
        if (running != null) {
            running.interrupt(true);
        }
        waiting.forEach(piece -> piece.interrupt(true));
    }

    /** Returns whether the calling thread is the one that runs a piece of this executor. For any thread. */
    public boolean runsHere() {
        var piece = running; // a stale view is harmless: on the piece's own thread it is not stale
        return piece != null && piece.isOn(Thread.currentThread());
    }

    private void next() {
        if (running != null || waiting.isEmpty()) {
            return;
        }
        var piece = waiting.remove();
        running = piece;
        piece.handedNanos = loop.clock().nanos();
        try {
            executor.execute(() -> {
                piece.failure = piece.run(loop);
                tellEnded(piece);
            });
        } catch (Throwable e) { // it is full, shut down, or can have no more threads
            piece.failure = e;
            tellEnded(piece);
        }
    }

    /** Brings the end to the loop. If there is no memory even for that, or for that turn, {@link #look} finds it. */
    private void tellEnded(Piece piece) {
        try {
            GuardedLoop.execute(loop, () -> piece.finished = true, () -> ended(piece));
        } catch (Throwable e) {
            piece.finished = true;
        }
    }

    /** Finds a piece that has ended without our being told; called now and then, on the loop. */
    public void look() {
        var piece = running;
        if (piece != null && piece.finished) {
            ended(piece);
        }
    }

    private void ended(Piece piece) {
        if (running != piece) {
            return; // an executor that took the piece and threw anyway, or we have found it ourselves
        }
        running = null;
        try {
            piece.outcome.ended(piece.failure, piece.queuedNanos);
        } finally {
            next();
        }
        if (idle()) { // but not if that threw: what was broken off is repaired first
            onIdle.run();
        }
    }

    /** One call of user code. Its thread is known, and may be interrupted, only while it runs. */
    private static final class Piece {
        private final Callable<?> work;
        private final Outcome outcome;
        private final long dueNanos;
        private long handedNanos; // to the executor
        private volatile boolean begun;
        private volatile long queuedNanos;
        private @Nullable Thread thread; // guarded by this
        private boolean interrupted; // before it began; guarded by this
        private volatile @Nullable Throwable failure;
        private volatile boolean finished; // written after its failure

        private Piece(Callable<?> work, Outcome outcome, long dueNanos) {
            this.work = work;
            this.outcome = outcome;
            this.dueNanos = dueNanos;
        }

        private @Nullable Throwable run(Loop loop) {
            try {
                begun = true;
                queuedNanos = loop.clock().nanos() - dueNanos;
                synchronized (this) {
                    thread = Thread.currentThread();
                    if (interrupted) {
                        thread.interrupt();
                    }
                }
                work.call();
                return null;
            } catch (Throwable e) { // whatever user code throws is reported, and must not cost us the "ended"
                return e;
            } finally {
                synchronized (this) {
                    thread = null;
                }
                Thread.interrupted(); // an interrupt of ours must not follow the thread into other work
            }
        }

        private boolean seemsDropped(long nowNanos) {
            return !begun && nowNanos - handedNanos > LONGEST_UNBEGUN_NANOS;
        }

        private synchronized void interrupt(boolean onceItBegins) {
            if (thread != null) {
                thread.interrupt();
            } else {
                interrupted |= onceItBegins;
            }
        }

        private synchronized boolean isOn(Thread candidate) {
            return candidate.equals(thread);
        }
    }
}
