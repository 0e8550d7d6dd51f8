package dev.bellwether.internal.loop;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The loop as one machine sees it: whatever a turn of that machine throws is told to the machine, which then ends in
 * order.
 *
 * <p>Confined to the loop, except {@link #execute}, which is for any thread.
 */
public final class GuardedLoop implements Loop {
    /*
     * A turn that throws leaves its machine half way between two states: a timer cancelled and not set again, a mandate
     * ended and the listener not told. To repair that, one must know that it happened, wherever in the turn it was. So
     * all turns of a machine, those of its seat with the backend included, come through here.
     *
     * To recover takes memory, too, and may throw as the turn did. Then it is tried again at the next turn, and no
     * other turn runs before it has succeeded. The owner must see to it that there is a next turn, by `runNow`, now and
     * then.
     */
    private static final Logger log = LoggerFactory.getLogger(GuardedLoop.class);

    private final Loop loop;
    private final Consumer<Throwable> recovery;
    private @Nullable Throwable thrown; // by a turn, and not recovered from
    private int depth;

    /** The recovery is told what was thrown; if it throws itself, it is told again. */
    public GuardedLoop(Loop loop, Consumer<Throwable> recovery) {
        this.loop = loop;
        this.recovery = recovery;
    }

    @Override
    public void runNow(Runnable turn) {
        if (depth > 0) {
            turn.run(); // part of a turn: whatever it throws breaks that
            return;
        }
        depth++;
        try {
            if (thrown == null || recovered()) {
                turn.run();
            }
        } catch (Throwable e) { // of whatever kind: nothing may leave the machine as it is now
            thrown = e;
            recovered();
        } finally {
            depth--;
        }
    }

    /** A turn that is posted there runs whatever has become of the machine whose loop this is. */
    @Override
    public Loop shared() {
        return loop;
    }

    private boolean recovered() {
        var cause = thrown;
        if (cause == null) {
            return true;
        }
        try {
            recovery.accept(cause);
            thrown = null;
            return true;
        } catch (Throwable e) { // as the turn did: there is another try
            Quietly.run(() -> log.error("cannot clean up yet after a turn that failed; trying again", e));
            return false;
        }
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
        loop.execute(() -> runNow(turn));
    }

    /**
     * Posts a turn with a note that is made even if the turn cannot be run, because a turn before it has broken its
     * machine.
     */
    public static void execute(Loop loop, Runnable note, Runnable turn) {
        loop.shared().execute(() -> {
            note.run();
            loop.runNow(turn);
        });
    }

    @Override
    public Timer at(long nanos, Runnable turn) {
        return loop.at(nanos, () -> runNow(turn));
    }

    @Override
    public Timer every(long nanos, Runnable turn) {
        return loop.every(nanos, () -> runNow(turn));
    }

    @Override
    public void close() {
        loop.close();
    }
}
