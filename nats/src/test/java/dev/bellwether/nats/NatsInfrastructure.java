package dev.bellwether.nats;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.ServerInfrastructure;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.nats.NatsServer;
import java.util.Map;

/** A bucket as the contract wants it. Confined to the thread of the test. */
class NatsInfrastructure extends ServerInfrastructure {
    static final String BUCKET = "contract";

    private final NatsServer proxied;

    NatsInfrastructure(String name, String uri, NatsServer proxied) {
        super(name, proxied, port -> uri);
        this.proxied = proxied;
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var proxy = proxied();
        var client = BucketClient.owning(Admin.of(proxy.port()).connection(), "nats://proxied", config());
        return new Linked(Elections.over(LeaseStore.over(NatsRecordStore.open(client, config())), config), proxy);
    }

    private static NatsConfig config() {
        return NatsConfig.builder().bucket(BUCKET).build();
    }

    @Override
    public Map<String, Long> leftovers() {
        try (var admin = Admin.of(proxied.port())) {
            var state = admin.ask(connection -> connection
                    .jetStreamManagement()
                    .getStreamInfo("KV_" + BUCKET)
                    .getStreamState());
            return Map.of("keys", state.getMsgCount(), "consumers", state.getConsumerCount());
        }
    }
}
