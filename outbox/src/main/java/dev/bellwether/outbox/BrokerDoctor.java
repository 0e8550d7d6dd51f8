package dev.bellwether.outbox;

import dev.bellwether.outbox.OutboxAdmin.Finding;
import dev.bellwether.outbox.OutboxAdmin.Severity;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Looks at the brokers: whether fences hold there, and records last. */
final class BrokerDoctor {
    private static final int PATIENCE_SECONDS = 10;
    /** The least transaction.version by which a commit that was delayed hits no later transaction (KIP-890). */
    static final int REFUSES_LATE_COMMITS = 2;

    private final Map<String, Object> properties;

    BrokerDoctor(Map<String, Object> properties) {
        this.properties = KafkaTopics.common(new TreeMap<>(properties));
    }

    /**
     * Returns what is to be said.
     *
     * @param topics that rows name
     * @param progress the topic of progress, if its name is known
     */
    List<Finding> examine(Collection<String> topics, Optional<String> progress) {
        var findings = new ArrayList<Finding>();
        Admin admin;
        try {
            admin = Admin.create(properties);
        } catch (KafkaException e) {
            findings.add(new Finding(
                    Severity.ERROR,
                    "the brokers cannot be asked: " + reason(e),
                    "name them as HOST:PORT, as they are"));
            return findings;
        }
        try {
            transactions(admin, findings);
            for (var topic : topics) {
                topic(
                        admin,
                        topic,
                        new Finding(Severity.ERROR, "topic " + topic + " does not exist", "create it"),
                        findings);
            }
            if (progress.isPresent()) {
                var missing = Finding.well(
                        "readers of committed records may see some again after a failure: there is no topic "
                                + progress.get() + ", which a relay makes unless it is set to once(false)");
                topic(admin, progress.get(), missing, findings)
                        .ifPresent(config -> progress(progress.get(), config, findings));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            findings.add(
                    e.getCause() instanceof AuthenticationException refusal
                            ? new Finding(
                                    Severity.ERROR,
                                    "the brokers refuse the login: " + refusal.getMessage(),
                                    "see to the properties that say how to log in, such as sasl.jaas.config")
                            : new Finding(
                                    Severity.ERROR, "the brokers do not answer: " + e.getMessage(), "see to them"));
        } finally {
            admin.close(Duration.ZERO); // which would wait for brokers that do not answer
        }
        return findings;
    }

    /** Returns what is wrong with the properties: the exception itself says only that there is no client. */
    static String reason(KafkaException e) {
        var cause = e.getCause() == null ? e : e.getCause();
        return String.valueOf(cause.getMessage());
    }

    private static void transactions(Admin admin, List<Finding> findings)
            throws ExecutionException, InterruptedException, TimeoutException {
        var version =
                transactionVersion(admin.describeFeatures().featureMetadata().get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        if (version < REFUSES_LATE_COMMITS) {
            findings.add(new Finding(
                    Severity.WARNING,
                    "transaction.version of the brokers is below 2",
                    "upgrade to Kafka 4 and set the feature (KIP-890): before it, a commit that was delayed"
                            + " may hit a later transaction"));
        } else {
            findings.add(Finding.well("transaction.version is " + version));
        }
    }

    /** Returns 0 if the brokers have none. */
    static int transactionVersion(FeatureMetadata features) {
        var version = features.finalizedFeatures().get("transaction.version");
        return version == null ? 0 : version.maxVersionLevel();
    }

    private static void progress(String topic, Config config, List<Finding> findings) {
        var policy = config.get(ProgressTopic.POLICY).value();
        if (!ProgressTopic.keepsAll(policy)) {
            findings.add(new Finding(
                    Severity.ERROR, "topic " + topic + ' ' + ProgressTopic.forgets(policy), ProgressTopic.REMEDY));
        }
    }

    /**
     * Judges how a topic is replicated; empty if it is well. A broker alone keeps what its disk keeps. Of several, one
     * that confirms for the others may be replaced by one that does not have the record.
     */
    static Optional<Finding> replication(String topic, int replicas, int inSync) {
        return replicas > 1 && inSync > 1
                ? Optional.empty()
                : Optional.of(new Finding(
                        replicas > 1 ? Severity.ERROR : Severity.WARNING,
                        "topic " + topic + " has " + replicas + " replicas, min.insync.replicas " + inSync,
                        "use three replicas and min.insync.replicas=2: otherwise the death of one broker"
                                + " can lose what it has confirmed"));
    }

    /** Returns its settings; empty if it is missing, or may not be looked at. */
    private static Optional<Config> topic(Admin admin, String topic, Finding missing, List<Finding> findings)
            throws ExecutionException, InterruptedException, TimeoutException {
        try {
            var found = admin.describeTopics(List.of(topic))
                    .allTopicNames()
                    .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .values()
                    .iterator()
                    .next();
            var replicas = found.partitions().get(0).replicas().size();
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            var config = admin.describeConfigs(List.of(resource))
                    .all()
                    .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .values()
                    .iterator()
                    .next();
            var inSync = config.get("min.insync.replicas").value();
            findings.add(replication(topic, replicas, Integer.parseInt(inSync))
                    .orElseGet(() -> Finding.well("topic " + topic + ": "
                            + found.partitions().size() + " partitions, " + replicas + " replicas, records up to "
                            + config.get("max.message.bytes").value() + " bytes")));
            return Optional.of(config);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof InvalidTopicException) {
                findings.add(new Finding(
                        Severity.ERROR,
                        "there can be no topic " + topic + ": " + e.getCause().getMessage(),
                        "have it written under another name, and delete its rows: nothing can publish them"));
            } else if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                findings.add(missing);
            } else if (e.getCause() instanceof AuthorizationException) {
                findings.add(new Finding(
                        Severity.WARNING,
                        "topic " + topic + " may not be looked at: "
                                + e.getCause().getMessage(),
                        "grant DESCRIBE and DESCRIBE_CONFIGS on it to this principal, or ask as another"));
            } else {
                throw e;
            }
            return Optional.empty();
        }
    }
}
