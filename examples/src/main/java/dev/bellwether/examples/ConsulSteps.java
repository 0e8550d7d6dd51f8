package dev.bellwether.examples;

import dev.bellwether.Elections;

/** The code of the page about Consul. */
final class ConsulSteps {
    private ConsulSteps() {}

    static void lead(FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = Elections.connect("consul://localhost:8500/elections?token=${env:CONSUL_HTTP_TOKEN}");
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }
}
