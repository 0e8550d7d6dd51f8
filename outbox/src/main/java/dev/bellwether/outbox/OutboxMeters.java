package dev.bellwether.outbox;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Makes meters of a relay: <code>new OutboxMeters(relay).bindTo(registry)</code>. For those who have Micrometer on the
 * class path; nobody else needs it.
 *
 * <p>All carry the tag {@code outbox}, and those of a shard {@code shard}. Some tell what this process does. The others
 * tell how the whole outbox stands, as {@link OutboxRelay#state} has it, and relays that stand by tell them, too: so
 * take the maximum over processes, and not the sum. They are no number while that is not known.
 */
public final class OutboxMeters implements MeterBinder {
    /** 1 while this process publishes the shard. */
    public static final String LEADING = "bellwether.outbox.leading";
    /** 1 while nobody leads the shard, as far as this process knows. */
    public static final String VACANT = "bellwether.outbox.vacant";
    /** Records that were read here and are not yet deleted. */
    public static final String IN_FLIGHT = "bellwether.outbox.in.flight";
    /** Rows that are held back here for one that is blocked. */
    public static final String BLOCKED = "bellwether.outbox.blocked";
    /** How long the oldest row that this leader knows of has been waiting. */
    public static final String LAG = "bellwether.outbox.lag";
    /** Records that Kafka has confirmed to this process. */
    public static final String PUBLISHED = "bellwether.outbox.published";
    /** Transactions that this process has committed. */
    public static final String TRANSACTIONS = "bellwether.outbox.transactions";
    /** How often this process began again behind rows that were sent. */
    public static final String REWINDS = "bellwether.outbox.rewinds";
    /** Records that this process has moved to the parking table. */
    public static final String PARKED = "bellwether.outbox.parked";
    /** Rows that came later than any row may. */
    public static final String STRAYS = "bellwether.outbox.strays";

    /** Rows in the table. */
    public static final String BACKLOG = "bellwether.outbox.backlog";
    /** How long the oldest row has been in the table. */
    public static final String OLDEST_AGE = "bellwether.outbox.oldest.age";
    /** Records in the parking table. */
    public static final String PARKED_WAITING = "bellwether.outbox.parked.waiting";
    /** Records that wait in the table and hold back others. */
    public static final String BLOCKED_RECORDS = "bellwether.outbox.blocked.records";
    /** Records per second, as the leader of the shard has written down. */
    public static final String RATE = "bellwether.outbox.rate";
    /** For how long no leader of the shard has written in the database; a second or two while one publishes. */
    public static final String SILENT = "bellwether.outbox.silent";

    private final OutboxRelay relay;

    /** Tells of this relay, which the caller keeps: a registry does not. */
    public OutboxMeters(OutboxRelay relay) {
        this.relay = relay;
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        for (var shard = 0; shard < relay.stats().size(); shard++) {
            bindShard(registry, shard);
        }
        var tags = new String[] {"outbox", relay.outbox()};
        gauge(registry, tags, BACKLOG, "Rows in the table", OutboxAdmin.State::backlog);
        time(
                registry,
                tags,
                OLDEST_AGE,
                "How long the oldest row has been in the table",
                state -> Optional.of(state.oldest()));
        gauge(registry, tags, PARKED_WAITING, "Records in the parking table", OutboxAdmin.State::parked);
        gauge(registry, tags, BLOCKED_RECORDS, "Records that wait and hold back others", OutboxAdmin.State::blocked);
    }

    private void bindShard(MeterRegistry registry, int shard) {
        own(registry, shard, LEADING, "1 while this process publishes the shard", stats -> stats.leading() ? 1 : 0);
        own(
                registry,
                shard,
                VACANT,
                "1 while nobody leads the shard, as far as this process knows",
                stats -> stats.led() ? 0 : 1);
        own(registry, shard, IN_FLIGHT, "Records that were read and are not deleted", RelayStats::inFlight);
        own(registry, shard, BLOCKED, "Rows that wait because one before them is blocked", RelayStats::blocked);
        counter(registry, shard, PUBLISHED, "Records that Kafka has confirmed", RelayStats::published);
        counter(registry, shard, TRANSACTIONS, "Transactions that were committed", RelayStats::transactions);
        counter(registry, shard, REWINDS, "How often it began again behind rows that were sent", RelayStats::rewinds);
        counter(registry, shard, PARKED, "Records that were moved to the parking table", RelayStats::parked);
        counter(registry, shard, STRAYS, "Rows that came later than any row may", RelayStats::strays);
        TimeGauge.builder(
                        LAG,
                        relay,
                        TimeUnit.MILLISECONDS,
                        one -> one.stats().get(shard).lag().toMillis())
                .tags(tags(shard))
                .description("How long the oldest row that this leader knows of has been waiting")
                .register(registry);
        gauge(
                registry,
                tags(shard),
                RATE,
                "Records per second, as the leader has recorded",
                state -> of(state, shard)
                        .map(one -> one.isServed() ? one.ratePerSecond() : 0)
                        .orElse(Double.NaN));
        time(
                registry,
                tags(shard),
                SILENT,
                "For how long no leader has written in the database",
                state -> of(state, shard).map(OutboxAdmin.ShardState::silent));
    }

    /** Empty if nobody has led any shard yet. */
    private static Optional<OutboxAdmin.ShardState> of(OutboxAdmin.State state, int shard) {
        return state.shards().stream().filter(one -> one.shard() == shard).findFirst();
    }

    private String[] tags(int shard) {
        return new String[] {"outbox", relay.outbox(), "shard", String.valueOf(shard)};
    }

    private void own(
            MeterRegistry registry, int shard, String name, String description, ToDoubleFunction<RelayStats> value) {
        Gauge.builder(name, relay, one -> value.applyAsDouble(one.stats().get(shard)))
                .tags(tags(shard))
                .description(description)
                .register(registry);
    }

    private void counter(
            MeterRegistry registry, int shard, String name, String description, ToDoubleFunction<RelayStats> value) {
        FunctionCounter.builder(
                        name, relay, one -> value.applyAsDouble(one.stats().get(shard)))
                .tags(tags(shard))
                .description(description)
                .register(registry);
    }

    private void gauge(
            MeterRegistry registry,
            String[] tags,
            String name,
            String description,
            ToDoubleFunction<OutboxAdmin.State> value) {
        Gauge.builder(
                        name,
                        relay,
                        one -> one.state().stream()
                                .mapToDouble(value)
                                .findFirst()
                                .orElse(Double.NaN))
                .tags(tags)
                .description(description)
                .register(registry);
    }

    private void time(
            MeterRegistry registry,
            String[] tags,
            String name,
            String description,
            Function<OutboxAdmin.State, Optional<Duration>> value) {
        TimeGauge.builder(
                        name,
                        relay,
                        TimeUnit.MILLISECONDS,
                        one -> one.state().flatMap(value).stream()
                                .mapToDouble(Duration::toMillis)
                                .findFirst()
                                .orElse(Double.NaN))
                .tags(tags)
                .description(description)
                .register(registry);
    }
}
