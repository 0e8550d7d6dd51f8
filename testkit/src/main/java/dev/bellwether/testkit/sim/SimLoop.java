package dev.bellwether.testkit.sim;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The loop of one process, in virtual time. Turns come in the order in which they were posted, timers at their time or
 * a little later; while the loop is held up they wait.
 */
final class SimLoop implements Loop {
    private final World world;
    private final SimProcess process;
    private final Clock clock = new ThrowingClock();
    private final SplittableRandom random;
    private final SplittableRandom state; // as it was at the beginning
    private final List<Turn> waiting = new ArrayList<>();
    private final List<Turn> asleep = new ArrayList<>();
    private int armed;
    private boolean closed;

    SimLoop(World world, SimProcess process, @Nullable SimLoop original) {
        this.world = world;
        this.process = process;
        // the state of chance of a copy is that of its original, but they draw from then on as their own turns have it
        state = original == null ? world.random().split() : original.state;
        random = state.split();
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
        process.mayThrow("posting a turn");
        if (!closed && !process.workers().held(() -> execute(turn))) {
            var posted = new Turn(turn, false, 0);
            world.agenda().at(world.agenda().now(), () -> run(posted));
        }
    }

    @Override
    public Timer at(long nanos, Runnable turn) {
        process.mayThrow("setting a timer");
        return set(nanos, turn);
    }

    /** As the real one, it sets itself again without needing anything that may fail. */
    @Override
    public Timer every(long nanos, Runnable turn) {
        var repeating = new Repeating(nanos, turn);
        repeating.setAgain();
        return repeating;
    }

    private Turn set(long nanos, Runnable turn) {
        var timer = new Turn(turn, true, nanos);
        armed++;
        arm(timer);
        return timer;
    }

    @Override
    public void close() {
        closed = true;
        armed = 0;
    }

    /** Returns how many timers are armed. */
    int armed() {
        return armed;
    }

    /**
     * The loop may run again: what waited has its turn, in the order of arrival or, as the real loop does, timers last.
     */
    void resume() {
        var due = List.copyOf(waiting);
        waiting.clear();
        var timersLast = random.nextBoolean();
        if (timersLast) {
            due.stream().filter(turn -> !turn.timer).forEach(this::post);
            due.stream().filter(turn -> turn.timer).forEach(this::post);
        } else {
            due.forEach(this::post);
        }
    }

    /** The monotonic clock runs again. */
    void awake() {
        var timers = List.copyOf(asleep);
        asleep.clear();
        timers.forEach(this::arm);
    }

    private void post(Turn turn) {
        world.agenda().at(world.agenda().now(), () -> run(turn));
    }

    private void arm(Turn timer) {
        var left = timer.nanos - clock().nanos();
        if (left > 0 && process.machineClock().isStopped()) {
            asleep.add(timer);
            return;
        }
        var delay = left <= 0
                ? 0
                : process.machineClock().trueNanos(left) + world.weather().lateness(random);
        world.agenda().in(delay, () -> {
            if (timer.cancelled || closed || process.isDead()) {
                return;
            }
            if (timer.nanos - clock().nanos() > 0) {
                arm(timer); // the clock had stopped meanwhile
            } else {
                run(timer);
            }
        });
    }

    private void run(Turn turn) {
        if (turn.cancelled || closed || process.isDead()) {
            return;
        }
        var hiccup = process.loopRuns() && waiting.isEmpty() ? world.weather().hiccup(random) : 0;
        if (hiccup > 0) {
            process.stall(hiccup, "hiccup");
        }
        if (!process.loopRuns() || !waiting.isEmpty()) {
            waiting.add(turn);
            return;
        }
        if (turn.timer) {
            turn.cancelled = true;
            armed--;
        }
        world.turned(process);
        try {
            process.inCore(turn.what);
        } catch (RuntimeException | Error e) {
            if (SimProcess.isPlanned(e)) {
                world.trace().line(process.name(), "a turn that belongs to no candidacy has failed");
                return;
            }
            world.violate("no turn of the loop fails", process.name() + ": " + e, e);
        }
    }

    private final class Repeating implements Timer {
        private final long nanos;
        private final Runnable what;
        private @Nullable Turn next;

        private Repeating(long nanos, Runnable what) {
            this.nanos = nanos;
            this.what = what;
        }

        private void setAgain() {
            next = set(clock().nanos() + nanos, () -> {
                setAgain();
                what.run();
            });
        }

        @Override
        public void cancel() {
            if (next != null) {
                next.cancel();
            }
        }
    }

    /** The clock of the machine; but a reading takes memory, too. */
    private final class ThrowingClock implements Clock {
        @Override
        public long nanos() {
            return process.machineClock().nanos();
        }

        @Override
        public long wallMillis() {
            return process.machineClock().wallMillis();
        }

        @Override
        public Moment now() {
            process.mayThrow("reading the clocks");
            return process.machineClock().now();
        }
    }

    private final class Turn implements Timer {
        private final Runnable what;
        private final boolean timer;
        private final long nanos;
        private boolean cancelled;

        private Turn(Runnable what, boolean timer, long nanos) {
            this.what = what;
            this.timer = timer;
            this.nanos = nanos;
        }

        @Override
        public void cancel() {
            if (!cancelled) {
                cancelled = true;
                armed--;
            }
        }
    }
}
