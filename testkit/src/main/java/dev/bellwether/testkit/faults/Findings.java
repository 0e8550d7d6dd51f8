package dev.bellwether.testkit.faults;

import dev.bellwether.testkit.Never;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;

/** What a bench has found. Immutable. */
public final class Findings {
    private static final long AT_ONCE_NANOS = 5_000_000;

    private final String where;
    private final List<ObservedTerm> terms;
    private final List<String> faults = new ArrayList<>();
    private final History history = new History();
    private final Map<String, List<Long>> vacanciesByCause = new TreeMap<>();
    private final boolean stalled;
    private final int deeds;
    private final long accepted;
    private final long refused;
    private final Path file;

    /** The terms in the order in which they began. */
    Findings(
            String where,
            List<ObservedTerm> terms,
            List<String> faults,
            boolean stalled,
            List<Chronicle.Deed> deeds,
            Register register,
            Path file) {
        this.where = where;
        this.terms = List.copyOf(terms);
        this.stalled = stalled;
        this.deeds = deeds.size();
        this.file = file;
        accepted = register.accepted();
        refused = register.refused();
        for (var i = 0; i < terms.size(); i++) {
            // under a number of its own: to a history, one that leads again by its old token would tell of its old term
            // once more
            history.tell(terms.get(i).under(i));
        }
        this.faults.addAll(overlaps(terms));
        this.faults.addAll(tokensThatDidNotRise(terms));
        this.faults.addAll(register.faults());
        this.faults.addAll(faults);
        for (var vacancy : history.vacancies()) {
            vacanciesByCause
                    .computeIfAbsent(cause(vacancy, deeds), cause -> new ArrayList<>())
                    .add(vacancy.nanos());
        }
    }

    /** Returns each time that two led at once: for how long, and which terms. */
    static List<String> overlaps(List<ObservedTerm> terms) {
        var found = new ArrayList<String>();
        eachOverlap(terms, (nanos, both) -> found.add(Never.mark("two led at once for " + nanos + " ns: " + both)));
        return found;
    }

    private static void eachOverlap(List<ObservedTerm> terms, BiConsumer<Long, String> found) {
        for (var i = 0; i < terms.size(); i++) {
            for (var j = i + 1; j < terms.size(); j++) {
                var nanos = terms.get(i).overlapNanos(terms.get(j));
                if (nanos > 0) {
                    found.accept(nanos, terms.get(i) + " and " + terms.get(j));
                }
            }
        }
    }

    static List<String> tokensThatDidNotRise(List<ObservedTerm> terms) {
        var found = new ArrayList<String>();
        ObservedTerm highest = null;
        for (var term : terms) {
            if (highest != null && term.token() <= highest.token()) {
                found.add(Never.mark("the token did not rise: " + term + " after " + highest));
            } else {
                highest = term;
            }
        }
        return found;
    }

    /**
     * The last thing that was done, to who led or to all, before it was last seen to lead or just after. What ended a
     * process is no cause of what became of the next.
     */
    private String cause(History.Vacancy vacancy, List<Chronicle.Deed> all) {
        var led = terms.stream()
                .filter(term -> term.lastNanos() == vacancy.fromNanos())
                .findFirst()
                .orElseThrow();
        var cause = "nothing that we did";
        for (var deed : all) {
            if (deed.nanos() - vacancy.fromNanos() < AT_ONCE_NANOS
                    && deed.candidate()
                            .filter(name -> !name.equals(led.candidate()))
                            .isEmpty()
                    && !(deed.fault().endsProcess() && deed.nanos() - led.firstNanos() < 0)) {
                cause = deed.fault().toString();
            }
        }
        return cause;
    }

    /** Returns for how long two led at once, in all. */
    public long overlapNanos() {
        return history.overlapNanos();
    }

    /** Returns for how long two led at once, each time, in nanoseconds. */
    public List<Long> overlaps() {
        var found = new ArrayList<Long>();
        eachOverlap(terms, (nanos, both) -> found.add(nanos));
        return found;
    }

    /** Returns how long nobody led, each time that this was done last before it, to who led or to all. */
    public List<Long> vacancies(BenchFault fault) {
        return List.copyOf(vacanciesByCause.getOrDefault(fault.toString(), List.of()));
    }

    /** Returns the terms, in the order in which they began. */
    public List<ObservedTerm> terms() {
        return terms;
    }

    /**
     * Returns what must never be: two leaders at once, tokens that do not rise, events that are not paired, processes
     * that end by themselves.
     */
    public List<String> faults() {
        return List.copyOf(faults);
    }

    /** Returns whether nobody led in the end, though nothing was wrong any more. */
    public boolean isStalled() {
        return stalled;
    }

    /** Returns how many writes the register refused: of those who were stopped between the look and the write. */
    public long refused() {
        return refused;
    }

    /**
     * Complains if there is something that must never be.
     *
     * @throws AssertionError naming it, and where to read what happened
     */
    public Findings requireSafe() {
        if (!faults.isEmpty()) {
            throw new AssertionError(faults.size() + " faults on " + where + ", see " + file.toAbsolutePath() + "\n"
                    + faults.stream()
                            .sorted(Comparator.comparing(fault -> !fault.startsWith(Never.MARK)))
                            .limit(10)
                            .collect(Collectors.joining("\n")));
        }
        return this;
    }

    /**
     * Complains if there were fewer faults or terms than there must be: then this has shown nothing.
     *
     * @throws AssertionError naming what there was and what there must be
     */
    Findings requireAtLeast(BenchEnvironment.Least least) {
        if (!least.isReached(deeds, terms.size())) {
            throw new AssertionError(
                    "%d faults and %d terms on %s show nothing: at least %d faults and %d terms are needed"
                            .formatted(deeds, terms.size(), where, least.faults(), least.terms()));
        }
        return this;
    }

    /**
     * Adds a line to a file: the day, the name of the run, the server, the seed, the seconds, how many faults were
     * done, how many terms there were, for how many nanoseconds two led, how many writes the register refused, and how
     * much there was that must never be.
     */
    void addTo(Path ledger, String name, long seed, Duration time) {
        var line = "%s,%s,\"%s\",%d,%d,%d,%d,%d,%d,%d%n"
                .formatted(
                        LocalDate.now(ZoneOffset.UTC),
                        name,
                        where,
                        seed,
                        time.toSeconds(),
                        deeds,
                        terms.size(),
                        overlapNanos(),
                        refused,
                        faults.size());
        try {
            Files.writeString(ledger, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns it in words. */
    @Override
    public String toString() {
        var text = "%s: %d faults were done, %d terms, %d ns of overlap; the register took %,d writes and refused %,d"
                .formatted(where, deeds, terms.size(), overlapNanos(), accepted, refused);
        return vacanciesByCause.entrySet().stream()
                .map(entry -> line(entry.getKey(), entry.getValue()))
                .collect(Collectors.joining("", text, ""));
    }

    private static String line(String cause, List<Long> nanos) {
        var sorted = nanos.stream().sorted().toList();
        return "%n  vacant after %-24s %3d times, median %,6d ms, longest %,6d ms"
                .formatted(
                        cause,
                        sorted.size(),
                        sorted.get((sorted.size() - 1) / 2) / 1_000_000,
                        sorted.get(sorted.size() - 1) / 1_000_000);
    }
}
