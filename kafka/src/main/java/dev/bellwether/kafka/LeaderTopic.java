package dev.bellwether.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The topic that holds the journal, or the log: creates it, or looks whether it will do. Thread-safe. */
final class LeaderTopic {
    private static final Logger log = LoggerFactory.getLogger(LeaderTopic.class);
    private static final long REPAIR_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final Duration LOOK_PATIENCE = Duration.ofSeconds(2);
    /** A broker that is so far behind the others is not asked any more: they take it for dead after nine seconds. */
    private static final long BEHIND_NANOS = TimeUnit.SECONDS.toNanos(10);

    /**
     * Compacted, so that ends, names and the last holder outlast any retention; but nothing that a lease depends on is.
     */
    private static final Map<String, String> OF_GROUPS = new TreeMap<>(Map.of(
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

    /**
     * Never compacted: an attempt that was refused would take the place of the one that is in effect. What is older
     * than the last checkpoint is of no use; a day of rest on either side of a weekend is kept anyway, since a log that
     * is empty has forgotten which elections have ended.
     */
    private static final Map<String, String> OF_LOG = new TreeMap<>(Map.of(
            "cleanup.policy",
            "delete",
            "retention.ms",
            Long.toString(TimeUnit.DAYS.toMillis(4)),
            "retention.bytes",
            "-1",
            "message.timestamp.type",
            "LogAppendTime",
            "segment.ms",
            Long.toString(TimeUnit.HOURS.toMillis(6)),
            "segment.bytes",
            Integer.toString(64 << 20),
            "unclean.leader.election.enable",
            "false"));

    /** Checkpoints are ten to twenty minutes apart, at most. */
    static final Duration LEAST_RETENTION = Duration.ofHours(1);

    private final Settings settings;
    private final Map<String, String> wanted;
    private final AdminConnection admin;
    private final AtomicLong repairedNanos = new AtomicLong(System.nanoTime() - REPAIR_NANOS);
    private final AtomicBoolean isRefused = new AtomicBoolean(); // its creation, as was told
    private final AtomicLong settledNanos = new AtomicLong(System.nanoTime());
    private volatile boolean unsettled; // others have made it, and it is not known to have our settings
    private volatile long replacedNanos;
    private volatile long keepsMillis = Long.MAX_VALUE;

    LeaderTopic(Settings settings, AdminConnection admin) {
        this.settings = settings;
        wanted = isOfLog(settings) ? OF_LOG : OF_GROUPS;
        this.admin = admin;
    }

    private static boolean isOfLog(Settings settings) {
        return settings.by() == Settings.By.LOG;
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
                    "no answer from " + settings.brokers() + " within " + Durations.show(patience) + ": "
                            + settings.complaints(),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted while looking for topic \"" + name + '"', e);
        }
    }

    /** Refuses a lease that outlasts what the topic is sure to keep; but it may have been altered since we looked. */
    void check(CandidacyConfig config) {
        if (config.lease().toMillis() > keepsMillis) {
            lookAgain();
        }
        if (config.lease().toMillis() > keepsMillis) {
            throw new ElectionException(
                    "lease is " + Durations.show(config.lease()) + ", and topic \"" + settings.topic()
                            + "\" may forget its records after " + Durations.show(Duration.ofMillis(keepsMillis))
                            + ": make the lease shorter, or set cleanup.policy=compact and raise"
                            + " min.compaction.lag.ms (with cleanup.policy=delete: raise retention.ms, and set"
                            + " retention.bytes=-1)");
        }
    }

