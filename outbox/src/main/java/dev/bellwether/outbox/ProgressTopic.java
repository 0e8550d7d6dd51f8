package dev.bellwether.outbox;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The topic in which each transaction of a relay says which rows it publishes, a partition for each shard. A relay that
 * takes over deletes these rows instead of sending them again, so that readers of committed records see each record
 * once. Immutable; each call waits for the brokers.
 *
 * <p>Why that is sound. A transaction's {@link Published} is visible if and only if its records are. A relay that takes
 * over has fenced both transactional ids, so that every older transaction is decided and nobody else commits; it then
 * reads up to the end. Up to which transaction the rows are durably deleted stands in the shard's row, its {@link
 * ProgressMark}; one begins only when that has reached the one {@link #WINDOW} before, whose {@code Published} it
 * overwrites. So behind the mark there is a {@code Published} of every transaction, and they name every row that was
 * published and may still be in the table. If there is not, or a leader came between that wrote none, then nothing is
 * taken for published: the table is sent as it is, and readers see a run of records again.
 */
final class ProgressTopic {
    /** So many transactions may be published whose rows are not durably deleted. */
    static final int WINDOW = 32;

    /** So many offsets from the end are read first. */
    private static final int FIRST_LOOK = 4;

    private static final short REPLICAS = 3;
    private static final long PATIENCE_SECONDS = 10;
    private static final int KNOWN_TRIES = 40;
    private static final long KNOWN_MILLIS = 25;
    private static final Logger LOG = LoggerFactory.getLogger(ProgressTopic.class);
    static final String POLICY = "cleanup.policy";
    static final String REMEDY = "Set cleanup.policy=compact on it, and nothing else";
    private static final Map<String, String> SETTINGS = Map.of(
            "cleanup.policy", "compact",
            "segment.bytes", String.valueOf(16 << 20),
            "min.cleanable.dirty.ratio", "0.1",
            "delete.retention.ms", "60000",
            "max.message.bytes", String.valueOf(1 << 20));

    /** The least version of the request that ends a transaction and changes the producer's epoch. */
    private static final short CHANGES_EPOCH = 5;

    /** A broker that is frozen does not answer: another one is asked after this. */
    private static final int REQUEST_MILLIS = 2_000;

    private final String name;
    private final Map<String, Object> properties;

    /**
     * Is there or not yet.
     *
     * @param properties those of any client of Kafka
     */
    ProgressTopic(String name, Map<String, Object> properties) {
        this.name = name;
        this.properties = new TreeMap<>(properties);
        this.properties.put("request.timeout.ms", REQUEST_MILLIS);
        this.properties.put("default.api.timeout.ms", (int) TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
    }

    String name() {
        return name;
    }

    /**
     * Where a leader goes on.
     *
     * @param last the number of the last transaction before
     * @param base of all that follow
     * @param refusesLateCommits as in {@link Recovered}
     */
    record Start(ProgressTopic topic, long last, long base, boolean refusesLateCommits) {}

    /**
     * What a leader learns from the brokers before it begins.
     *
     * @param refusesLateCommits whether no commit of an earlier transaction, if it was delayed, can hit a later one of
     *     the same producer; false if nobody tells
     */
    record Recovered(PublishedRows published, boolean refusesLateCommits) {}

    /** Returns what a transaction sends last. */
    ProducerRecord<byte[], byte[]> record(int shard, Published published) {
        var slot = ByteBuffer.allocate(Integer.BYTES)
                .putInt((int) (published.number() % WINDOW))
                .array();
        return new ProducerRecord<>(name, shard, slot, published.write());
    }

    /** Makes it, if it is not there, with a partition for each shard. */
    private void make(Admin admin, int shards) throws InterruptedException, TimeoutException, ExecutionException {
        try {
            var partitions = partitions(admin);
            if (partitions == 0) {
                admin.createTopics(List.of(topic(admin, shards))).all().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                return;
            }
            if (partitions < shards) {
                admin.createPartitions(Map.of(name, NewPartitions.increaseTo(shards)))
                        .all()
                        .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            }
        } catch (ExecutionException e) {
            // another relay was first
            if (!(e.getCause() instanceof TopicExistsException || e.getCause() instanceof InvalidPartitionsException)) {
                throw e;
            }
        }
        keepAll(admin);
    }

    /** Brokers hear of what was just made a little later. */
    private static <T> T whenKnown(Supplier<KafkaFuture<T>> question)
            throws InterruptedException, TimeoutException, ExecutionException {
        for (var tries = 1; ; tries++) {
            try {
                return question.get().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                if (tries == KNOWN_TRIES || !(e.getCause() instanceof UnknownTopicOrPartitionException)) {
                    throw e;
                }
                TimeUnit.MILLISECONDS.sleep(KNOWN_MILLIS);
            }
        }
    }

    /**
     * Sees to it that the topic forgets nothing. One that a broker has made by itself gets our settings; what somebody
     * has set on it stays, and is told. A relay that may not know or change them publishes anyway.
     */
    private void keepAll(Admin admin) throws InterruptedException, TimeoutException {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, name);
        Config config;
        try {
            config = Objects.requireNonNull(
                    whenKnown(() -> admin.describeConfigs(List.of(resource)).all())
                            .get(resource));
        } catch (ExecutionException e) {
            LOG.debug("the settings of topic {} may not be read", name, e);
            return;
        }
        var policy = config.get(POLICY).value();
        if (keepsAll(policy)) {
            return;
        }
        if (isSet(config, POLICY)) {
            LOG.warn("topic {} {}. {}.", name, forgets(policy), REMEDY);
            return;
        }
        var changes = SETTINGS.entrySet().stream()
                .filter(entry -> !isSet(config, entry.getKey()))
                .map(entry ->
                        new AlterConfigOp(new ConfigEntry(entry.getKey(), entry.getValue()), AlterConfigOp.OpType.SET))
                .toList();
        try {
            whenKnown(() ->
                    admin.incrementalAlterConfigs(Map.of(resource, changes)).all());
            LOG.info("topic {} was not made by a relay: it has been given {}", name, SETTINGS);
        } catch (ExecutionException e) {
            LOG.warn(
                    "topic {} {}. The relay may not change that ({}). {}.",
                    name,
                    forgets(policy),
                    e.getMessage(),
                    REMEDY);
        }
    }

    private static boolean isSet(Config config, String setting) {
        var entry = config.get(setting);
        return entry != null && entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG;
    }

    static boolean keepsAll(String policy) {
        return policy.equals(SETTINGS.get(POLICY));
    }

    /** Returns what is wrong with a topic that is cleaned in another way. */
    static String forgets(String policy) {
        return "has " + POLICY + '=' + policy
                + ": it forgets progress, so readers of committed records may see a run of records again after a"
                + " failure";
    }

    /** Three replicas, if that many brokers are there; else as many as they make of themselves. */
    private NewTopic topic(Admin admin, int shards) throws InterruptedException, TimeoutException, ExecutionException {
        var brokers = admin.describeCluster()
                .nodes()
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .size();
        if (brokers < REPLICAS) {
            return new NewTopic(name, Optional.of(shards), Optional.empty()).configs(SETTINGS);
        }
        var settings = new TreeMap<>(SETTINGS);
        settings.put("min.insync.replicas", String.valueOf(REPLICAS - 1));
        return new NewTopic(name, shards, REPLICAS).configs(settings);
    }

    /** Returns of how many shards something may be known. */
    int partitions() throws InterruptedException, TimeoutException, ExecutionException {
        var admin = Admin.create(properties);
        try {
            return partitions(admin);
        } finally {
            admin.close(Duration.ZERO);
        }
    }

    private int partitions(Admin admin) throws InterruptedException, TimeoutException, ExecutionException {
        try {
            var found = admin.describeTopics(List.of(name))
                    .allTopicNames()
                    .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .get(name);
            return found == null ? 0 : found.partitions().size();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return 0;
            }
            throw e;
        }
    }

    /**
     * Returns what the last transactions of a shard have published, at least those behind this one. Both transactional
     * ids must be fenced: else it may miss some.
     *
     * @throws IllegalStateException if the brokers do not know the topic, or not this partition
     */
    PublishedRows recover(int shard, long after) throws InterruptedException, TimeoutException, ExecutionException {
        return recover(shard, after, 0).published();
    }

    /**
     * The same.
     *
     * @param shards so many partitions it gets first, if it has fewer; 0 to leave it as it is
     */
    Recovered recover(int shard, long after, int shards)
            throws InterruptedException, TimeoutException, ExecutionException {
        var partition = new TopicPartition(name, shard);
        var admin = Admin.create(properties);
        try {
            var features = admin.describeFeatures().featureMetadata(); // told while the rest is asked
            if (shards > 0) {
                make(admin, shards);
            }
            var known = partitions(admin);
            for (var tries = 0; tries < (shards > 0 ? KNOWN_TRIES : 0) && shard >= known; tries++) {
                TimeUnit.MILLISECONDS.sleep(KNOWN_MILLIS); // brokers hear of what was just made a little later
                known = partitions(admin);
            }
            if (shard >= known) {
                throw new IllegalStateException("topic " + name + " has " + known
                        + " partitions, as far as the brokers know, and not " + partition);
            }
            var first = offset(admin, partition, OffsetSpec.earliest());
            var end = offset(admin, partition, OffsetSpec.latest()); // of committed and uncommitted
            try (var consumer = consumer()) {
                consumer.assign(List.of(partition));
                // the newest are at the end, none of them to be read after a leader that ended in order, else mostly a
                // quarter of a window, each as large as its transaction was; what was aborted, and marks, lie between
                for (var back = (long) FIRST_LOOK; ; back *= 4) {
                    var from = Math.max(first, end - back);
                    var found = read(consumer, partition, from, end);
                    if (from == first || found.isWholeAfter(after) || found.isFull()) {
                        return new Recovered(found, refusesLateCommits(features));
                    }
                }
            }
        } finally {
            admin.close(Duration.ZERO);
        }
    }

    private static boolean refusesLateCommits(KafkaFuture<FeatureMetadata> features) throws InterruptedException {
        try {
            // clients before 4.0 go by the old protocol with any broker
            return ApiKeys.END_TXN.latestVersion() >= CHANGES_EPOCH
                    && BrokerDoctor.transactionVersion(features.get(PATIENCE_SECONDS, TimeUnit.SECONDS))
                            >= BrokerDoctor.REFUSES_LATE_COMMITS;
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("nobody tells transaction.version", e);
            return false;
        }
    }

    private static long offset(Admin admin, TopicPartition partition, OffsetSpec spec)
            throws InterruptedException, TimeoutException, ExecutionException {
        return admin.listOffsets(Map.of(partition, spec))
                .partitionResult(partition)
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .offset();
    }

    private Consumer<byte[], byte[]> consumer() {
        var all = new HashMap<>(properties);
        all.put("isolation.level", "read_committed");
        all.put("fetch.max.wait.ms", 10); // to close it waits for its last question
        all.put("auto.offset.reset", "earliest"); // what was compacted meanwhile is not needed
        all.put("enable.auto.commit", false);
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static PublishedRows read(Consumer<byte[], byte[]> consumer, TopicPartition partition, long from, long end)
            throws TimeoutException {
        var found = new PublishedRows();
        consumer.seek(partition, from);
        var patience = TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        var moved = System.nanoTime();
        var position = from;
        while (position < end) {
            consumer.poll(Duration.ofMillis(100)).forEach(record -> {
                if (record.value() != null) {
                    found.add(Published.read(record.value()));
                }
            });
            var now = consumer.position(partition);
            if (now > position) {
                moved = System.nanoTime();
            } else if (System.nanoTime() - moved > patience) {
                throw new TimeoutException("topic " + partition + " is not decided from offset " + now + " to " + end
                        + " yet: a transaction of an earlier leader is still open there");
            }
            position = now;
        }
        return found;
    }
}
