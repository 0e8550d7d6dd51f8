package dev.bellwether.nats;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Infrastructure;
import dev.bellwether.testkit.nats.NatsServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A bucket as the contract wants it. Confined to the thread of the test. */
class NatsInfrastructure implements Infrastructure {
    static final String BUCKET = "contract";

    private final String name;
    private final String uri;
    private final NatsServer proxied;
    private final List<FaultProxy> proxies = new ArrayList<>();

    NatsInfrastructure(String name, String uri, NatsServer proxied) {
        this.name = name;
        this.uri = uri;
        this.proxied = proxied;
    }

    @Override
    public String describe() {
        return name;
    }

    @Override
    public Duration lease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Elections connect(ElectionsConfig config) {
        return Elections.connect(uri, config);
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var proxy = FaultProxy.to("127.0.0.1", proxied.port());
        proxies.add(proxy);
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

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }
}
