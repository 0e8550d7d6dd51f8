package dev.bellwether.spring;

import dev.bellwether.Candidacy;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;

/**
 * How the elections of this application are, whatever the version of Spring Boot calls that. A standby is well. An infrastructure that does
 * not answer is not, nor is a candidacy that has failed for good.
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

    /** Asks the infrastructure, once, and tells whether it answered and what each candidacy does. */
    <T> T check(BiFunction<Optional<Exception>, Map<String, Object>, T> told) {
        var details = new TreeMap<String, Object>();
        Optional<Exception> failure = Optional.empty();
        for (var candidacy : candidacies.all()) {
            details.put(candidacy.election(), describe(candidacy));
        }
        try {
            var first = candidacies.all().stream().findFirst();
            if (first.isPresent()) {
                elections.election(first.get().election()).state();
            } else {
                elections.list();
            }
        } catch (ElectionException | IllegalStateException e) { // no answer, or closed
            failure = Optional.of(e);
        }
        return told.apply(failure, details);
    }

    private static String describe(Candidacy candidacy) {
        var status = candidacy.status();
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
