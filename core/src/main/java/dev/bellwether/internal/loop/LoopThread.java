package dev.bellwether.internal.loop;

import dev.bellwether.spi.BackendThread;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import java.time.Duration;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The loop on a daemon thread of its own, which parks when there is nothing to do.
 *
 * <p>{@link #execute} and {@link #close} are for any thread; everything else is confined to the loop.
 */
public final class LoopThread implements Loop {
    /*
     * A stall shows in two ways: a turn that runs late, and a wall clock that ran on while the monotonic one stood
     * still. We look for both whenever we wake, which is at least once a second, so that a suspended machine is noticed
     * soon after it comes back, and the mandate's holders are told.
     */
    private static final Logger log = LoggerFactory.getLogger(LoopThread.class);
    private static final AtomicLong SERIAL = new AtomicLong();
    private static final long AFTER_FAILURE_NANOS = 1_000_000L;
    private static final long LONGEST_PARK_NANOS = 1_000_000_000L;
    /** Timers get their turn after so many of the inbox, however full it is. */
    private static final int LONGEST_BATCH = 1_000;

    private final Clock clock;
    private final long pauseBoundNanos;
    private final BiConsumer<Duration, String> onStall;
    private final RandomGenerator random = RandomGenerator.of("L64X128MixRandom");
    private final ConcurrentLinkedQueue<Runnable> inbox = new ConcurrentLinkedQueue<>();
    private final PriorityQueue<Turn> timers = new PriorityQueue<>();
    private final Thread thread;
    private volatile boolean parked;
    private volatile boolean closed;
    private boolean begun;
    private long lastNanos; // when we last looked at the clocks
    private long lastWallMillis;
    private long order;
    private int cancelled; // timers taken back that still stand in the queue, or did so a while ago

    /** The last is told how long the loop did not run, and how that showed. */
    public LoopThread(Clock clock, Duration pauseBound, BiConsumer<Duration, String> onStall) {
        this.clock = clock;
        this.pauseBoundNanos = pauseBound.toNanos();
        this.onStall = onStall;
        thread = new Thread(this::run, "bellwether-loop-" + SERIAL.incrementAndGet());
        thread.setDaemon(true);
    }

    public void start() {
        thread.start();
    }

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
            inbox.add(turn);
            if (parked) {
                LockSupport.unpark(thread);
            }
        }
    }

    @Override
    public Timer at(long nanos, Runnable turn) {
        return add(nanos, 0, turn);
    }

    @Override
    public Timer every(long nanos, Runnable turn) {
        return add(clock.nanos() + nanos, nanos, turn);
    }

    private Timer add(long nanos, long everyNanos, Runnable turn) {
        var timer = new Turn(nanos, everyNanos, clock.nanos(), order++, turn);
        timers.add(timer);
        if (cancelled > LONGEST_BATCH && cancelled > timers.size() / 2) {
            timers.removeIf(each -> each.turn == null);
            cancelled = 0;
        }
        return timer;
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    /** Nothing that is thrown ends the thread: all candidacies live on it, and would lead on without a heartbeat. */
    private void run() {
        while (!closed) {
            try {
                turnOnce();
            } catch (Throwable e) {
                try { // without memory not even a text may be had that was not used before: so all is inside
                    log.error("the loop failed; it continues", e);
                    BackendThread.pause(AFTER_FAILURE_NANOS);
                } catch (Throwable again) {
                    Thread.onSpinWait(); // there is a next time, which may have some
                }
            }
        }
    }

    private void turnOnce() {
        var worked = drainInbox() + runTimers();
        var nanos = clock.nanos();
        var wallMillis = clock.wallMillis();
        if (begun) {
            var jumpNanos = (wallMillis - lastWallMillis) * 1_000_000 - (nanos - lastNanos);
            if (jumpNanos > pauseBoundNanos) {
                stalled(jumpNanos, "the wall clock moved while this process did not: suspended, or set");
            }
        }
        begun = true;
        lastNanos = nanos;
        lastWallMillis = wallMillis;
        if (worked == 0) {
            park();
        }
    }

    private int drainInbox() {
        var worked = 0;
        while (worked < LONGEST_BATCH) {
            var turn = inbox.poll();
            if (turn == null) {
                break;
            }
            runTurn(turn);
            worked++;
        }
        return worked;
    }

    private int runTimers() {
        var now = clock.nanos();
        var worked = 0;
        for (var timer = timers.peek(); timer != null && now - timer.nanos >= 0; timer = timers.peek()) {
            timers.poll();
            var turn = timer.turn;
            if (turn != null) {
                var lateNanos = now - timer.runnableNanos();
                if (timer.everyNanos > 0) {
                    timer.again(now);
                    timers.add(timer); // into the place that it has just left, which takes no memory
                } else {
                    timer.turn = null;
                }
                if (worked == 0 && lateNanos > pauseBoundNanos) {
                    stalled(lateNanos, "a turn ran late"); // one report for all that this stall delayed
                }
                runTurn(turn);
                worked++;
            }
        }
        return worked;
    }

    private void park() {
        var next = timers.peek();
        var nanos = next == null ? LONGEST_PARK_NANOS : Math.min(LONGEST_PARK_NANOS, next.nanos - clock.nanos());
        parked = true;
        if (inbox.isEmpty() && nanos > 0 && !closed) {
            BackendThread.pause(nanos);
        }
        parked = false;
    }

    private static void runTurn(Runnable turn) {
        try {
            turn.run();
        } catch (Throwable e) {
            try {
                log.error("a turn of the loop failed; the others continue", e);
            } catch (Throwable again) {
                return; // it has been run, which is what counts
            }
        }
    }

    private void stalled(long nanos, String how) {
        try {
            onStall.accept(Duration.ofNanos(nanos), how);
        } catch (Throwable e) {
            return; // for lack of memory, too: the turn that is late is out of the queue, and would be lost
        }
    }

    /** A turn to come; taken back by forgetting what to run. */
    private final class Turn implements Timer, Comparable<Turn> {
        private final long everyNanos;
        private final long order;
        private long nanos; // changes only while it is not in the queue
        private long setNanos;
        private @Nullable Runnable turn;

        private Turn(long nanos, long everyNanos, long setNanos, long order, Runnable turn) {
            this.nanos = nanos;
            this.everyNanos = everyNanos;
            this.setNanos = setNanos;
            this.order = order;
            this.turn = turn;
        }

        /** From when on it could run: one that is set for the past is not late for that. */
        private long runnableNanos() {
            return setNanos - nanos > 0 ? setNanos : nanos;
        }

        private void again(long now) {
            nanos = now + everyNanos;
            setNanos = now;
        }

        @Override
        public void cancel() {
            if (turn != null) {
                turn = null;
                cancelled++;
            }
        }

        @Override
        public int compareTo(Turn other) {
            var byTime = Long.signum(nanos - other.nanos);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }
}
