package dev.bellwether.examples;

import dev.bellwether.nats.NatsElections;
import io.nats.client.Connection;

/** The code of the page about NATS. */
final class NatsSteps {
    private NatsSteps() {}

    static void lead(Connection connection, FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = NatsElections.using(connection);
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }
}
