package dev.bellwether.benchmarks;

import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.Contestant;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.Nemesis;
import java.time.Duration;

/**
 * One run of the fault bench, of ours or of others; prints what was found, whatever it is.
 *
 * @param seed of what is done; the same for all who are compared
 */
public record FaultRun(Duration time, Duration lease, long seed) {
    private static final int SHOWN = 5;

    /** Reads the seconds and the seed, 120 and 1 unless given. */
    public static FaultRun of(String[] arguments, Duration lease) {
        return new FaultRun(
                Duration.ofSeconds(arguments.length > 0 ? Long.parseLong(arguments[0]) : 120),
                lease,
                arguments.length > 1 ? Long.parseLong(arguments[1]) : 1);
    }

    /** Runs these contestants on this ground. */
    public void run(String name, Class<? extends Contestant.Maker> maker, BenchEnvironment ground) {
        System.out.printf("%n%s, lease %s, %d s, seed %d%n", name, lease, time.toSeconds(), seed);
        var setting = FaultBench.Setting.of(name.replace(' ', '-') + "-" + seed, lease)
                .with(maker);
        try (var bench = new FaultBench(ground, setting)) {
            bench.startAll();
            new Nemesis(bench, seed).run(time);
            var findings = bench.end();
            System.out.println(findings);
            findings.faults().stream().limit(SHOWN).forEach(fault -> System.out.println("  ! " + fault));
            if (findings.faults().size() > SHOWN) {
                System.out.println("  ! and " + (findings.faults().size() - SHOWN) + " more");
            }
        } catch (AssertionError e) {
            System.out.println("  ! broken off: " + e.getMessage());
        }
    }
}
