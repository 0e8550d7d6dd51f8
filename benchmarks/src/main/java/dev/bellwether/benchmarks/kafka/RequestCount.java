package dev.bellwether.benchmarks.kafka;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;

/** Counts the requests of all Kafka clients of this process. Clients make it by its name. */
public final class RequestCount implements MetricsReporter {
    private static final Set<KafkaMetric> COUNTERS = ConcurrentHashMap.newKeySet();

    /** For Kafka's clients. */
    public RequestCount() {}

    /** Returns how many were sent by clients that are open. */
    static double sent() {
        return COUNTERS.stream()
                .map(KafkaMetric::metricValue)
                .filter(Number.class::isInstance)
                .mapToDouble(value -> ((Number) value).doubleValue())
                .sum();
    }

    @Override
    public void init(List<KafkaMetric> metrics) {
        metrics.forEach(this::metricChange);
    }

    @Override
    public void metricChange(KafkaMetric metric) {
        var name = metric.metricName();
        if (name.name().equals("request-total")
                && name.group().endsWith("-metrics")
                && !name.tags().containsKey("node-id")) {
            COUNTERS.add(metric);
        }
    }

    @Override
    public void metricRemoval(KafkaMetric metric) {
        COUNTERS.remove(metric);
    }

    @Override
    public void close() {}

    @Override
    public void configure(Map<String, ?> configs) {}
}
