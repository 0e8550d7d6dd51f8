package dev.bellwether.benchmarks.dynamodb;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Trial;
import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.time.Duration;

/** Trials on a local server of DynamoDB: ours, and AWS's lock client. Arguments: those of {@link Trial}. */
final class Trials {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;
    private static final String GROUND = "DynamoDB on 1 local server";
    private static final String LOCKS = "{\"TableName\":\"" + LockClientInAProcess.TABLE
            + "\",\"AttributeDefinitions\":[{\"AttributeName\":\"key\",\"AttributeType\":\"S\"}],"
            + "\"KeySchema\":[{\"AttributeName\":\"key\",\"KeyType\":\"HASH\"}],\"BillingMode\":\"PAY_PER_REQUEST\"}";

    private Trials() {}

    public static void main(String[] arguments) {
        var trial = Trial.of(arguments, LEASE);
        try (var server = DynamoDbServer.launch()) {
            var rest = "&create=true&poll=" + LockClientInAProcess.REFRESH.toMillis() + "ms";
            try (var ground =
                    new LinkedServer(GROUND, server.port(), PLACES, link -> DynamoDbServer.uri(link, "ours", rest))) {
                trial.hold("Bellwether", BellwetherContestant.class, ground);
            }
            if (!server.ask("CreateTable", LOCKS).contains("TableDescription")) {
                throw new IllegalStateException("the table of the lock client cannot be made");
            }
            try (var ground = new LinkedServer(GROUND, server.port(), PLACES, link -> "http://127.0.0.1:" + link)) {
                trial.hold("AWS lock client", LockClientInAProcess.class, ground);
            }
        }
    }
}
