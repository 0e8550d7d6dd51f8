package dev.bellwether.benchmarks;

import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.BenchFault;
import dev.bellwether.testkit.faults.Contestant;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.Findings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * How long nobody leads, by what has become of the leader: it leaves, is killed, is frozen, is cut off. Candidates are
 * processes of their own, and what is told is from the last instant at which the old leader was seen to lead to the
 * first at which the new one was; where that is less than nothing, it is overlap.
 */
record Vacancies(int rounds, Duration lease) implements Trial {
    private static final List<BenchFault> FAULTS =
            List.of(BenchFault.LEAVE, BenchFault.KILL, BenchFault.FREEZE, BenchFault.CUT);
    /** For one that is back, to find that another leads. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    /** A longer lease makes rounds longer: two minutes, with one of 30 s. */
    private static final int FEW = 5;

    @Override
    public Vacancies withLease(Duration longer) {
        return new Vacancies(Math.min(FEW, rounds), longer);
    }

    @Override
    public void hold(String who, Class<? extends Contestant.Maker> maker, BenchEnvironment ground) {
        System.err.println("# " + who + " on " + ground.describe() + ", " + rounds + " rounds");
        var name = "vacancies-" + (who + '-' + ground.describe()).replaceAll("[^A-Za-z0-9]+", "-");
        var begun = System.nanoTime();
        try (var bench =
                new FaultBench(ground, FaultBench.Setting.of(name, lease).with(maker))) {
            bench.startAll();
            var after = new ArrayList<After>();
            for (var round = 0; round < rounds; round++) {
                for (var fault : FAULTS) {
                    after.add(after(fault, bench));
                }
                if (round % 10 == 9) {
                    System.err.println("  " + (round + 1) + " rounds done");
                }
            }
            tell(who, ground, bench.end(), after);
            System.err.printf("  %.1f s per round%n", (System.nanoTime() - begun) / 1e9 / rounds);
        } catch (AssertionError e) {
            System.out.println(who + " on " + ground.describe() + ": broken off, no figures: " + e.getMessage());
        }
    }

    private After after(BenchFault fault, FaultBench bench) {
        bench.awaitAll();
        var leader = bench.awaitLeader();
        var undo = bench.begin(fault, leader, lease);
        try {
            bench.awaitLeaderOtherThan(leader);
        } catch (AssertionError e) {
            System.err.println("  after " + fault + ": " + e.getMessage());
            undo.run();
            return After.NOBODY_LED;
        }
        undo.run();
        if (fault == BenchFault.LEAVE || fault == BenchFault.KILL || bench.leadsNoMore(leader, PATIENCE)) {
            return After.ANOTHER_LED;
        }
        bench.begin(BenchFault.KILL, leader, lease).run(); // so that there can be a next round
        return After.OLD_LED_ON;
    }

    /** What came of a fault. */
    private enum After {
        /** Another led, and the old leader did not, when it was back. */
        ANOTHER_LED,
        /** When it was back, the old leader led on beside the new one. */
        OLD_LED_ON,
        /** Nobody led for as long as we waited, until the old leader was back. */
        NOBODY_LED
    }

    private void tell(String who, BenchEnvironment ground, Findings findings, List<After> after) {
        System.out.println(who + ": " + findings);
        for (var fault : FAULTS) {
            var nanos = findings.vacancies(fault);
            if (!nanos.isEmpty()) {
                Samples.nanos(
                        ground.describe(),
                        "vacant after " + fault + " (lease " + lease.toMillis() + " ms)",
                        who,
                        nanos);
            }
        }
        var rest = " (" + rounds + " rounds; lease " + lease.toMillis() + " ms)";
        Samples.value(ground.describe(), "two led at once" + rest, "ms", who, findings.overlapNanos() / 1e6);
        Samples.value(
                ground.describe(),
                "led on beside the next until killed" + rest,
                "times",
                who,
                Collections.frequency(after, After.OLD_LED_ON));
        Samples.value(
                ground.describe(),
                "nobody led within 90 s until it was back" + rest,
                "times",
                who,
                Collections.frequency(after, After.NOBODY_LED));
    }
}
