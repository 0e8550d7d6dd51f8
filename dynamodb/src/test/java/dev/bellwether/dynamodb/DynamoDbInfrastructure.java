package dev.bellwether.dynamodb;

import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.fixtures.ServerInfrastructure;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Pattern;

/** Items of a table as the contract wants them. Confined to the thread of the test. */
final class DynamoDbInfrastructure extends ServerInfrastructure {
    private static final Pattern COUNT = Pattern.compile("\"Count\":([0-9]+)");

    private final DynamoDbServer server;

    DynamoDbInfrastructure(DynamoDbServer server) {
        super("DynamoDB", server, port -> DynamoDbServer.uri(port, "contract", "&create=true&poll=200ms"));
        this.server = server;
    }

    /** Its local server is the slowest of all when a machine is busy: a write may take seconds. */
    @Override
    public Duration longLease() {
        return Duration.ofSeconds(40);
    }

    @Override
    public Map<String, Long> leftovers() {
        return Map.of("seats", items("seats"), "standbys", items("standbys"));
    }

    private long items(String kind) {
        var said = COUNT.matcher(server.ask(
                "Query",
                "{\"TableName\":\"contract\",\"Select\":\"COUNT\",\"KeyConditionExpression\":\"pk = :pk\","
                        + "\"ExpressionAttributeValues\":{\":pk\":{\"S\":\"bellwether#" + kind + "\"}}}"));
        return said.find() ? Long.parseLong(said.group(1)) : 0;
    }
}
