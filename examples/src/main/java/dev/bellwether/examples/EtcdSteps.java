package dev.bellwether.examples;

import dev.bellwether.Elections;

/** The code of the page about etcd. */
final class EtcdSteps {
    private EtcdSteps() {}

    static void lead(FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = Elections.connect("etcd://app:${env:ETCD_PASSWORD}@e1:2379,e2:2379,e3:2379/elections");
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }
}
