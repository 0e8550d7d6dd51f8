package dev.bellwether.examples;

import dev.bellwether.Elections;

/** The code of the page about DynamoDB. */
final class DynamoDbSteps {
    private DynamoDbSteps() {}

    static void lead(FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = Elections.connect("dynamodb://eu-west-1/elections");
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }
}
