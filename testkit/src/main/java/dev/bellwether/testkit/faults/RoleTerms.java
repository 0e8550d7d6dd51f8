package dev.bellwether.testkit.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The terms of one of the many roles that a process may lead: each role has a file of its own in each process, all in
 * one folder. Immutable.
 */
public final class RoleTerms {
    private static final Pattern FILE = Pattern.compile("(.+)@(.+)@(\\d+)\\.terms");
    private static final Duration BETWEEN_LOOKS = Duration.ofMillis(1);

    private final String role;
    private final List<ObservedTerm> terms;
    private final History history = new History();

    private RoleTerms(String role, List<ObservedTerm> terms) {
        this.role = role;
        this.terms = terms.stream()
                .sorted(Comparator.comparing(ObservedTerm::firstNanos, (a, b) -> Long.signum(a - b)))
                .toList();
        for (var i = 0; i < terms.size(); i++) {
            history.tell(this.terms.get(i).under(i));
        }
    }

    /** Has a process look at one of its roles, until the sampler is closed. */
    public static LeadershipSampler look(
            Path folder, String role, String candidate, LeadershipSampler.Subject subject) {
        try {
            Files.createDirectories(folder);
            var file = folder.resolve(
                    role + '@' + candidate + '@' + ProcessHandle.current().pid() + ".terms");
            return new LeadershipSampler(subject, TermFile.open(file), BETWEEN_LOOKS);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns what all processes wrote into a folder, by role. */
    public static Map<String, RoleTerms> read(Path folder) {
        var terms = new TreeMap<String, List<ObservedTerm>>();
        try (var files = Files.list(folder)) {
            for (var file : files.toList()) {
                var name = FILE.matcher(String.valueOf(file.getFileName()));
                if (name.matches()) {
                    terms.computeIfAbsent(name.group(1), role -> new ArrayList<>())
                            .addAll(TermFile.open(file).since(0, name.group(2), Integer.parseInt(name.group(3))));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var roles = new TreeMap<String, RoleTerms>();
        terms.forEach((role, all) -> roles.put(role, new RoleTerms(role, all)));
        return roles;
    }

    /** Returns how many terms there were. */
    public int count() {
        return terms.size();
    }

    /** Returns for how long two led it at once, in all. */
    public long overlapNanos() {
        return history.overlapNanos();
    }

    /** Returns how long it had no leader, each time, but before the first and after the last. */
    public List<Long> vacancies() {
        return history.vacancies().stream().map(History.Vacancy::nanos).toList();
    }

    /** Returns when two led it at once, which must never be where roles are exclusive. */
    public List<String> overlaps() {
        return named(Findings.overlaps(terms));
    }

    /** Returns where its tokens did not rise. */
    public List<String> tokensThatDidNotRise() {
        return named(Findings.tokensThatDidNotRise(terms));
    }

    private List<String> named(List<String> found) {
        return found.stream().map(one -> role + ": " + one).toList();
    }
}
