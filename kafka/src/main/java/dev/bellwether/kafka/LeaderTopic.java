package dev.bellwether.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The topic that holds the journal: creates it, or looks whether it will do. Thread-safe. */
final class LeaderTopic {
    private static final Logger log = LoggerFactory.getLogger(LeaderTopic.class);
    private static final long REPAIR_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Compacted, so that ends, names and the last holder outlast any retention; but nothing that a lease hangs on is. */
    private static final Map<String, String> CONFIG = new TreeMap<>(Map.of(
            "cleanup.policy",
            "compact",
            "message.timestamp.type",
            "LogAppendTime",
            "min.compaction.lag.ms",
            Long.toString(TimeUnit.HOURS.toMillis(1)),
            "segment.ms",
            Long.toString(TimeUnit.MINUTES.toMillis(30)),
            "segment.bytes",
            Integer.toString(16 << 20),
            "min.cleanable.dirty.ratio",
            "0.1",
            "delete.retention.ms",
            Long.toString(TimeUnit.DAYS.toMillis(1)),
            "unclean.leader.election.enable",
            "false"));

    private final Settings settings;
    private final Admin admin;
    private final AtomicLong repairedNanos = new AtomicLong(System.nanoTime() - REPAIR_NANOS);
    private volatile long keepsMillis = Long.MAX_VALUE;

    LeaderTopic(Settings settings, Admin admin) {
        this.settings = settings;
        this.admin = admin;
    }

    /** Returns when the topic exists and will do. */
    void require(Duration patience) {
        var name = settings.topic();
        try {
            if (!exists(patience)) {
                if (!settings.createTopic()) {
                    throw new ElectionException("topic \"" + name + "\" does not exist, and " + Settings.CREATE_TOPIC
                            + " is false: have it created by\n  " + command());
                }
                create(patience);
            }
            check(patience);
        } catch (TimeoutException e) {
            throw new UnavailableException(
                    "no answer from the Kafka brokers at " + settings.bootstrap() + " within " + patience, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted while looking for topic \"" + name + '"', e);
        }
    }

    /** Refuses a lease that outlasts what the topic is sure to keep. */
    void check(CandidacyConfig config) {
        if (config.lease().toMillis() > keepsMillis) {
            throw new ElectionException(
                    "lease is " + config.lease() + ", and topic \"" + settings.topic()
                            + "\" may forget its records after " + Duration.ofMillis(keepsMillis)
                            + ": make the lease shorter, or raise min.compaction.lag.ms (retention.ms, if it is not compacted)");
        }
    }

    /** A record could not be written: if the topic is gone, create it anew, but not more than once a second. */
    // nobody waits: what matters is whether the next record can be written
    @SuppressWarnings("FutureReturnValueIgnored")
    void missed(Throwable error) {
        var now = System.nanoTime();
        var last = repairedNanos.get();
        if (settings.createTopic() && now - last >= REPAIR_NANOS && repairedNanos.compareAndSet(last, now)) {
            log.debug("a record was not written; looking for the topic", error);
            admin.describeTopics(List.of(settings.topic())).allTopicNames().whenComplete((found, missing) -> {
                if (missing != null && cause(missing) instanceof UnknownTopicOrPartitionException) {
                    log.warn("topic {} is gone: creating it anew", settings.topic());
                    admin.createTopics(List.of(newTopic()));
                }
            });
        }
    }

    /** Returns what tells the topic from another one of the same name. */
    CompletionStage<Uuid> identity() {
        return admin.describeTopics(List.of(settings.topic()))
                .allTopicNames()
                .toCompletionStage()
                .thenApply(found ->
                        Objects.requireNonNull(found.get(settings.topic())).topicId());
    }

    private boolean exists(Duration patience) throws TimeoutException, InterruptedException {
        try {
            await(admin.describeTopics(List.of(settings.topic())).allTopicNames(), patience);
            return true;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return false;
            }
            throw Failures.translated(cause(e), settings, "the Kafka brokers at " + settings.bootstrap());
        }
    }

    private void create(Duration patience) throws TimeoutException, InterruptedException {
        try {
            await(admin.createTopics(List.of(newTopic())).all(), patience);
            log.info("created topic {}", settings.topic());
        } catch (ExecutionException e) {
            if (e.getCause() instanceof TopicExistsException) {
                return; // another candidate was faster
            }
            if (e.getCause() instanceof AuthorizationException || e.getCause() instanceof PolicyViolationException) {
                throw new ElectionException(
                        "topic \"" + settings.topic() + "\" does not exist, and we may not create it ("
                                + e.getCause().getMessage() + "): have it created by\n  " + command(),
                        e.getCause());
            }
            throw Failures.translated(cause(e), settings, "the Kafka brokers at " + settings.bootstrap());
        }
    }

    private void check(Duration patience) throws TimeoutException, InterruptedException {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, settings.topic());
        try {
            var config = Objects.requireNonNull(
                    await(admin.describeConfigs(List.of(resource)).all(), patience)
                            .get(resource));
            var compacted =
                    value(config, "cleanup.policy").filter("compact"::equals).isPresent();
            keepsMillis = value(config, compacted ? "min.compaction.lag.ms" : "retention.ms")
                    .map(Long::parseLong)
                    .filter(millis -> millis >= 0)
                    .orElse(Long.MAX_VALUE);
            if (!compacted) {
                log.warn(
                        "topic {} is not compacted: it forgets which elections have ended, and the names of those that nobody"
                                + " leads; set cleanup.policy=compact",
                        settings.topic());
            }
            if (value(config, "message.timestamp.type")
                    .filter("LogAppendTime"::equals)
                    .isEmpty()) {
                log.warn(
                        "topic {} has the time-stamps of its writers: observers see since when somebody leads by that one's"
                                + " clock; set message.timestamp.type=LogAppendTime",
                        settings.topic());
            }
        } catch (ExecutionException e) {
            log.info("the settings of topic {} are not known: {}", settings.topic(), e.getMessage());
        }
    }

    private NewTopic newTopic() {
        return new NewTopic(settings.topic(), Optional.of(1), Optional.empty()).configs(CONFIG);
    }

    private String command() {
        return "kafka-topics.sh --bootstrap-server " + settings.bootstrap() + " --create --topic " + settings.topic()
                + " --partitions 1 --replication-factor 3 "
                + CONFIG.entrySet().stream()
                        .map(entry -> "--config " + entry.getKey() + '=' + entry.getValue())
                        .collect(Collectors.joining(" "));
    }

    private static Optional<String> value(Config config, String name) {
        return Optional.ofNullable(config.get(name)).map(entry -> entry.value());
    }

    private static Throwable cause(Throwable error) {
        return error.getCause() == null ? error : error.getCause();
    }

    private static <T> T await(KafkaFuture<T> future, Duration patience)
            throws ExecutionException, TimeoutException, InterruptedException {
        return future.get(patience.toNanos(), TimeUnit.NANOSECONDS);
    }
}
