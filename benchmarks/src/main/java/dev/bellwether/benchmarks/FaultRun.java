package dev.bellwether.benchmarks;

import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.BenchFault;
import dev.bellwether.testkit.faults.Contestant;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.Findings;
import dev.bellwether.testkit.faults.Nemesis;
import java.time.Duration;
import java.util.Collections;

/**
 * A run of the fault bench; prints what was found, whatever it is.
 *
 * @param seed of what is done; the same for all who are compared
 */
record FaultRun(Duration time, Duration lease, long seed) implements Trial {
    /** How the figures of such a run begin. */
    static final String FIGURES = "fault bench: ";

    private static final int SHOWN = 5;
    /** A longer lease makes faults longer, and so fewer. */
    private static final int LONGER = 5;

    @Override
    public FaultRun withLease(Duration longer) {
        return new FaultRun(time.multipliedBy(LONGER), longer, seed);
    }

    @Override
    public void hold(String who, Class<? extends Contestant.Maker> maker, BenchEnvironment ground) {
        var name = who + " on " + ground.describe();
        System.out.printf("%n%s, lease %s, %d s, seed %d%n", name, lease, time.toSeconds(), seed);
        var setting = FaultBench.Setting.of(name.replaceAll("[^A-Za-z0-9]+", "-") + "-" + seed, lease)
                .with(maker);
        try (var bench = new FaultBench(ground, setting)) {
            bench.startAll();
            var nemesis = new Nemesis(bench, seed);
            nemesis.run(time);
            var findings = bench.end();
            System.out.println(findings);
            findings.faults().stream().limit(SHOWN).forEach(fault -> System.out.println("  ! " + fault));
            if (findings.faults().size() > SHOWN) {
                System.out.println("  ! and " + (findings.faults().size() - SHOWN) + " more");
            }
            write(who, ground.describe(), nemesis.begun(), findings);
        } catch (AssertionError e) {
            System.out.println("  ! broken off: " + e.getMessage());
        }
    }

    private void write(String who, String where, int faults, Findings findings) {
        var setting = " (lease %d ms; %d s; seed %d)".formatted(lease.toMillis(), time.toSeconds(), seed);
        var overlaps = findings.overlaps();
        value(where, "faults" + setting, "faults", who, faults);
        value(where, "terms" + setting, "terms", who, findings.terms().size());
        value(where, "two led at once" + setting, "times", who, overlaps.size());
        value(where, "two led at once in all" + setting, "ms", who, findings.overlapNanos() / 1e6);
        value(
                where,
                "two led at once for the longest" + setting,
                "ms",
                who,
                overlaps.isEmpty() ? 0 : Collections.max(overlaps) / 1e6);
        value(where, "nobody led in the end" + setting, "times", who, findings.isStalled() ? 1 : 0);
        value(where, "late writes that a guard must refuse" + setting, "writes", who, (double) findings.refused());
        Samples.nanos(where, FIGURES + "vacant after a kill" + setting, who, findings.vacancies(BenchFault.KILL));
    }

    private static void value(String where, String what, String unit, String who, double value) {
        Samples.value(where, FIGURES + what, unit, who, value);
    }
}
