package dev.bellwether.sql;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.BackendThread;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes requests to the {@link BatchExecutor}, on a thread of its own: what has come in while it was busy, many at
 * once.
 *
 * <p>{@link #submit}, {@link #wake} and {@link #close} are for any thread.
 */
final class RequestQueue {
    private static final Logger log = LoggerFactory.getLogger(RequestQueue.class);
    private static final AtomicLong SERIAL = new AtomicLong();
    static final long CLOSE_MILLIS = 2_000;
    private static final long RESTART_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** So many at once, beside renewals: those that come meanwhile must not wait for all that claim. */
    static final int LARGEST_BATCH = 1_000;

    private final Source source;
    private final BatchExecutor executor;
    private final long breatherNanos;
    private final String name = "bellwether-sql-" + SERIAL.incrementAndGet();
    private volatile Thread thread;
    private volatile List<Queued> underWay = List.of();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition news = lock.newCondition();
    private final ArrayDeque<Queued> queue = new ArrayDeque<>(); // guarded by lock
    private boolean woken; // guarded by lock
    private boolean closed; // guarded by lock

    /**
     * A request, and when it was made.
     *
     * @param again whether it was put back, behind the renewals
     */
    record Queued(Request<?> request, long bornNanos, boolean again) {
        /** Whether nobody waits for it any more. */
        boolean isStale(long nowNanos) {
            return nowNanos - bornNanos > request.patience().toNanos();
        }
    }

    RequestQueue(Source source, BatchExecutor executor, Dialect dialect) {
        this.source = source;
        this.executor = executor;
        breatherNanos = dialect.breather().toNanos();
        thread = newThread();
    }

    private Thread newThread() {
        return BackendThread.of(name, this::run, this::died);
    }

    /** Anybody who was being served hears of it; all others are served by another thread. */
    private void died(Throwable death) {
        var hurt = underWay;
        underWay = List.of();
        hurt.forEach(queued -> executor.fail(queued.request(), death));
        BackendThread.pause(RESTART_NANOS);
        thread = newThread();
        thread.start();
    }

    void start() {
        thread.start();
    }

    <T> CompletionStage<T> submit(Request<T> request) {
        var stale = new ArrayList<Queued>();
        lock.lock();
        try {
            if (closed) {
                request.answer().completeExceptionally(new UnavailableException(source + " is closed"));
                return request.answer();
            }
            var now = System.nanoTime();
            for (var oldest = queue.peek(); oldest != null && oldest.isStale(now); oldest = queue.peek()) {
                executor.unsent(oldest.request()); // while no later claim can be served
                stale.add(queue.remove()); // so that what piles up while the executor is held up is bounded by patience
            }
            queue.add(new Queued(request, now, false));
            news.signal();
        } finally {
            lock.unlock();
        }
        stale.forEach(queued -> queued.request().answer().completeExceptionally(executor.tooLate(queued.request())));
        return request.answer();
    }

    /** Lets the executor look at what it does by itself. */
    void wake() {
        lock.lock();
        try {
            woken = true;
            news.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Finishes what was submitted before, but waits for it only so long. */
    void close() {
        lock.lock();
        try {
            closed = true;
            news.signal();
        } finally {
            lock.unlock();
        }
        if (!joined(thread, CLOSE_MILLIS)) {
            executor.abort();
            joined(thread, CLOSE_MILLIS);
        }
    }

    /**
     * Waits for the end of a thread, but only so long. Anybody who is interrupted meanwhile waits anyway, and stays
     * interrupted.
     */
    static boolean joined(Thread thread, long millis) {
        var interrupted = false;
        var until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (var left = millis; left > 0 && thread.isAlive(); ) {
            try {
                thread.join(left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return !thread.isAlive();
    }

    private void run() {
        for (var batch = take(); batch != null; batch = take()) {
            Thread.interrupted(); // of somebody else's: a pool or a driver would give up its waits
            underWay = batch;
            try {
                var rest = executor.serve(batch);
                executor.lookAround();
                putBack(rest);
            } catch (RuntimeException | Error e) {
                log.error("a fault in the elections on {}", source, e);
                executor.fail(batch.stream().map(Queued::request).toList(), e);
                BackendThread.pause(RESTART_NANOS); // what comes round may be due still
            }
            if (!batch.isEmpty() && breatherNanos > 0) {
                BackendThread.pause(breatherNanos);
            }
        }
        executor.close();
    }

    /** To be served first, behind what renewals have come meanwhile. */
    private void putBack(List<Queued> rest) {
        lock.lock();
        try {
            for (var i = rest.size() - 1; i >= 0; i--) {
                queue.addFirst(new Queued(rest.get(i).request(), rest.get(i).bornNanos(), true));
            }
        } finally {
            lock.unlock();
        }
    }

    /** Takes all renewals, and of the others so many in their order. */
    static List<Queued> takeBatch(ArrayDeque<Queued> queue) {
        var batch = new ArrayList<Queued>();
        var later = new ArrayList<Queued>();
        var others = 0;
        for (var queued : queue) {
            if (queued.request() instanceof Request.Renew) {
                batch.add(queued);
            } else if (others < LARGEST_BATCH) {
                others++;
                batch.add(queued);
            } else {
                later.add(queued);
            }
        }
        queue.clear();
        queue.addAll(later);
        return batch;
    }

    /** Waits for requests, or for the time at which the executor wants to look around. Returns null if closed. */
    private @Nullable List<Queued> take() {
        lock.lock();
        try {
            while (queue.isEmpty() && !closed) {
                var wait = executor.nextLookNanos() - System.nanoTime();
                if (wait <= 0 || woken) {
                    woken = false;
                    return List.of();
                }
                try {
                    news.awaitNanos(wait);
                } catch (InterruptedException e) {
                    // forgotten: who closes says so otherwise, and nobody else may end this
                }
            }
            if (queue.isEmpty()) {
                return null;
            }
            return takeBatch(queue);
        } finally {
            lock.unlock();
        }
    }
}
