package dev.bellwether.internal.election;

import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Gives a {@link CandidacyMachine} its turns: a command, then the news that the work has ended, then the timer for what
 * is due next. Confined to the loop.
 */
public final class MachineTurns {
    /** The exit code of a process that {@link dev.bellwether.CandidacyConfig#haltOnOverrun} halted. */
    private static final int HALTED = 86;

    private final CandidacyMachine machine;
    private final Loop loop;
    private final BooleanSupplier workHasEnded;
    private final Consumer<Moment> settled;
    private Loop.@Nullable Timer timer;
    private long timerNanos;

    /**
     * Makes them.
     *
     * @param workHasEnded whether nothing of listener or task is running or waiting to run
     * @param settled what follows in each turn
     */
    public MachineTurns(CandidacyMachine machine, Loop loop, BooleanSupplier workHasEnded, Consumer<Moment> settled) {
        this.machine = machine;
        this.loop = loop;
        this.workHasEnded = workHasEnded;
        this.settled = settled;
    }

    /** Takes one, with this command. */
    public void take(Consumer<Moment> command) {
        var now = loop.clock().now();
        command.accept(now);
        var ends = true;
        while (ends && workHasEnded.getAsBoolean()) {
            ends = machine.workEnded(now);
        }
        wakeAt(machine.wakeAtNanos());
        settled.accept(now);
    }

    /** Sets the timer, unless it goes off sooner as it is: then it finds nothing to do, and sets itself again. */
    private void wakeAt(@Nullable Long nanos) {
        if (timer != null && (nanos == null || nanos - timerNanos < 0)) {
            timer.cancel();
            timer = null;
        }
        if (timer == null && nanos != null) {
            timerNanos = nanos;
            timer = loop.at(nanos, () -> {
                timer = null;
                take(machine::tick);
            });
        }
    }

    /** Halts the process, because work outlasts the mandate that has ended. */
    public static void halt(Logger log, LocalMandate ended) {
        Quietly.run(
                () -> log.error("{} outlasts its lease: halting the process, as configured by haltOnOverrun", ended));
        Runtime.getRuntime().halt(HALTED);
    }
}
