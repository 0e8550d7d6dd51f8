package dev.bellwether.benchmarks;

import dev.bellwether.testkit.faults.Contestant;
import dev.bellwether.testkit.faults.Fault;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.Ground;
import java.time.Duration;
import java.util.List;

/**
 * How long nobody leads, by what has become of the leader: it leaves, is killed, is frozen, is cut off. Candidates are processes of their own, and what is told is
 * from the last instant at which the old leader was seen to lead to the first at which the new one was; where that is less than nothing, it is overlap.
 */
public record Vacancies(int rounds, Duration lease) {
    private static final List<Fault> FAULTS = List.of(Fault.LEAVE, Fault.KILL, Fault.FREEZE, Fault.CUT);

    /** Measures these contestants on this ground. */
    public void measure(String who, Class<? extends Contestant.Maker> maker, Ground ground) {
        System.err.println("# " + who + " on " + ground.describe());
        var setting = FaultBench.Setting.of("vacancies-" + who.replace(' ', '-'), lease)
                .with(maker);
        try (var bench = new FaultBench(ground, setting)) {
            bench.startAll();
            for (var round = 0; round < rounds; round++) {
                for (var fault : FAULTS) {
                    bench.awaitAll();
                    var leader = bench.awaitLeader();
                    var undo = bench.begin(fault, leader, lease);
                    bench.awaitLeaderOtherThan(leader);
                    undo.run();
                }
            }
            var findings = bench.end();
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
            Samples.value(ground.describe(), "overlap in these rounds", "ms", who, findings.overlapNanos() / 1e6);
        }
    }
}
