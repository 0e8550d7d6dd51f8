package dev.bellwether.spi;

import dev.bellwether.CandidacyConfig;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What an operator should know of the infrastructure that elections are held on: that something is right, or how to
 * fix it.
 *
 * @param about what it is about, in a word or two: {@code durability}, {@code crash}
 * @param says what is so, in a sentence without a full stop
 * @param remedy what to do; empty if all is well
 * @param terms what a length of time is the sum of; empty if it is about something else
 */
public record Finding(Level level, String about, String says, String remedy, List<Term> terms) {

    /** How much it matters. */
    public enum Level {
        /** All is well. */
        OK,
        /** A danger, or less than could be: elections keep their promises as long as what it names does not happen. */
        WARNING,
        /** A promise is void, or no election can be held. */
        ERROR
    }

    /**
     * A length of time in a sum.
     *
     * @param name what takes so long
     */
    public record Term(String name, Duration length) {
        /** Returns the lease: after a crash it runs to its end. */
        public static Term lease(CandidacyConfig config) {
            return new Term("lease", config.lease());
        }

        /**
         * Returns how long a standby waits at most before it asks again: a retry interval, which chance lengthens by up
         * to a fifth; rounded up to a microsecond.
         */
        public static Term retry(CandidacyConfig config) {
            var nanos = config.retryInterval().toNanos();
            var longest = nanos + (nanos + 4) / 5;
            return new Term("retry", Duration.ofNanos((longest + 999) / 1_000 * 1_000));
        }

        /** Returns how long a leader may take to stand down. */
        public static Term standDown(CandidacyConfig config) {
            return new Term("stand-down budget", config.standDownBudget());
        }

        @Override
        public String toString() {
            return name + " " + millis(length);
        }
    }

    /** Checks that a finding of trouble says what to do. */
    public Finding {
        if ((level == Level.OK) != remedy.isEmpty()) {
            throw new IllegalArgumentException("a finding has a remedy unless it is ok: " + about + ": " + says);
        }
        terms = List.copyOf(terms);
    }

    /** Returns that something is well. */
    public static Finding ok(String about, String says) {
        return new Finding(Level.OK, about, says, "", List.of());
    }

    /** Returns that there is a danger. */
    public static Finding warning(String about, String says, String remedy) {
        return new Finding(Level.WARNING, about, says, remedy, List.of());
    }

    /** Returns that a promise is void, or that no election can be held. */
    public static Finding error(String about, String says, String remedy) {
        return new Finding(Level.ERROR, about, says, remedy, List.of());
    }

    /** Returns how long something takes at most, besides the way through the network. */
    public static Finding atMost(String about, Term... terms) {
        var sum = List.of(terms).stream().map(Term::length).reduce(Duration.ZERO, Duration::plus);
        var words = List.of(terms).stream().map(Term::toString).collect(Collectors.joining(" + "));
        return new Finding(
                Level.OK,
                about,
                "vacant for " + millis(sum) + " at most, and a round trip: " + words,
                "",
                List.of(terms));
    }

    /**
     * Returns how long nobody leads at most, where a lease must run out and standbys ask by themselves: after a crash
     * and after a freeze the lease and the longest interval between two retries, at a hand-over what the leader takes
     * to stand down.
     */
    public static List<Finding> vacancies(CandidacyConfig config) {
        return vacancies(List.of(Term.lease(config), Term.retry(config)), List.of(Term.standDown(config)));
    }

    /**
     * Returns how long nobody leads at most.
     *
     * @param loss what passes after a crash, and as much after a freeze
     * @param handOver what passes when a leader lets go
     */
    public static List<Finding> vacancies(List<Term> loss, List<Term> handOver) {
        return List.of(
                atMost("crash", loss.toArray(Term[]::new)),
                atMost("freeze", loss.toArray(Term[]::new)),
                atMost("hand-over", handOver.toArray(Term[]::new)));
    }

    /** Returns the sum of the terms. */
    public Duration sum() {
        return terms.stream().map(Term::length).reduce(Duration.ZERO, Duration::plus);
    }

    private static String millis(Duration length) {
        return length.toMillis() + " ms";
    }
}
