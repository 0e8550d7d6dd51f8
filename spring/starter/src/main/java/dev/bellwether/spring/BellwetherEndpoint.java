package dev.bellwether.spring;

import dev.bellwether.Candidacy;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;

/**
 * {@code /actuator/bellwether}: the candidacies of this process. Writing to one of
 * its elections orders the leader to stand down, wherever it is; deleting one makes this process leave it.
 */
@Endpoint(id = "bellwether")
public class BellwetherEndpoint {
    private final Elections elections;
    private final Candidacies candidacies;

    /**
     * One candidacy, as this process sees it.
     *
     * @param token of the present mandate, else of the last one here, else 0
     * @param since when the present mandate began; null unless leading
     * @param remaining how long the mandate holds if it is not extended any more; null unless leading
     * @param following the candidate that we wait for, if known
     * @param lastCause why the last mandate here ended
     */
    public record Standing(
            String candidate,
            String phase,
            boolean leading,
            long token,
            @Nullable String since,
            @Nullable String remaining,
            @Nullable String following,
            @Nullable String lastCause) {}

    BellwetherEndpoint(Elections elections, Candidacies candidacies) {
        this.elections = elections;
        this.candidacies = candidacies;
    }

    /** Returns all candidacies of this process, by election. */
    @ReadOperation
    public Map<String, Standing> candidacies() {
        var all = new java.util.TreeMap<String, Standing>();
        candidacies
                .leaderships()
                .forEach((election, leadership) -> leadership
                        .candidacy()
                        .ifPresent(candidacy -> all.put(election, standing(leadership, candidacy))));
        return all;
    }

    /** Orders anybody who leads the election to stand down, here or elsewhere. */
    @WriteOperation
    public Map<String, Object> standDown(@Selector String election) {
        return Map.of(
                "election", election, "ordered", elections.election(election).standDown());
    }

    /**
     * Lets this process leave the election, until its context starts again: in order, and at once if it leads. For what
     * stops a process.
     */
    @DeleteOperation
    public Map<String, Object> resign(@Selector String election) {
        var candidacy = candidacy(election);
        var led = candidacy.isLeader();
        candidacy.close();
        return Map.of("election", election, "led", led);
    }

    /** Returns it. A name that nobody stands for is a mistake of who asks, and no failure of the application. */
    private Candidacy candidacy(String election) {
        try {
            return candidacies.of(election);
        } catch (IllegalStateException e) {
            throw new InvalidEndpointRequestException(e.getMessage(), e.getMessage(), e);
        }
    }

    private static Standing standing(Leadership leadership, Candidacy candidacy) {
        var status = candidacy.status();
        var mandate = candidacy.mandate();
        return new Standing(
                candidacy.candidate(),
                status.phase().name(),
                mandate.isPresent(),
                status.token(),
                text(mandate.isPresent() ? leadership.since() : Optional.empty()),
                text(mandate.map(held -> Duration.ofMillis(held.remaining().toMillis()))),
                status.following().orElse(null),
                text(status.lastCause().map(Cause::name)));
    }

    private static @Nullable String text(Optional<?> value) {
        return value.map(Object::toString).orElse(null);
    }
}
