package dev.bellwether.spring;

import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.RelayStats;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/** What a relay of this process does, by shard. */
final class OutboxMeters implements MeterBinder {
    private final OutboxRelay relay;
    private final String outbox;

    OutboxMeters(OutboxRelay relay, String outbox) {
        this.relay = relay;
        this.outbox = outbox;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        for (var shard = 0; shard < relay.stats().size(); shard++) {
            gauge(
                    registry,
                    shard,
                    "leading",
                    "1 while this process publishes the shard",
                    stats -> stats.leading() ? 1 : 0);
            gauge(registry, shard, "in.flight", "Records that were read and are not deleted", RelayStats::inFlight);
            gauge(registry, shard, "blocked", "Rows held back for a blocked key", RelayStats::blocked);
            var number = shard;
            TimeGauge.builder(
                            "bellwether.outbox.lag",
                            relay,
                            TimeUnit.MILLISECONDS,
                            one -> one.stats().get(number).lag().toMillis())
                    .tags(tags(shard))
                    .description("How long the oldest known row has been waiting")
                    .register(registry);
            counter(registry, shard, "published", "Records that Kafka has confirmed", RelayStats::published);
            counter(registry, shard, "transactions", "Transactions that were committed", RelayStats::transactions);
            counter(
                    registry,
                    shard,
                    "rewinds",
                    "How often it began anew behind rows that were sent",
                    RelayStats::rewinds);
            counter(registry, shard, "parked", "Records that were moved to the parking table", RelayStats::parked);
            counter(registry, shard, "strays", "Rows that came later than any row may", RelayStats::strays);
        }
    }

    private String[] tags(int shard) {
        return new String[] {"outbox", outbox, "shard", String.valueOf(shard)};
    }

    private void gauge(
            MeterRegistry registry, int shard, String name, String description, ToDoubleFunction<RelayStats> value) {
        Gauge.builder(
                        "bellwether.outbox." + name,
                        relay,
                        one -> value.applyAsDouble(one.stats().get(shard)))
                .tags(tags(shard))
                .description(description)
                .register(registry);
    }

    private void counter(
            MeterRegistry registry, int shard, String name, String description, ToDoubleFunction<RelayStats> value) {
        FunctionCounter.builder(
                        "bellwether.outbox." + name,
                        relay,
                        one -> value.applyAsDouble(one.stats().get(shard)))
                .tags(tags(shard))
                .description(description)
                .register(registry);
    }
}
