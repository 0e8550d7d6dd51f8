package dev.bellwether.testkit.sim;

import dev.bellwether.testkit.sim.Chosen.Deviation;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.function.Supplier;

/**
 * Explores over whatever core this class was loaded with. Speaks in types of the JDK only, since its caller knows
 * another core.
 */
public final class ExplorationRun implements LongFunction<String[]> {
    private static final Duration SHORT = Duration.ofMillis(10);
    private static final Duration LONG = Duration.ofSeconds(1);
    private static final int DEEPER = Integer.getInteger("bellwether.explore.deeper", 0);
    private static final int DEEP_WITH_A_FAULT = 20;
    private static final long PLAYED_WITH_A_FAULT = 60_000;

    /**
     * What is explored.
     *
     * @param depth how many steps a history may have
     */
    record Part(String name, int depth, Supplier<Chosen> worlds) {
        static Part of(int depth, boolean overRecords, int candidates, int faults, Deviation... deviations) {
            var works = Set.of(deviations).contains(Deviation.END);
            var setting = new ChosenWorld.Setting(
                    overRecords, candidates, faults, Set.of(deviations), works ? LONG : SHORT, works);
            return new Part(
                    (overRecords ? "records, " : "leases, ") + candidates + " candidates, " + faults + " of "
                            + Arrays.toString(deviations),
                    depth + DEEPER,
                    () -> new ChosenWorld(setting));
        }
    }

    static final List<Part> PARTS = List.of(
            Part.of(5, false, 2, 2, Deviation.ANSWER, Deviation.DOUBLE),
            Part.of(5, false, 2, 2, Deviation.STALL, Deviation.THROW),
            Part.of(6, false, 2, 2, Deviation.END),
            Part.of(4, false, 3, 1, Deviation.ANSWER, Deviation.STALL, Deviation.END),
            Part.of(5, true, 2, 2, Deviation.ANSWER, Deviation.DOUBLE),
            Part.of(5, true, 2, 2, Deviation.STALL, Deviation.THROW),
            Part.of(6, true, 2, 2, Deviation.END),
            Part.of(4, true, 3, 1, Deviation.ANSWER, Deviation.STALL, Deviation.END),
            new Part("a journal, 2 members, 1 of any", 9 + DEEPER, () -> new ChosenJournal(2, 1)),
            new Part("a journal, 3 members, 1 of any", 7 + DEEPER, () -> new ChosenJournal(3, 1)));

    /** For reflection. */
    public ExplorationRun() {}

    /** Explores the part of this number; returns the figures, and what was found, if anything was. */
    @Override
    public String[] apply(long number) {
        var part = PARTS.get((int) number);
        var result = new Exploration(part.worlds, DEEP_WITH_A_FAULT, PLAYED_WITH_A_FAULT).run();
        return result.found()
                .map(found -> new String[] {result.toString(), found})
                .orElseGet(() -> new String[] {result.toString()});
    }
}
