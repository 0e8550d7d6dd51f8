package dev.bellwether.testkit.sim;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/**
 * A thread of one member, in virtual time: the loop of its elections, or its client of the group. While it is held up
 * its turns wait.
 */
final class RosterLoop implements Loop {
    private final RosterWorld world;
    private final SimClock clock;
    private final SplittableRandom random;
    private final boolean decides;
    private final List<Runnable> waiting = new ArrayList<>();
    private int holds;
    private boolean closed;

    RosterLoop(RosterWorld world, SimClock clock, boolean decides) {
        this.world = world;
        this.decides = decides;
        this.clock = clock;
        random = world.random().split();
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
        world.agenda().at(world.agenda().now(), () -> run(turn));
    }

    @Override
    public Timer at(long nanos, Runnable turn) {
        var timer = new Armed(turn);
        var delay = Math.max(0, clock.trueNanos(nanos - clock.nanos()));
        world.agenda().in(delay, () -> run(timer));
        return timer;
    }

    @Override
    public void close() {
        closed = true;
    }

    void hold() {
        holds++;
    }

    /** What waited has its turn, in the order of arrival. */
    void resume() {
        holds--;
        if (holds == 0) {
            var due = List.copyOf(waiting);
            waiting.clear();
            due.forEach(this::execute);
        }
    }

    private void run(Runnable turn) {
        if (closed) {
            return;
        }
        if (holds > 0) {
            waiting.add(turn);
            return;
        }
        if (decides) {
            world.turned();
        }
        try {
            turn.run();
        } catch (Thrown e) {
            // what was not caught below ends here, as on a real loop: the other turns go on
            world.trace().line("loop", "a turn ended in what was thrown");
        } catch (RuntimeException | Error e) {
            world.violate("no turn of the loop fails", e.toString(), e);
        }
    }

    /** Thrown by a call that the world has fail. */
    static final class Thrown extends Error {
        private static final long serialVersionUID = 1;

        Thrown(String call) {
            super("the world has " + call + " fail");
        }
    }

    private static final class Armed implements Timer, Runnable {
        private final Runnable turn;
        private boolean over;

        private Armed(Runnable turn) {
            this.turn = turn;
        }

        @Override
        public void run() {
            if (!over) {
                over = true;
                turn.run();
            }
        }

        @Override
        public void cancel() {
            over = true;
        }
    }
}