    private void lookAgain() {
        try {
            check(LOOK_PATIENCE);
        } catch (TimeoutException e) {
            log.debug("the settings of topic {} are not known again in time", settings.topic(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Who finds the topic gone has it made again: while nobody holds a seat, no write would tell of it. */
    <T> CompletionStage<T> orMissed(CompletionStage<T> question) {
        return question.whenComplete((answer, error) -> {
            if (error != null) {
                missed(error);
            }
        });
    }

    /**
     * A record could not be written, or the end of the topic is not known: if the topic is gone, create it again, or
     * tell that we are not to; but look not more than once a second.
     */
    // nobody waits: what matters is whether the next request succeeds
    @SuppressWarnings("FutureReturnValueIgnored")
    void missed(Throwable error) {
        var now = System.nanoTime();
        var last = repairedNanos.get();
        if (now - last >= REPAIR_NANOS && repairedNanos.compareAndSet(last, now)) {
            log.debug("a request to topic {} failed; looking for the topic", settings.topic(), error);
            admin.ask(client -> client.describeTopics(List.of(settings.topic())).allTopicNames())
                    .whenComplete((found, missing) -> {
                        if (missing == null) {
                            isRefused.set(false);
                        } else if (Causes.unwrapped(missing) instanceof UnknownTopicOrPartitionException) {
                            if (settings.createTopic()) {
                                createAgain();
                            } else if (isRefused.compareAndSet(false, true)) {
                                log.warn(
                                        "topic {} is gone, and {} is false. Nobody can be elected until it is there:"
                                                + " have it created by\n  {}",
                                        settings.topic(),
                                        Settings.CREATE_TOPIC,
                                        command());
                            }
                        }
                    });
        }
    }

    // nobody waits, as above
    @SuppressWarnings("FutureReturnValueIgnored")
    private void createAgain() {
        admin.ask(client -> client.describeCluster().nodes()).whenComplete((nodes, unknown) -> {
            if (nodes != null) {
                admin.ask(client -> client.createTopics(
                                        List.of(Replication.topic(settings.topic(), 1, wanted, nodes.size())))
                                .all())
                        .whenComplete((made, refused) -> createdAgain(nodes.size(), refused));
            }
        });
    }

    /** What may pass is tried again, and the reason why nobody leads meanwhile is told elsewhere. */
    private void createdAgain(int brokers, @Nullable Throwable refused) {
        var cause = refused == null ? null : Causes.unwrapped(refused);
        if (cause == null) {
            isRefused.set(false);
            log.warn(
                    "topic {} was gone, and was created again with {} replica(s)",
                    settings.topic(),
                    Replication.on(brokers));
            Replication.warnOfBrokers(settings.topic(), brokers);
        } else if (cause instanceof TopicExistsException || cause instanceof RetriableException) {
            log.debug("topic {} was gone, and was not created again", settings.topic(), cause);
        } else if (isRefused.compareAndSet(false, true)) {
            log.warn(
                    "topic {} is gone, and could not be created again ({}). Nobody can be elected until it is there;"
                            + " trying again. Or have it created by\n  {}",
                    settings.topic(),
                    cause.getMessage(),
                    command());
        }
    }

    /**
     * The topic is another one than before. Brokers with {@code auto.create.topics.enable} make one by themselves as
     * soon as anybody asks for it, with settings of theirs: it is given ours, as soon as they are known. A broker may
     * not know it yet, or show what was set on the one that was deleted: so it is looked at for a while.
     */
    void replaced() {
        isRefused.set(false);
        log.warn("topic {} is a new one: it was deleted and created again", settings.topic());
        if (settings.createTopic()) {
            replacedNanos = System.nanoTime();
            unsettled = true;
            settledNanos.set(replacedNanos);
            settle(true);
        }
    }

    /** Looks again, but not more than once a second. */
    private void settleAgain() {
        var now = System.nanoTime();
        var last = settledNanos.get();
        if (unsettled && now - last >= REPAIR_NANOS && settledNanos.compareAndSet(last, now)) {
            settle(false);
        }
    }

    // nobody waits: it is used as it is until then
    @SuppressWarnings("FutureReturnValueIgnored")
    private void settle(boolean isFirst) {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, settings.topic());
        var description = admin.ask(client ->
                        client.describeTopics(List.of(settings.topic())).allTopicNames())
                .toCompletionStage()
                .thenApply(found -> Objects.requireNonNull(found.get(settings.topic())));
        admin.ask(client -> client.describeConfigs(List.of(resource)).all())
                .toCompletionStage()
                .thenCombine(description, (found, topic) -> {
                    var changes = missing(Objects.requireNonNull(found.get(resource)), Replication.of(topic));
                    if (changes.isEmpty() && System.nanoTime() - replacedNanos >= BEHIND_NANOS) {
                        unsettled = false;
                        Replication.warnOfReplicas(admin, topic);
                    }
                    return changes;
                })
                .whenComplete((changes, unknown) -> {
                    if (unknown == null && !changes.isEmpty()) {
                        change(resource, changes);
                    } else if (unknown != null) {
                        unsettled = !(Causes.unwrapped(unknown) instanceof AuthorizationException);
                        if (isFirst) {
                            log.warn(
                                    "the settings of topic {} are not known ({}): look whether they are those of\n  {}",
                                    settings.topic(),
                                    Causes.unwrapped(unknown).getMessage(),
                                    command());
                        }
                    }
                });
    }

    /** Returns those of our settings that it lacks. What somebody has set on it stays, but for how it is cleaned. */
    private List<AlterConfigOp> missing(Config config, int replicas) {
        return Replication.with(wanted, replicas).entrySet().stream()
                .filter(entry -> !value(config, entry.getKey()).equals(Optional.of(entry.getValue())))
                .filter(entry -> entry.getKey().equals("cleanup.policy") || !isSet(config, entry.getKey()))
                .map(entry ->
                        new AlterConfigOp(new ConfigEntry(entry.getKey(), entry.getValue()), AlterConfigOp.OpType.SET))
                .toList();
    }

    private static boolean isSet(Config config, String name) {
        var entry = config.get(name);
        return entry != null && entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG;
    }

    // nobody waits, as above
    @SuppressWarnings("FutureReturnValueIgnored")
    private void change(ConfigResource resource, List<AlterConfigOp> changes) {
        admin.ask(client -> client.incrementalAlterConfigs(Map.of(resource, changes))
                        .all())
                .whenComplete((done, refused) -> {
                    if (refused == null) {
                        log.info("topic {} was created by the brokers, and has our settings now", settings.topic());
                    } else if (Causes.unwrapped(refused) instanceof RetriableException) {
                        log.debug("topic {} was not given our settings; trying again", settings.topic(), refused);
                    } else {
                        unsettled = false;
                        log.warn(
                                "topic {} was created by the brokers with their own settings, and we may not change"
                                        + " them ({}): delete it, and have it created by\n  {}",
                                settings.topic(),
                                refused.getMessage(),
                                command());
                    }
                });
    }

    /** Returns what tells the topic from another one of the same name. */
    CompletionStage<Uuid> identity() {
        return admin.ask(client ->
                        client.describeTopics(List.of(settings.topic())).allTopicNames())
                .toCompletionStage()
                .thenApply(found -> {
                    settleAgain();
                    return Objects.requireNonNull(found.get(settings.topic())).topicId();
                });
    }

    /** Returns what tells it from another one; null if there is no answer now. */
    @Nullable
    Uuid identityWithin(Duration patience) {
        try {
            return identity().toCompletableFuture().get(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException e) {
            return null; // the first who needs it will ask again
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    private boolean exists(Duration patience) throws TimeoutException, InterruptedException {
        try {
            var found = await(
                    admin.ask(client ->
                            client.describeTopics(List.of(settings.topic())).allTopicNames()),
                    patience);
            var topic = Objects.requireNonNull(found.get(settings.topic()));
            var partitions = topic.partitions().size();
            if (isOfLog(settings) && partitions != 1) {
                throw new ElectionException("topic \"" + settings.topic() + "\" has " + partitions
                        + " partitions, and elections by the log need exactly one, because it has one order: name"
                        + " another topic, or delete this one and have it created by\n  " + command());
            }
            Replication.warnOfReplicas(admin, topic);
            return true;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return false;
            }
            throw KafkaErrors.translated(Causes.unwrapped(e), settings, "the Kafka brokers at " + settings.bootstrap());
        }
    }

    private void create(Duration patience) throws TimeoutException, InterruptedException {
        try {
            var brokers = await(admin.ask(client -> client.describeCluster().nodes()), patience)
                    .size();
            await(
                    admin.ask(client -> client.createTopics(
                                    List.of(Replication.topic(settings.topic(), 1, wanted, brokers)))
                            .all()),
                    patience);
            log.info("created topic {} with {} replica(s)", settings.topic(), Replication.on(brokers));
            Replication.warnOfBrokers(settings.topic(), brokers);
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
            throw KafkaErrors.translated(Causes.unwrapped(e), settings, "the Kafka brokers at " + settings.bootstrap());
        }
    }

    private void check(Duration patience) throws TimeoutException, InterruptedException {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, settings.topic());
        try {
            var config = Objects.requireNonNull(await(
                            admin.ask(client ->
                                    client.describeConfigs(List.of(resource)).all()),
                            patience)
                    .get(resource));
            var policies = value(config, "cleanup.policy").orElse("delete");
            var compacted = policies.contains("compact");
            if (isOfLog(settings)) {
                checkLog(config, compacted);
                return;
            }
            var keeps = compacted ? millis(config, "min.compaction.lag.ms") : Long.MAX_VALUE;
            if (policies.contains("delete")) {
                keeps = Math.min(keeps, millis(config, "retention.ms"));
                if (millis(config, "retention.bytes") < Long.MAX_VALUE) {
                    keeps = 0; // by its size alone it forgets what may be of any age
                }
            }
            keepsMillis = keeps;
            if (!policies.equals("compact")) {
                log.warn(
                        "topic {} has cleanup.policy={}: it forgets which elections have ended, and the names of"
                                + " those that nobody leads; set cleanup.policy=compact",
                        settings.topic(),
                        policies);
            }
            warnOfDates(config);
        } catch (ExecutionException e) {
            log.info("the settings of topic {} are not known: {}", settings.topic(), e.getMessage());
        }
    }

    private void warnOfDates(Config config) {
        if (value(config, "message.timestamp.type")
                .filter("LogAppendTime"::equals)
                .isEmpty()) {
            log.warn(
                    "topic {} has the timestamps of its writers: observers see since when a leader leads by the"
                            + " leader's clock; set message.timestamp.type=LogAppendTime",
                    settings.topic());
        }
    }

    private void checkLog(Config config, boolean compacted) {
        if (compacted) {
            throw new ElectionException("topic \"" + settings.topic()
                    + "\" is compacted: it holds elections by groups of"
                    + " consumers, or was made for them, and two would lead beside each other. Take " + Settings.BY
                    + "=log away; or name another topic, when no candidate uses this one any more");
        }
        var keeps = millis(config, "retention.ms");
        if (keeps < LEAST_RETENTION.toMillis()) {
            throw new ElectionException("topic \"" + settings.topic() + "\" has retention.ms=" + keeps
                    + ": it loses checkpoints before the next is written, and then nobody leads for "
                    + Settings.LONGEST_LEASE + "; set retention.ms=" + OF_LOG.get("retention.ms"));
        }
        warnOfDates(config);
    }

    private String command() {
        return Replication.command(settings, settings.topic(), 1, wanted);
    }

    private static long millis(Config config, String name) {
        return value(config, name)
                .map(Long::parseLong)
                .filter(millis -> millis >= 0)
                .orElse(Long.MAX_VALUE);
    }

    static Optional<String> value(Config config, String name) {
        return Optional.ofNullable(config.get(name)).map(entry -> entry.value());
    }

    static <T> T await(KafkaFuture<T> future, Duration patience)
            throws ExecutionException, TimeoutException, InterruptedException {
        return await(future.toCompletionStage().toCompletableFuture(), patience);
    }

    /** That the client waited in vain says the same as that we did. */
    static <T> T await(CompletableFuture<T> future, Duration patience)
            throws ExecutionException, TimeoutException, InterruptedException {
        try {
            return future.get(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof org.apache.kafka.common.errors.TimeoutException late) {
                throw (TimeoutException) new TimeoutException(late.getMessage()).initCause(late);
            }
            throw e;
        }
    }
}
