package dev.bellwether.dynamodb;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Infrastructure;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Items of a table as the contract wants them. Confined to the thread of the test. */
final class DynamoDbInfrastructure implements Infrastructure {
    private static final Pattern COUNT = Pattern.compile("\"Count\":([0-9]+)");

    private final DynamoDbServer server;
    private final List<FaultProxy> proxies = new ArrayList<>();

    DynamoDbInfrastructure(DynamoDbServer server) {
        this.server = server;
    }

    @Override
    public String describe() {
        return "DynamoDB";
    }

    @Override
    public Duration lease() {
        return Duration.ofSeconds(1);
    }

    /** Its local server is the slowest of all when a machine is busy: a write may take seconds. */
    @Override
    public Duration longLease() {
        return Duration.ofSeconds(40);
    }

    @Override
    public Elections connect(ElectionsConfig config) {
        return Elections.connect(server.uri("contract", "&create=true&poll=200ms"), config);
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var proxy = FaultProxy.to("127.0.0.1", server.port());
        proxies.add(proxy);
        return new Linked(
                Elections.connect(DynamoDbServer.uri(proxy.port(), "contract", "&create=true&poll=200ms"), config),
                proxy);
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

    @Override
    public void restartServer() {
        server.kill();
        server.start();
    }

    @Override
    public void pauseServer() {
        server.pause();
    }

    @Override
    public void resumeServer() {
        server.resume();
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }
}
