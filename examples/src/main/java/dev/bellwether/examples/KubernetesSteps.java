package dev.bellwether.examples;

import dev.bellwether.Elections;

/** The code of the page about Kubernetes. */
final class KubernetesSteps {
    private KubernetesSteps() {}

    static void lead(FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = Elections.connect("k8s:");
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }
}
