package dev.bellwether.benchmarks;

import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.Contestant;
import java.time.Duration;

/** What electors are put through, ours and those of others alike: the same on each ground. */
public interface Trial {
    /** Puts these contestants through it on this ground; says so if they do not get through, and returns. */
    void hold(String who, Class<? extends Contestant.Maker> maker, BenchEnvironment ground);

    /** Returns the same for contestants that accept no shorter lease than this one. */
    Trial withLease(Duration longer);

    /**
     * Reads which one, and its arguments: {@code vacancies [ROUNDS]}, 30 unless given, or
     * {@code faults [SECONDS [SEED]]}, 120 and 1 unless given.
     */
    static Trial of(String[] arguments, Duration lease) {
        var name = arguments.length > 0 ? arguments[0] : "";
        return switch (name) {
            case "vacancies" -> new Vacancies((int) number(arguments, 1, 30), lease);
            case "faults" ->
                new FaultRun(Duration.ofSeconds(number(arguments, 1, 120)), lease, number(arguments, 2, 1));
            default -> throw new IllegalArgumentException("\"" + name + "\" is no trial: vacancies or faults is one");
        };
    }

    private static long number(String[] arguments, int index, long unlessGiven) {
        return arguments.length > index ? Long.parseLong(arguments[index]) : unlessGiven;
    }
}
