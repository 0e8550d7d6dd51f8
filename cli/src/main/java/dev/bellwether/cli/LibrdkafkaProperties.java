package dev.bellwether.cli;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.ProducerConfig;

/** The properties of librdkafka in the words of Kafka's own client. */
final class LibrdkafkaProperties {
    private static final Map<String, String> NAMES = Map.of(
            "metadata.broker.list", "bootstrap.servers",
            "sasl.mechanisms", "sasl.mechanism",
            "compression.codec", "compression.type",
            "queue.buffering.max.ms", "linger.ms",
            "message.timeout.ms", "delivery.timeout.ms",
            "message.max.bytes", "max.request.size",
            "max.in.flight", "max.in.flight.requests.per.connection",
            "socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.ms");

    /** What order and fencing hang on: it is as the file wants it, or better. */
    private static final List<String> SETTLED =
            List.of("acks", "request.required.acks", "enable.idempotence", "retries");

    private LibrdkafkaProperties() {}

    static Map<String, Object> translated(Map<String, Object> properties, List<String> warnings) {
        var translated = new TreeMap<String, Object>();
        properties.forEach((name, value) -> {
            var ours = NAMES.getOrDefault(name, name);
            if (SETTLED.contains(name)) {
                warnings.add(name + " has lost its meaning: all records are confirmed by all replicas, and fenced");
            } else if (name.equals("ssl.ca.location")) {
                translated.put("ssl.truststore.type", "PEM");
                translated.put("ssl.truststore.location", value);
            } else if (ProducerConfig.configNames().contains(ours)) {
                translated.put(ours, value);
            } else if (!name.equals("sasl.username") && !name.equals("sasl.password")) {
                warnings.add(name + " has lost its meaning: Kafka's client for Java does not know it");
            }
        });
        var user = properties.get("sasl.username");
        if (user != null) {
            translated.put(
                    "sasl.jaas.config",
                    module(String.valueOf(translated.get("sasl.mechanism"))) + " required username=\"" + escaped(user)
                            + "\" password=\"" + escaped(properties.getOrDefault("sasl.password", "")) + "\";");
        }
        return translated;
    }

    private static String module(String mechanism) {
        return mechanism.startsWith("SCRAM")
                ? "org.apache.kafka.common.security.scram.ScramLoginModule"
                : "org.apache.kafka.common.security.plain.PlainLoginModule";
    }

    private static String escaped(Object value) {
        return String.valueOf(value).replace("\\", "\\\\").replace("\"", "\\\"");
    }
}
