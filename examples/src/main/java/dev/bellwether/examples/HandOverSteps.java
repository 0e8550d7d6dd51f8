package dev.bellwether.examples;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.HandOver;
import dev.bellwether.LeadershipEvent;
import java.time.Duration;
import java.util.Map;

/** The code of the page about hand-overs. */
final class HandOverSteps {
    private HandOverSteps() {}

    /** What a leader needs in memory before it can work. */
    interface Caches {
        void fill() throws InterruptedException;
    }

    static Candidacy stand(Elections elections, String id, Caches caches) {
        // tag::prepare
        var config = CandidacyConfig.builder()
                .candidate(id)
                .listener(event -> {
                    if (event instanceof LeadershipEvent.Preparing) {
                        caches.fill(); // the leader leads on; when this has returned, the seat passes
                    }
                })
                .build();
        var candidacy = elections.stand("billing", config);
        // end::prepare
        return candidacy;
    }

    static String operator(Elections elections) {
        // tag::operator
        var handOver = elections.election("billing").handOver("pod-7", Duration.ofSeconds(30));
        var said = switch (handOver.outcome()) {
            case DONE -> "pod-7 leads";
            case NOBODY_LEADS -> "there is nothing to hand over";
            case NOT_A_CANDIDATE -> "pod-7 does not stand";
            case UNDER_WAY -> "another hand-over is under way";
            case NOT_READY -> "pod-7 was not ready in time; the leader leads on";
            case TAKEN_BY_ANOTHER -> "another leads, since one of the two died";
        };
        // end::operator
        return said;
    }

    static HandOver leave(Candidacy candidacy) {
        // tag::leave
        var handOver = candidacy.handOver(Duration.ofSeconds(30)); // to the standby that is ready first
        candidacy.close(); // whatever the outcome: if we still lead, another takes the seat now
        // end::leave
        return handOver;
    }

    static void proclaim(Candidacy candidacy) {
        // tag::proclaim
        candidacy.proclaim(Map.of("version", "7.2", "address", "10.0.0.7:8080"));
        // end::proclaim
    }
}
