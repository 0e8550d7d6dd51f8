package dev.bellwether.internal.loop;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import java.util.random.RandomGenerator;

/** Another loop, for those that do one thing otherwise. */
public class ForwardingLoop implements Loop {
    private final Loop loop;

    protected ForwardingLoop(Loop loop) {
        this.loop = loop;
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
        loop.execute(turn);
    }

    @Override
    public Timer at(long nanos, Runnable turn) {
        return loop.at(nanos, turn);
    }

    @Override
    public void close() {
        loop.close();
    }
}
