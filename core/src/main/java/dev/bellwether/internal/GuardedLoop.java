package dev.bellwether.internal;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/** A loop as one of those sees it who share it: whatever a turn of that one throws is told to that one. As thread-safe as the loop. */
final class GuardedLoop implements Loop {
    private final Loop loop;
    private final Consumer<Throwable> onThrown;

    /** The second is called on the loop. */
    GuardedLoop(Loop loop, Consumer<Throwable> onThrown) {
        this.loop = loop;
        this.onThrown = onThrown;
    }

    @Override
    public Clock clock() {
        return loop.clock();
    }

    @Override
    public RandomGenerator random() {
        return loop.random();
    }

    @Override
    public void execute(Runnable turn) {
        loop.execute(() -> run(turn));
    }

    @Override
    public Timer at(long nanos, Runnable turn) {
        return loop.at(nanos, () -> run(turn));
    }

    /** Runs a turn now. On the loop. */
    void run(Runnable turn) {
        try {
            turn.run();
        } catch (Throwable e) { // of any kind: half a turn leaves a state that nobody has thought of
            onThrown.accept(e);
        }
    }

    /** The loop is shared, and not for one of them to close. */
    @Override
    public void close() {
        throw new UnsupportedOperationException("shared");
    }
}
