package dev.bellwether.testkit.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Where the listeners and tasks of one process run. On threads of the {@link SimThreads}, so that they may sleep in
 * virtual time; or, where speed counts, at once, with what they post to the loop held back for as long as they said to
 * be
 * {@linkplain #busy}.
 */
final class Workers implements Executor {
    private final World world;
    private final SimProcess process;
    private final boolean atOnce;
    private @Nullable List<Runnable> heldBack; // while a piece runs at once
    private long busyNanos;
    private int inFlight;
    private int spawned;

    Workers(World world, SimProcess process, boolean atOnce) {
        this.world = world;
        this.process = process;
        this.atOnce = atOnce;
    }

    /** Runs a piece of core's, and reckons it as running until core has learned that it ended. */
    @Override
    public void execute(Runnable piece) {
        inFlight++;
        soon(() -> {
            piece.run();
            process.loop().execute(() -> inFlight--);
        });
    }

    /** Returns whether nothing that core gave us is running, or waiting to run. */
    boolean areIdle() {
        return inFlight == 0;
    }

    /** Runs a piece of the application's own, as a thread of its own. */
    void spawn(Runnable piece) {
        spawned++;
        soon(() -> {
            try {
                piece.run();
            } finally {
                spawned--;
            }
        });
    }

    /** Returns whether code that the application spawned has not ended. */
    boolean haveSpawned() {
        return spawned > 0;
    }

    private void soon(Runnable piece) {
        world.agenda().in(world.weather().lateness(world.random()), () -> process.whenRunning(() -> run(piece)));
    }

    /** Runs something as this process does. */
    void run(Runnable piece) {
        if (!atOnce) {
            world.crew().start(process, piece);
            return;
        }
        var held = new ArrayList<Runnable>();
        heldBack = held;
        busyNanos = 0;
        try {
            piece.run();
        } finally {
            heldBack = null;
        }
        if (busyNanos == 0) {
            held.forEach(Runnable::run);
        } else {
            world.agenda().in(busyNanos, () -> process.whenRunning(() -> held.forEach(Runnable::run)));
        }
    }

    /**
     * Holds something back until the piece that is running has ended; returns false if none is that would hold it back.
     */
    boolean held(Runnable post) {
        if (heldBack == null) {
            return false;
        }
        heldBack.add(post);
        return true;
    }

    /** Makes the present piece last so long. */
    void busy(long nanos) {
        busyNanos += nanos;
    }

    boolean atOnce() {
        return atOnce;
    }
}
