package dev.bellwether.cli.outbox;

import dev.bellwether.cli.command.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
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

    /** What order and fencing depend on: it is as the file wants it, or better. */
    private static final List<String> SETTLED =
            List.of("acks", "request.required.acks", "enable.idempotence", "retries");

    /** What is understood together with others, or by the file. */
    private static final Set<String> ELSEWHERE = Set.of("sasl.username", "sasl.password", "partitioner");

    private LibrdkafkaProperties() {}

    static Map<String, Object> translated(Map<String, Object> properties, List<String> warnings) {
        var translated = new TreeMap<String, Object>();
        properties.forEach((name, value) -> {
            var ours = NAMES.getOrDefault(name, name);
            if (SETTLED.contains(name)) {
                warnings.add(name + " has no effect any more: all records are confirmed by all replicas, and fenced");
            } else if (name.equals("ssl.ca.location")) {
                translated.put("ssl.truststore.type", "PEM");
                translated.put("ssl.truststore.location", value);
            } else if (name.equals("ssl.ca.pem")) {
                translated.put("ssl.truststore.type", "PEM");
                translated.put("ssl.truststore.certificates", value);
            } else if (name.equals("ssl.certificate.location") || name.equals("ssl.certificate.pem")) {
                translated.put("ssl.keystore.type", "PEM");
                translated.put("ssl.keystore.certificate.chain", pem(name, value));
            } else if (name.equals("ssl.key.location") || name.equals("ssl.key.pem")) {
                translated.put("ssl.keystore.type", "PEM");
                translated.put("ssl.keystore.key", key(name, pem(name, value)));
            } else if (name.equals("ssl.keystore.location")) {
                translated.put("ssl.keystore.type", "PKCS12");
                translated.put(name, value);
            } else if (name.equals("ssl.endpoint.identification.algorithm")) {
                translated.put(name, "none".equals(value) ? "" : value);
            } else if (ProducerConfig.configNames().contains(ours)) {
                translated.put(ours, value);
            } else if (!ELSEWHERE.contains(name)) {
                warnings.add(name + " has no effect any more: Kafka's client for Java does not know it");
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

    /** Returns what is in the file that is named, or what stands there itself. */
    private static String pem(String name, Object value) {
        if (name.endsWith(".pem")) {
            return String.valueOf(value);
        }
        try {
            return Files.readString(Path.of(String.valueOf(value)));
        } catch (IOException e) {
            throw new UsageException(name + ": " + value + " cannot be read", e);
        }
    }

    private static String key(String name, String pem) {
        if (!pem.contains("BEGIN PRIVATE KEY") && !pem.contains("BEGIN ENCRYPTED PRIVATE KEY")) {
            throw new UsageException(name
                    + ": the key is not in PKCS #8, which is all that Kafka's client for Java reads. Convert it:"
                    + " openssl pkcs8 -topk8 -in KEY -out KEY.pk8, with -nocrypt if it has no password");
        }
        return pem;
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
