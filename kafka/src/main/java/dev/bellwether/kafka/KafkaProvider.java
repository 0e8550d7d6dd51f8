package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import java.util.HashMap;
import java.util.Set;
import java.util.function.Supplier;

/** Knows {@code kafka://host:9092,host:9092?topic=leaders&name=value}: see {@link KafkaElections} for the names. */
public final class KafkaProvider implements ElectionsProvider {
    /** For {@link java.util.ServiceLoader}. */
    public KafkaProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("kafka");
    }

    @Override
    public void check(ConnectUri uri) {
        var unused = withoutSecrets(uri, () -> settings(uri));
    }

    @Override
    public Backend connect(ConnectUri uri) {
        return withoutSecrets(uri, () -> KafkaElections.backend(settings(uri)));
    }

    /** Kafka's clients repeat addresses, and in one that is wrong a secret may stand; so may it in the causes. */
    private static <T> T withoutSecrets(ConnectUri uri, Supplier<T> work) {
        try {
            return work.get();
        } catch (ElectionException e) {
            var said = String.valueOf(e.getMessage());
            var shown = uri.redact(said);
            throw shown.equals(said)
                    ? e
                    : e instanceof UnavailableException
                            ? new UnavailableException(shown)
                            : new ElectionException(shown);
        }
    }

    private static Settings settings(ConnectUri uri) {
        if (uri.authority().isEmpty()) {
            throw new ElectionException(uri + " names no brokers: write kafka://host:9092,host:9092");
        }
        if (uri.userInfo().isPresent() || uri.path().length() > 1) {
            throw new ElectionException(
                    uri + " has a user or a path, which Kafka does not know: name the topic by ?topic=, and"
                            + " credentials by sasl.jaas.config");
        }
        var properties = new HashMap<String, Object>(uri.parameters());
        if (properties.put("bootstrap.servers", uri.authority()) != null) {
            throw new ElectionException(uri + " names brokers twice: remove the parameter bootstrap.servers");
        }
        return Settings.of(properties);
    }
}
