package dev.bellwether.benchmarks.dynamodb;

import dev.bellwether.Elections;
import dev.bellwether.benchmarks.Costs;
import dev.bellwether.benchmarks.OurClient;
import dev.bellwether.fixtures.DynamoDbGateway;
import dev.bellwether.fixtures.DynamoDbServer;
import java.time.Duration;

/** What elections ask of DynamoDB, counted before its local server. Argument: seconds of counting. */
final class CostFigures {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int CANDIDATES = 500;
    private static final String GROUND = "DynamoDB on 1 local server";

    private CostFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static void measure(String[] arguments) {
        try (var server = DynamoDbServer.launch();
                var gateway = DynamoDbGateway.to(server)) {
            var uri = gateway.uri("ours", "&create=true");
            var port = gateway.endpoint().getPort();
            var time = Costs.time(arguments);
            Costs.Make make = lease -> new OurClient(Elections.connect(uri), lease);
            new Costs(GROUND, port, () -> reads(gateway), "reads/s", time).standBy("Bellwether", make, LEASE);
            var writes = new Costs(GROUND, port, () -> writes(gateway), "writes/s", time);
            writes.standBy("Bellwether", make, LEASE);
            writes.many("Bellwether", make, LEASE, 1_000);
            writes.many("Bellwether", make, LEASE, 10_000);
            writes.crowd("Bellwether", make, LEASE, CANDIDATES);
        }
    }

    private static int writes(DynamoDbGateway gateway) {
        return gateway.count("PutItem") + gateway.count("DeleteItem");
    }

    private static int reads(DynamoDbGateway gateway) {
        return gateway.count("GetItem") + gateway.count("Query");
    }
}
