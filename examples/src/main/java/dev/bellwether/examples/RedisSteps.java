package dev.bellwether.examples;

import dev.bellwether.Elections;

/** The code of the page about Valkey and Redis. */
final class RedisSteps {
    private RedisSteps() {}

    static void lead(FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = Elections.connect("redis://app:${env:VALKEY_PASSWORD}@valkey:6379?prefix=elections");
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }
}
