package dev.bellwether.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.common.config.ConfigResource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Which sessions the brokers allow. Immutable. */
record BrokerLimits(long minSessionMillis, long maxSessionMillis) {
    private static final Logger log = LoggerFactory.getLogger(BrokerLimits.class);
    private static final String MIN = "group.min.session.timeout.ms";
    private static final String MAX = "group.max.session.timeout.ms";
    /** Below, a lease is all jitter: clients count in milliseconds, and threads are woken when there is time. */
    private static final Duration LEAST = Duration.ofMillis(30);
    /** No broker can be told a longer session. */
    private static final long LONGEST_MILLIS = Integer.MAX_VALUE;

    /**
     * Asks one broker; all are supposed to be set alike. Without the right to ask, only the broker itself will refuse.
     */
    static BrokerLimits read(AdminConnection admin, Duration patience) {
        try {
            var nodes = admin.ask(client -> client.describeCluster().nodes())
                    .get(patience.toMillis(), TimeUnit.MILLISECONDS);
            if (nodes.isEmpty()) { // of a cluster that is starting
                return unknown("no broker is known yet");
            }
            var broker = new ConfigResource(
                    ConfigResource.Type.BROKER, nodes.iterator().next().idString());
            var config = Objects.requireNonNull(
                    admin.ask(client -> client.describeConfigs(List.of(broker)).all())
                            .get(patience.toMillis(), TimeUnit.MILLISECONDS)
                            .get(broker));
            return new BrokerLimits(number(config, MIN, 0), number(config, MAX, LONGEST_MILLIS));
        } catch (ExecutionException | TimeoutException e) {
            return unknown(e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw KafkaArbiter.unavailable("interrupted while asking for the brokers' limits", e);
        }
    }

    private static BrokerLimits unknown(@Nullable String why) {
        log.info(
                "the brokers' limits of sessions are not known ({}): a lease outside of them will fail when a candidate"
                        + " stands",
                why);
        return new BrokerLimits(0, LONGEST_MILLIS);
    }

    void check(CandidacyConfig config) {
        var lease = config.lease();
        if (lease.compareTo(LEAST) < 0) {
            throw new ElectionException(
                    "lease is " + Durations.show(lease) + ": on Kafka it must be at least " + Durations.show(LEAST));
        }
        if (lease.toNanos() % 1_000_000 != 0) {
            throw new ElectionException(
                    "lease is " + lease.toNanos() / 1e6 + " ms: on Kafka it must be a whole number of milliseconds");
        }
        if (lease.toMillis() < minSessionMillis) {
            throw new ElectionException(
                    "lease is " + Durations.show(lease) + ", and the brokers allow no session shorter than "
                            + Durations.show(Duration.ofMillis(minSessionMillis)) + ": make the lease longer, or set "
                            + MIN + "="
                            + lease.toMillis() + " (or less) on every broker");
        }
        if (lease.toMillis() > maxSessionMillis) {
            throw new ElectionException(
                    "lease is " + Durations.show(lease) + ", and the brokers allow no session longer than "
                            + Durations.show(Duration.ofMillis(maxSessionMillis)) + ": make the lease shorter"
                            + (lease.toMillis() > LONGEST_MILLIS
                                    ? ""
                                    : ", or set " + MAX + "=" + lease.toMillis() + " (or more) on every broker"));
        }
    }

    private static long number(Config config, String name, long otherwise) {
        var entry = config.get(name);
        return entry == null || entry.value() == null ? otherwise : Long.parseLong(entry.value());
    }
}
