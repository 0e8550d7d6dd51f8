package dev.bellwether.benchmarks.nats;

import dev.bellwether.testkit.faults.Contestant;
import io.nats.client.JetStreamApiException;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.api.KeyValueConfiguration;
import java.io.IOException;
import java.time.Duration;

/**
 * The model of the timing of Choria's elections, for the fault bench, with a bucket whose TTL is the lease. Its token
 * is the revision by which it came to lead. It has no listener; that it leads no more it finds at its next turn.
 */
public final class ChoriaInAProcess implements Contestant.Maker {
    private static final String BUCKET = "choria";

    /** For the process that stands. */
    public ChoriaInAProcess() {}

    @Override
    public Contestant stand(Contestant.Orders orders) throws IOException, InterruptedException, JetStreamApiException {
        var connection = Nats.connect(Options.builder()
                .server(orders.uri())
                .ignoreDiscoveredServers()
                .maxReconnects(-1)
                .reconnectWait(Duration.ofMillis(100))
                .build());
        connection
                .keyValueManagement()
                .create(KeyValueConfiguration.builder()
                        .name(BUCKET)
                        .ttl(orders.lease())
                        .build());
        var choria = new ChoriaLike(
                connection.keyValue(BUCKET), orders.election(), orders.candidate(), orders.lease(), Duration.ZERO);
        return new Contestant() {
            @Override
            public boolean isLeader() {
                return choria.isLeader();
            }

            @Override
            public long token() {
                return choria.token();
            }

            @Override
            public void close() {
                choria.close();
                try {
                    connection.close();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        };
    }
}
