package dev.bellwether.testkit.faults;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Who led when, put together from what all candidates saw; and the two figures that matter. Confined to anybody who
 * holds its lock.
 *
 * <p>Looks at a candidate come some thousand times a second, so that a vacancy is known to about a millisecond, and
 * what is counted as overlap is certain: two processes said yes at the same time.
 */
public final class History {
    private final Map<ObservedTerm.Key, ObservedTerm> terms = new LinkedHashMap<>();
    private final List<Vacancy> vacancies = new ArrayList<>();
    private long overlapNanos;
    private Optional<ObservedTerm> newest = Optional.empty();
    /** When somebody last led, as far as we know. */
    private Optional<Long> ledUntil = Optional.empty();

    /**
     * Nobody led.
     *
     * @param token of the mandate that ended it
     */
    public record Vacancy(long fromNanos, long toNanos, long token, String next) {
        /** Returns how long it was. */
        public long nanos() {
            return toNanos - fromNanos;
        }
    }

    /** Takes what a candidate tells of one of its terms, the first time or again. Returns whether anything is new. */
    public boolean tell(ObservedTerm told) {
        var key = told.key();
        var known = terms.get(key);
        if (told.equals(known)) {
            return false;
        }
        // What it adds to the overlap is what it has with all others now, less what it had before.
        for (var other : terms.values()) {
            if (other.process() != told.process()) {
                overlapNanos += told.overlapNanos(other) - (known == null ? 0 : known.overlapNanos(other));
            }
        }
        terms.put(key, told);
        if (known == null) {
            ledUntil.filter(until -> told.firstNanos() - until > 0)
                    .ifPresent(until ->
                            vacancies.add(new Vacancy(until, told.firstNanos(), told.token(), told.candidate())));
            if (newest.isEmpty() || told.firstNanos() - newest.get().firstNanos() > 0) {
                newest = Optional.of(told);
            }
        } else if (newest.filter(one -> one.key().equals(key)).isPresent()) {
            newest = Optional.of(told);
        }
        ledUntil = Optional.of(ledUntil.map(until -> ObservedTerm.later(until, told.lastNanos()))
                .orElse(told.lastNanos()));
        return true;
    }

    /** Returns for how long two led at once, in all: each pair counts. */
    public long overlapNanos() {
        return overlapNanos;
    }

    /** Returns all of them, in the order in which they ended. */
    public List<Vacancy> vacancies() {
        return List.copyOf(vacancies);
    }

    /** Returns the last of them. */
    public Optional<Vacancy> lastVacancy() {
        return vacancies.isEmpty() ? Optional.empty() : Optional.of(vacancies.get(vacancies.size() - 1));
    }

    /** Returns the term that began last. */
    public Optional<ObservedTerm> newest() {
        return newest;
    }

    /** Returns when somebody last led. */
    public Optional<Long> ledUntilNanos() {
        return ledUntil;
    }
}
