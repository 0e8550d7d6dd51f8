package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The topic of one roster: creates it, or looks whether it will do. */
final class RosterTopic {
    private static final Logger log = LoggerFactory.getLogger(RosterTopic.class);

    private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /**
     * Nothing in it is worth more than a few leases: what is older goes soon, since a new member reads what is left.
     */
    private static final Map<String, String> CONFIG = new TreeMap<>(Map.of(
            "cleanup.policy",
            "delete",
            "retention.ms",
            Long.toString(TimeUnit.MINUTES.toMillis(30)),
            "segment.ms",
            Long.toString(TimeUnit.MINUTES.toMillis(10)),
            "segment.bytes",
            Integer.toString(16 << 20),
            "message.timestamp.type",
            "LogAppendTime",
            "unclean.leader.election.enable",
            "false"));

    private RosterTopic() {}

    /** Returns the topic of a member's roster: its own, or the one that it shares. */
    static String name(Settings settings, String roster, RosterConfig config) {
        return config.topic().orElseGet(() -> name(settings, roster));
    }

    static String name(Settings settings, String roster) {
        var name = settings.topic() + ".roster." + roster;
        if (!name.matches("[a-zA-Z0-9._-]{1,249}")) {
            throw new ElectionException(
                    "roster \"" + roster + "\" cannot have a topic of its own, which would be called \"" + name
                            + "\": use letters, digits, dots, dashes and underscores");
        }
        return name;
    }

    /** Returns when the topic exists, has this number of partitions, and keeps and stamps what it is sent. */
    static void require(
            Settings settings, AdminConnection admin, String roster, RosterConfig config, Duration patience) {
        var name = name(settings, roster, config);
        try {
            var found = describe(settings, admin, name, patience);
            var until = System.nanoTime() + patience.toNanos();
            var doubted = false;
            while (found.isPresent()
                    && found.get().partitions().size() < config.partitions()
                    && System.nanoTime() - until < 0) {
                if (!isBare(admin, name, patience)) {
                    if (doubted) {
                        break;
                    }
                    doubted = true; // it may have been fixed since we looked
                }
                LockSupport.parkNanos(AGAIN_NANOS); // a broker made it by itself: members that are there will fix it
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                found = describe(settings, admin, name, patience);
            }
            if (found.isEmpty()) {
                create(settings, admin, name, config, patience);
            } else if (found.get().partitions().size() != config.partitions()) {
                throw changed(name, found.get().partitions().size(), config);
            } else {
                Replication.warnOfReplicas(admin, found.get());
            }
            check(admin, name, config, patience);
        } catch (TimeoutException e) {
            throw new UnavailableException(
                    "no answer from the Kafka brokers at " + settings.bootstrap() + " within "
                            + Durations.show(patience),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted while looking for topic \"" + name + '"', e);
        }
    }

    static ElectionException changed(String topic, int partitions, RosterConfig config) {
        return new ElectionException(
                "topic \"" + topic + "\" has " + partitions + " partitions, and the roster was asked for"
                        + " " + config.partitions()
                        + ": the number cannot change, because roles would change their owners; use another roster,"
                        + " with a topic of its own");
    }

