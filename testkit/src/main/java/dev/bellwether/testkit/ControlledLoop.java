package dev.bellwether.testkit;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * A loop without a thread: turns run on the thread that brings them, one at a time; timers when the test lets time
 * pass.
 *
 * <p>Thread-safe. Anybody who comes while another thread runs turns leaves its own to that thread.
 */
final class ControlledLoop implements Loop {
    private static final long FIRST_MILLIS = 1_767_225_600_000L; // 2026-01-01T00:00:00Z
    private static final long SEED = 20_260_101;
    private static final long PATIENCE_SECONDS = 10;
    private static final Duration PATIENCE = Duration.ofSeconds(PATIENCE_SECONDS);

    private final ConcurrentLinkedQueue<Runnable> turns = new ConcurrentLinkedQueue<>();
    private final PriorityQueue<Alarm> alarms =
            new PriorityQueue<>(Comparator.comparingLong(Alarm::nanos).thenComparingLong(Alarm::serial));
    private final ReentrantLock running = new ReentrantLock();
    private final RandomGenerator random = new SplittableRandom(SEED);
    private final AtomicLong passedNanos = new AtomicLong();
    private volatile boolean closed;
    private long serial;

    private final Clock clock = new Clock() {
        @Override
        public long nanos() {
            return passedNanos.get();
        }

        @Override
        public long wallMillis() {
            return FIRST_MILLIS + TimeUnit.NANOSECONDS.toMillis(passedNanos.get());
        }
    };

    @Override
    public Clock clock() {
        return clock;
    }

    @Override
    public RandomGenerator random() {
        return random;
    }

    @Override
    public void execute(Runnable turn) {
        if (!closed) {
            turns.add(turn);
            drain();
        }
    }

    @Override
    public Timer at(long nanos, Runnable turn) {
        var alarm = new Alarm(nanos, serial++, turn);
        alarms.add(alarm);
        return () -> alarms.remove(alarm);
    }

    @Override
    public void close() {
        closed = true;
    }

    /** Runs this as a turn, with all that it entails. */
    void run(Runnable order) {
        call(() -> {
            order.run();
            return true;
        });
    }

    /** Runs this as a turn, with all that it entails, and returns what it returns. */
    <T> T call(Supplier<T> question) {
        if (running.isHeldByCurrentThread()) {
            throw new IllegalStateException("elections are controlled from outside, not from a listener or a task");
        }
        var answer = new CompletableFuture<T>();
        turns.add(() -> {
            try {
                answer.complete(question.get());
            } catch (RuntimeException | Error e) {
                answer.completeExceptionally(e);
            }
        });
        if (closed) {
            throw new IllegalStateException("these elections are closed");
        }
        drain();
        try {
            var answered = answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            Eventually.eventually("no turns are left", PATIENCE, this::settled);
            return answered;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            throw new IllegalStateException("a listener or a task has been blocking another thread", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    void advance(Duration time) {
        var until = passedNanos.get() + time.toNanos();
        var more = !closed;
        while (more) {
            more = call(() -> ringNext(until)); // with all that one alarm entails, before the next one rings
        }
    }

    /**
     * Lets time pass to the next alarm, or to the end. One that is overdue rings at once, and time does not run back
     * for it.
     */
    private boolean ringNext(long until) {
        var next = alarms.peek();
        if (next == null || next.nanos() - until > 0) {
            passedNanos.set(until);
            return false;
        }
        alarms.remove();
        passedNanos.accumulateAndGet(next.nanos(), Math::max);
        next.turn().run();
        return true;
    }

    void pause(Duration time) {
        passedNanos.addAndGet(time.toNanos());
        advance(Duration.ZERO);
    }

    /** Whatever another thread has begun may still be running there. */
    private boolean settled() {
        drain();
        return turns.isEmpty() && !running.isLocked();
    }

    private void drain() {
        while (!turns.isEmpty() && !running.isHeldByCurrentThread() && running.tryLock()) {
            try {
                for (var turn = turns.poll(); turn != null; turn = turns.poll()) {
                    turn.run();
                }
            } finally {
                running.unlock();
            }
        }
    }

    private record Alarm(long nanos, long serial, Runnable turn) {}
}
