package dev.bellwether.spi;

import java.util.concurrent.Executor;
import java.util.random.RandomGenerator;

/**
 * One thread's worth of turns, run one at a time, with a clock. All state of an {@link dev.bellwether.Elections} is
 * confined to its loop.
 *
 * <p>{@link #execute} may be called from any thread, {@link #at} on the loop only. After {@link #close} nothing more is
 * run, and {@code execute} does nothing.
 */
public interface Loop extends Executor, AutoCloseable {

    /** Returns the clock by which the loop runs. */
    Clock clock();

    /** Returns a source of chance, to be used on the loop only. */
    RandomGenerator random();

    /** Runs a turn when the monotonic clock reaches the given value, or at once if it has. */
    Timer at(long nanos, Runnable turn);

    /**
     * Runs a turn again and again, so far apart, until it is taken back. What has begun goes on whatever happens: a
     * loop should set it again without needing memory for it, as the one of core does.
     */
    default Timer every(long nanos, Runnable turn) {
        return new Repeating(this, nanos, turn);
    }

    /**
     * Returns the loop for turns that several candidacies share. A candidacy's own loop runs none of its turns while it
     * cannot clean up after one that threw, and takes each that throws for a fault of that candidacy; this one does
     * neither.
     */
    default Loop shared() {
        return this;
    }

    /**
     * Runs a turn now, as one of this loop's; on the loop, also within a turn that is shared. On a candidacy's own loop
     * it throws nothing, unless it is part of a turn of that candidacy: then it throws there.
     */
    default void runNow(Runnable turn) {
        turn.run();
    }

    @Override
    void close();

    /** A turn to come. */
    interface Timer {
        /** Takes it back; does nothing if it has run. */
        void cancel();
    }
}
