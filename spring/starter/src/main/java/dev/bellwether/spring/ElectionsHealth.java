package dev.bellwether.spring;

import dev.bellwether.Candidacy;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * How the elections of this application are, whatever the version of Spring Boot calls that. A standby is well. An
 * infrastructure that does not answer is not, nor is a candidacy that has failed permanently, or was to begin late and
 * could not. One whose election an operator has ended is degraded, and so is a leader with a bean that did not start:
 * that does not count in the health of the whole, since one job must not take the application out of service.
 */
final class ElectionsHealth {
    /** What is neither up nor down: no leader, and none the worse for it. */
    static final String STANDBY = "STANDBY";
    /** What is neither up nor down, as far as the application goes. */
    private static final String DEGRADED = "DEGRADED";

    private final Elections elections;
    private final Candidacies candidacies;

    ElectionsHealth(Elections elections, Candidacies candidacies) {
        this.elections = elections;
        this.candidacies = candidacies;
    }

    /** How they are; what is wrong, if anything; what each candidacy does. */
    record Told(String status, Optional<Throwable> error, Map<String, Object> details) {}

    /** Asks the infrastructure, once. */
    Told look() {
        var details = new TreeMap<String, Object>();
        candidacies
                .leaderships()
                .forEach((election, leadership) -> leadership
                        .candidacy()
                        .ifPresent(candidacy -> details.put(
                                election,
                                leadership.ended() ? Leadership.ENDED : describe(candidacy) + unstarted(leadership))));
        candidacies
                .unstood()
                .forEach((election, why) ->
                        details.put(election, "does not stand, until a call tries again: " + why.getMessage()));
        var error = silence().or(this::failure);
        var anyDegraded = candidacies.leaderships().values().stream()
                .anyMatch(leadership ->
                        leadership.ended() || !leadership.unstarted().isEmpty());
        return new Told(error.isPresent() ? "DOWN" : anyDegraded ? DEGRADED : "UP", error, details);
    }

    private static String unstarted(Leadership leadership) {
        return leadership.unstarted().entrySet().stream()
                .map(each -> "; " + each.getKey() + " did not start, tried again: " + each.getValue())
                .collect(Collectors.joining());
    }

    /** Returns why the infrastructure gives no answer. */
    private Optional<Throwable> silence() {
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

    /** Returns why a candidacy has ended permanently, or could not begin. */
    private Optional<Throwable> failure() {
        return Stream.<Throwable>concat(
                        candidacies.leaderships().values().stream()
                                .flatMap(leadership -> leadership.failure().stream()),
                        candidacies.unstood().values().stream())
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

    /** Returns where this process leads; with elections in which it does not stand yet, so that groups find them. */
    Map<String, Boolean> leading() {
        var leading = new TreeMap<String, Boolean>();
        candidacies.expected().forEach(election -> leading.put(election, candidacies.isLeader(election)));
        return leading;
    }
}
