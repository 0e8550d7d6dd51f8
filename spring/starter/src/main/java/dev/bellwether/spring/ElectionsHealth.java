package dev.bellwether.spring;

import dev.bellwether.Candidacy;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;

/**
 * How the elections of this application are, whatever the version of Spring Boot calls that. A standby is well. An
 * infrastructure that does not answer is not, nor is a candidacy that has failed permanently.
 */
final class ElectionsHealth {
    /** What is neither up nor down: no leader, and none the worse for it. */
    static final String STANDBY = "STANDBY";

    private final Elections elections;
    private final Candidacies candidacies;

    ElectionsHealth(Elections elections, Candidacies candidacies) {
        this.elections = elections;
        this.candidacies = candidacies;
    }

    /** Asks the infrastructure, once, and tells what is wrong, if anything, and what each candidacy does. */
    <T> T check(BiFunction<Optional<Exception>, Map<String, Object>, T> told) {
        var details = new TreeMap<String, Object>();
        candidacies.all().forEach(candidacy -> details.put(candidacy.election(), describe(candidacy)));
        return told.apply(silence().or(this::failure), details);
    }

    /** Returns why the infrastructure gives no answer. */
    private Optional<Exception> silence() {
        try {
            var first = candidacies.all().stream().findFirst();
            if (first.isPresent()) {
                elections.election(first.get().election()).state();
            } else {
                elections.list();
            }
            return Optional.empty();
        } catch (ElectionException | IllegalStateException e) { // no answer, or closed
            return Optional.of(e);
        }
    }

    /** Returns why a candidacy has ended permanently. */
    private Optional<Exception> failure() {
        return candidacies.leaderships().values().stream()
                .flatMap(leadership -> leadership.failure().stream())
                .findFirst();
    }

    private static String describe(Candidacy candidacy) {
        var status = candidacy.status();
        if (status.failure().isPresent()) {
            return "failed: " + status.failure().get().getMessage();
        }
        return candidacy.isLeader()
                ? "leads, token " + status.token()
                : status.following()
                        .map(leader -> "follows " + leader)
                        .orElse(status.phase().name());
    }

    Map<String, Boolean> leading() {
        var leading = new TreeMap<String, Boolean>();
        candidacies.all().forEach(candidacy -> leading.put(candidacy.election(), candidacy.isLeader()));
        return leading;
    }
}
