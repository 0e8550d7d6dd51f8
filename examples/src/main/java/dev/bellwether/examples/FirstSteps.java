package dev.bellwether.examples;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import java.time.Duration;

/** The code of the first steps in the documents. */
final class FirstSteps {
    private final Ledger ledger;

    FirstSteps(Ledger ledger) {
        this.ledger = ledger;
    }

    interface Ledger {
        void settle(long token);

        void prepare();

        void putAway();
    }

    void run(String uri) throws InterruptedException {
        // tag::twelve-lines
        try (var elections = Elections.connect(uri);
                var candidacy = elections.stand("billing")) {

            candidacy.whileLeading(mandate -> {
                // a step of work, again and again while we lead
                mandate.ensure(Duration.ofSeconds(1)); // enough time left for the next step?
                ledger.settle(mandate.token()); // let the ledger refuse a token lower than it has seen
            });
            candidacy.awaitClose();
        }
        // end::twelve-lines
    }

    void listen(Elections elections) {
        // tag::listener
        var config = CandidacyConfig.builder()
                .lease(Duration.ofSeconds(5))
                .listener(event -> {
                    if (event instanceof LeadershipEvent.Acquired) {
                        ledger.prepare();
                    } else if (event instanceof LeadershipEvent.Revoked) {
                        ledger.putAway(); // the successor waits until this returns
                    } else if (event instanceof LeadershipEvent.Fenced fenced) {
                        stopAtOnce(fenced.mandate()); // nobody waits
                    }
                })
                .build();
        var candidacy = elections.stand("billing", config);
        // end::listener
        candidacy.resign();
    }

    private void stopAtOnce(Mandate mandate) {
        throw new IllegalStateException(mandate + " is over");
    }
}
