package dev.bellwether.etcd;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Infrastructure;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Keys under a prefix as the contract wants them. Confined to the thread of the test. */
class EtcdInfrastructure implements Infrastructure {
    private static final Pattern COUNT = Pattern.compile("\"count\":\"(\\d+)\"");
    static final Pattern WATCHERS = Pattern.compile("(?m)^etcd_debugging_mvcc_watcher_total (\\d+)");

    private final EtcdServers servers;
    private final List<FaultProxy> proxies = new ArrayList<>();

    EtcdInfrastructure(EtcdServers servers) {
        this.servers = servers;
    }

    @Override
    public String describe() {
        return "etcd";
    }

    @Override
    public Duration lease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Elections connect(ElectionsConfig config) {
        return Elections.connect(servers.uri("/contract"), config);
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var proxy = FaultProxy.to("127.0.0.1", servers.member(0).port());
        proxies.add(proxy);
        return new Linked(Elections.connect("etcd://127.0.0.1:" + proxy.port() + "/contract", config), proxy);
    }

    @Override
    public Map<String, Long> leftovers() {
        var member = servers.member(0);
        var all = member.ask("kv/range", "{\"key\":\"AA==\",\"range_end\":\"AA==\",\"count_only\":true}");
        var watchers = servers.members().stream()
                .mapToLong(one -> number(WATCHERS, one.get("/metrics")))
                .sum();
        return Map.of("keys", number(COUNT, all), "watches", watchers);
    }

    static long number(Pattern pattern, String text) {
        var matcher = pattern.matcher(text);
        return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }
}
