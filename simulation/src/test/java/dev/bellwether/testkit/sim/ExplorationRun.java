package dev.bellwether.testkit.sim;

import static dev.bellwether.testkit.sim.Chosen.Deviation.ANSWER;
import static dev.bellwether.testkit.sim.Chosen.Deviation.DOUBLE;
import static dev.bellwether.testkit.sim.Chosen.Deviation.END;
import static dev.bellwether.testkit.sim.Chosen.Deviation.STALL;
import static dev.bellwether.testkit.sim.Chosen.Deviation.THROW;
import static dev.bellwether.testkit.sim.Chosen.Situation.BEGINNING;
import static dev.bellwether.testkit.sim.Chosen.Situation.CLAIMED;
import static dev.bellwether.testkit.sim.Chosen.Situation.LED;
import static dev.bellwether.testkit.sim.Chosen.Situation.RENEWED;
import static dev.bellwether.testkit.sim.Chosen.Situation.RENEWING;
import static dev.bellwether.testkit.sim.Chosen.Situation.REPLACED;

import dev.bellwether.testkit.sim.Chosen.Deviation;
import dev.bellwether.testkit.sim.Chosen.Situation;
import java.lang.management.ManagementFactory;
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

    /**
     * What is explored.
     *
     * @param depth how many steps a history may have, from where the exploring begins
     */
    record Part(String name, int depth, Supplier<Chosen> worlds) {
        static Part leases(int depth, Situation begin, int candidates, int faults, Deviation... deviations) {
            return of("leases", depth, begin, candidates, faults, deviations);
        }

        static Part records(int depth, Situation begin, int candidates, int faults, Deviation... deviations) {
            return of("records", depth, begin, candidates, faults, deviations);
        }

        static Part journal(int depth, Situation begin, int members, int faults) {
            return new Part(
                    name("journal", begin, members, faults, "any"),
                    depth + DEEPER,
                    () -> new ChosenJournal(begin, members, faults));
        }

        private static Part of(
                String seats, int depth, Situation begin, int candidates, int faults, Deviation... deviations) {
            var works = Set.of(deviations).contains(Deviation.END);
            var setting = new ChosenWorld.Setting(
                    begin,
                    seats.equals("records"),
                    candidates,
                    faults,
                    Set.of(deviations),
                    works ? LONG : SHORT,
                    works);
            return new Part(
                    name(seats, begin, candidates, faults, Arrays.toString(deviations)),
                    depth + DEEPER,
                    () -> new ChosenWorld(setting));
        }

        private static String name(String seats, Situation begin, int candidates, int faults, String deviations) {
            return seats + ", " + begin + ", " + candidates + " candidates, " + faults + " of " + deviations;
        }
    }

    static final List<Part> PARTS = List.of(
            Part.leases(6, BEGINNING, 2, 2, ANSWER, DOUBLE),
            Part.leases(6, BEGINNING, 2, 2, STALL, THROW),
            Part.leases(6, BEGINNING, 2, 2, END),
            Part.leases(5, BEGINNING, 3, 1, ANSWER, STALL, END),
            Part.leases(8, LED, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.leases(9, RENEWED, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.leases(7, CLAIMED, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.leases(7, RENEWING, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.leases(6, REPLACED, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.leases(8, LED, 2, 1, END),
            Part.leases(7, REPLACED, 2, 1, END),
            Part.records(6, BEGINNING, 2, 2, ANSWER, DOUBLE),
            Part.records(6, BEGINNING, 2, 2, STALL, THROW),
            Part.records(6, BEGINNING, 2, 2, END),
            Part.records(5, BEGINNING, 3, 1, ANSWER, STALL, END),
            Part.records(7, LED, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.records(9, RENEWED, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.records(7, CLAIMED, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.records(6, RENEWING, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.records(6, REPLACED, 2, 1, ANSWER, DOUBLE, STALL, THROW),
            Part.records(8, LED, 2, 1, END),
            Part.records(6, REPLACED, 2, 1, END),
            Part.journal(9, BEGINNING, 2, 1),
            Part.journal(7, BEGINNING, 3, 1),
            Part.journal(7, LED, 2, 1),
            Part.journal(7, RENEWED, 2, 1),
            Part.journal(8, RENEWED, 2, 0));

    /** Returns how long this thread has run, which does not depend on what else the machine does. */
    static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** Returns the number of the first part whose name begins so. */
    static int numberOf(String beginning) {
        for (var number = 0; number < PARTS.size(); number++) {
            if (PARTS.get(number).name.startsWith(beginning)) {
                return number;
            }
        }
        throw new IllegalArgumentException("no part begins with \"" + beginning + '"');
    }

    /** For reflection. */
    public ExplorationRun() {}

    /** Explores the part of this number; returns the figures, and what was found, if anything was. */
    @Override
    public String[] apply(long number) {
        var part = PARTS.get((int) number);
        var result = new Exploration(part.worlds, part.depth, Long.MAX_VALUE).run();
        return result.found()
                .map(found -> new String[] {result.toString(), found})
                .orElseGet(() -> new String[] {result.toString()});
    }
}