    private static Optional<TopicDescription> describe(
            Settings settings, AdminConnection admin, String name, Duration patience)
            throws TimeoutException, InterruptedException {
        try {
            return Optional.ofNullable(LeaderTopic.await(
                            admin.ask(client ->
                                    client.describeTopics(List.of(name)).allTopicNames()),
                            patience)
                    .get(name));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return Optional.empty();
            }
            throw translated(e, settings, name);
        }
    }

    private static ElectionException translated(ExecutionException error, Settings settings, String name) {
        return KafkaErrors.translated(
                Causes.unwrapped(error),
                new KafkaErrors.Resources(settings, name, ""),
                "the Kafka brokers at " + settings.bootstrap());
    }

    /** Returns the topic as it is now; empty if it is gone. */
    // the callback says what the future would
    @SuppressWarnings("FutureReturnValueIgnored")
    static CompletionStage<Optional<TopicDescription>> look(AdminConnection admin, String name) {
        var looked = new CompletableFuture<Optional<TopicDescription>>();
        admin.ask(client -> client.describeTopics(List.of(name)).allTopicNames())
                .whenComplete((found, error) -> {
                    if (error == null) {
                        looked.complete(Optional.ofNullable(found.get(name)));
                    } else if (Causes.unwrapped(error) instanceof UnknownTopicOrPartitionException) {
                        looked.complete(Optional.empty());
                    } else {
                        looked.completeExceptionally(Causes.unwrapped(error));
                    }
                });
        return looked;
    }

    /** Of which topics was told that they are gone, or lack something, and that we cannot change that. Thread-safe. */
    static final class Absence {
        private final Map<String, Uuid> told = new ConcurrentHashMap<>();

        private boolean isNew(String topic) {
            return isNew(topic, Uuid.ZERO_UUID);
        }

        /** The same, and whether this is another one of that name. */
        private boolean isNew(String topic, Uuid id) {
            return !id.equals(told.put(topic, id));
        }

        /** It is as it should be. */
        void isOver(String topic) {
            told.remove(topic);
        }
    }

    /**
     * The topic is gone: creates it again, if that is allowed. Nobody waits: what matters is whether it is there the
     * next time.
     */
    // the callback says what the future would
    @SuppressWarnings("FutureReturnValueIgnored")
    static void createAgain(
            Settings settings, AdminConnection admin, String name, RosterConfig config, Absence absence) {
        if (!settings.createTopic()) {
            if (absence.isNew(name)) {
                log.error(
                        "topic {} is gone, and {} is false. Roles have no leader until it is there: have it created"
                                + " by\n  {}",
                        name,
                        Settings.CREATE_TOPIC,
                        command(settings, name, config));
            }
            return;
        }
        admin.ask(client -> client.describeCluster().nodes())
                .toCompletionStage()
                .thenCompose(nodes -> admin.ask(
                                client -> client.createTopics(List.of(newTopic(name, config, nodes.size())))
                                        .all())
                        .toCompletionStage()
                        .thenApply(created -> nodes.size()))
                .whenComplete((brokers, error) -> {
                    var cause = error == null ? null : Causes.unwrapped(error);
                    if (cause == null) {
                        absence.isOver(name);
                        log.warn(
                                "topic {} was gone, and was created again with {} replica(s)",
                                name,
                                Replication.on(brokers));
                        Replication.warnOfBrokers(name, brokers);
                    } else if (cause instanceof TopicExistsException || cause instanceof RetriableException) {
                        log.debug("topic {} was gone, and was not created again", name, cause);
                    } else if (absence.isNew(name)) {
                        log.warn(
                                "topic {} is gone, and could not be created again ({}). Roles have no leader until it"
                                        + " is there; trying again. Or have it created by\n  {}",
                                name,
                                cause.getMessage(),
                                command(settings, name, config));
                    }
                });
    }

    /**
     * The topic was deleted, and a broker has made it again by itself, as it does by default for anybody who writes to
     * it: with as many partitions as it likes, and its own settings. Makes of it what it was. Nobody waits, as above.
     */
    // the callbacks say what the futures would
    @SuppressWarnings("FutureReturnValueIgnored")
    static void repair(
            Settings settings,
            AdminConnection admin,
            String name,
            Uuid id,
            RosterConfig config,
            Absence lack,
            Absence failure) {
        var isNew = lack.isNew(name, id);
        if (!settings.createTopic()) {
            if (isNew) {
                log.error(
                        "a broker has created topic {} by itself, because it was deleted, and {} is false. Roles may"
                                + " have no leader until you give it {} partitions and {}",
                        name,
                        Settings.CREATE_TOPIC,
                        config.partitions(),
                        CONFIG);
            }
            return;
        }
        if (isNew) {
            log.warn("topic {} was deleted, and a broker has created it by itself: adding what it lacks", name);
        }
        admin.ask(client -> client.createPartitions(Map.of(name, NewPartitions.increaseTo(config.partitions())))
                        .all())
                .toCompletionStage()
                .exceptionallyCompose(error -> Causes.unwrapped(error) instanceof InvalidPartitionsException
                        ? CompletableFuture.completedStage(null) // it has them; who gave them to it may have died since
                        : CompletableFuture.failedStage(error))
                .thenCompose(grown -> replicas(admin, name))
                .thenCompose(replicas -> admin.ask(
                                client -> client.incrementalAlterConfigs(Map.of(resource(name), changes(replicas)))
                                        .all())
                        .toCompletionStage())
                .whenComplete((done, error) -> {
                    if (error != null && failure.isNew(name, id)) {
                        log.error(
                                "topic {} could not be given {} partitions and {} ({}). Roles may have no leader"
                                        + " until it has them; trying again",
                                name,
                                config.partitions(),
                                CONFIG,
                                Causes.unwrapped(error).getMessage());
                    }
                });
    }

    /** Returns how many replicas it has, and warns if they are fewer than there could be. */
    private static CompletionStage<Integer> replicas(AdminConnection admin, String name) {
        return admin.ask(client -> client.describeTopics(List.of(name)).allTopicNames())
                .toCompletionStage()
                .thenApply(found -> {
                    var topic = Objects.requireNonNull(found.get(name));
                    Replication.warnOfReplicas(admin, topic);
                    return Replication.of(topic);
                });
    }

    private static List<AlterConfigOp> changes(int replicas) {
        return Replication.with(CONFIG, replicas).entrySet().stream()
                .map(entry ->
                        new AlterConfigOp(new ConfigEntry(entry.getKey(), entry.getValue()), AlterConfigOp.OpType.SET))
                .toList();
    }

    /**
     * Returns whether a topic has no settings of its own: then a broker has made it, and nobody chose how many
     * partitions it has. Anybody who may not ask takes it as it is.
     */
    static CompletionStage<Boolean> bare(AdminConnection admin, String name) {
        return admin.ask(client ->
                        client.describeConfigs(List.of(resource(name))).all())
                .toCompletionStage()
                .thenApply(found -> Objects.requireNonNull(found.get(resource(name))).entries().stream()
                        .noneMatch(entry -> entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG))
                .exceptionallyCompose(error -> Causes.unwrapped(error) instanceof AuthorizationException
                        ? CompletableFuture.completedStage(false)
                        : CompletableFuture.failedStage(error));
    }

    private static boolean isBare(AdminConnection admin, String name, Duration patience)
            throws TimeoutException, InterruptedException {
        try {
            return LeaderTopic.await(bare(admin, name).toCompletableFuture(), patience);
        } catch (ExecutionException e) {
            return false; // it is gone again, or we may not ask: then it is as it is
        }
    }

    private static ConfigResource resource(String name) {
        return new ConfigResource(ConfigResource.Type.TOPIC, name);
    }

    private static NewTopic newTopic(String name, RosterConfig config, int brokers) {
        return Replication.topic(name, config.partitions(), CONFIG, brokers);
    }

    private static String command(Settings settings, String name, RosterConfig config) {
        return Replication.command(settings, name, config.partitions(), CONFIG);
    }

    private static void create(
            Settings settings, AdminConnection admin, String name, RosterConfig config, Duration patience)
            throws TimeoutException, InterruptedException {
        var command = command(settings, name, config);
        if (!settings.createTopic()) {
            throw new ElectionException("topic \"" + name + "\" does not exist, and " + Settings.CREATE_TOPIC
                    + " is false: have it created by\n  " + command);
        }
        try {
            var brokers = LeaderTopic.await(
                            admin.ask(client -> client.describeCluster().nodes()), patience)
                    .size();
            LeaderTopic.await(
                    admin.ask(client -> client.createTopics(List.of(newTopic(name, config, brokers)))
                            .all()),
                    patience);
            Replication.warnOfBrokers(name, brokers);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof TopicExistsException) {
                return; // another member was faster
            }
            if (e.getCause() instanceof AuthorizationException || e.getCause() instanceof PolicyViolationException) {
                throw new ElectionException(
                        "topic \"" + name + "\" does not exist, and could not be created (" + e.getCause()
                                + "): have it created by\n  " + command,
                        e.getCause());
            }
            throw translated(e, settings, name);
        }
    }

    /** Returns what an operator should fix in a roster's topic. */
    static List<Finding> findings(AdminConnection admin, String name, Duration patience)
            throws ExecutionException, TimeoutException, InterruptedException {
        var brokers = LeaderTopic.await(
                        admin.ask(client -> client.describeCluster().nodes()), patience)
                .size();
        var described = LeaderTopic.await(
                admin.ask(client -> client.describeTopics(List.of(name)).allTopicNames()), patience);
        var replicas = Replication.of(Objects.requireNonNull(described.get(name)));
        var resource = resource(name);
        var config = Objects.requireNonNull(LeaderTopic.await(
                        admin.ask(client ->
                                client.describeConfigs(List.of(resource)).all()),
                        patience)
                .get(resource));
        var inSync = config.get("min.insync.replicas");
        var findings = new ArrayList<Finding>();
        if (brokers >= 3 && (replicas < 3 || inSync == null || Integer.parseInt(inSync.value()) < 2)) {
            findings.add(Finding.warning(
                    "rosters",
                    "topic \"" + name + "\" has " + replicas + " replica(s) and min.insync.replicas="
                            + (inSync == null ? "unknown" : inSync.value())
                            + ": an acknowledged claim must survive the loss of a broker",
                    "give it three replicas and min.insync.replicas=2"));
        }
        var stamps = config.get("message.timestamp.type");
        if (stamps != null && !"LogAppendTime".equals(stamps.value())) {
            findings.add(Finding.warning(
                    "rosters",
                    "topic \"" + name + "\" has the timestamps of its writers: members of mode TIMED will be refused",
                    "set message.timestamp.type=LogAppendTime"));
        }
        return findings;
    }

    private static void check(AdminConnection admin, String name, RosterConfig config, Duration patience)
            throws TimeoutException, InterruptedException {
        var resource = resource(name);
        try {
            var present = Objects.requireNonNull(LeaderTopic.await(
                            admin.ask(client ->
                                    client.describeConfigs(List.of(resource)).all()),
                            patience)
                    .get(resource));
            var stamps = present.get("message.timestamp.type");
            if (config.mode() == RosterMode.TIMED && stamps != null && !"LogAppendTime".equals(stamps.value())) {
                throw new ElectionException("topic \"" + name + "\" has the timestamps of its writers, and mode "
                        + config.mode() + " needs those of the broker:  set message.timestamp.type=LogAppendTime");
            }
            var policies = present.get("cleanup.policy");
            if (policies != null && String.valueOf(policies.value()).contains("compact")) {
                throw new ElectionException("topic \"" + name + "\" is compacted, and refuses what has no key, as the"
                        + " records of a roster: set cleanup.policy=delete, or use another topic");
            }
            var keeps = present.get("retention.ms");
            var millis = keeps == null || keeps.value() == null ? -1 : Long.parseLong(keeps.value());
            if (millis >= 0 && millis < 3 * config.lease().toMillis()) {
                throw new ElectionException("topic \"" + name + "\" may forget its records after "
                        + Durations.show(Duration.ofMillis(millis)) + ", and lease is " + Durations.show(config.lease())
                        + ": raise retention.ms to three leases at least");
            }
        } catch (ExecutionException e) {
            // without the right to ask, only the operator can know; or the broker does not know yet that it was created
        }
    }
}
