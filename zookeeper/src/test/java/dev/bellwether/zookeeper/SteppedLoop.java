package dev.bellwether.zookeeper;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.Comparator;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;

/**
 * A loop whose turns the test takes on its own thread, one by one: so it decides what comes first. The clocks are the
 * machine's.
 */
final class SteppedLoop implements Loop {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final ConcurrentLinkedQueue<Runnable> turns = new ConcurrentLinkedQueue<>();
    private final PriorityQueue<Alarm> alarms = new PriorityQueue<>(Comparator.comparingLong(Alarm::nanos));
    private final RandomGenerator random = new SplittableRandom(1);

    private record Alarm(long nanos, Runnable turn) {}

    /** Takes turns, and those of timers that are due, until this holds. */
    void until(String what, BooleanSupplier condition) {
        Eventually.eventually(what, PATIENCE, () -> {
            for (var turn = turns.poll(); turn != null; turn = turns.poll()) {
                turn.run();
            }
            while (!alarms.isEmpty() && alarms.element().nanos() - System.nanoTime() <= 0) {
                alarms.remove().turn().run();
            }
            return condition.getAsBoolean();
        });
    }

    /** Waits until so many turns wait to be taken, and takes none. */
    void awaitWaiting(int count) {
        Eventually.eventually(count + " turns wait, not " + turns.size(), PATIENCE, () -> turns.size() >= count);
    }

    /** Whether no turn waits. */
    boolean isIdle() {
        return turns.isEmpty();
    }

    /** Takes one turn that waits, and none that it causes. */
    void takeOne() {
        Objects.requireNonNull(turns.poll(), "no turn waits").run();
    }

    @Override
    public void execute(Runnable turn) {
        turns.add(turn);
    }

    @Override
    public Timer at(long nanos, Runnable turn) {
        var alarm = new Alarm(nanos, turn);
        alarms.add(alarm);
        return () -> alarms.remove(alarm);
    }

    @Override
    public Clock clock() {
        return Clock.system();
    }

    @Override
    public RandomGenerator random() {
        return random;
    }

    @Override
    public void close() {
        turns.clear();
        alarms.clear();
    }
}
