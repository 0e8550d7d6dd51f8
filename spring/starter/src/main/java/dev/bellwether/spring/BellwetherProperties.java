package dev.bellwether.spring;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipListener;
import dev.bellwether.LockConfig;
import dev.bellwether.TaskFailure;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.HandOverNote;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/** What can be set under {@code bellwether}. */
@ConfigurationProperties("bellwether")
public class BellwetherProperties {

    /**
     * Whether to stand in elections at all. If not, the application connects to nothing for them, and what is
     * LeaderOnly never runs in it. To have one process lead always, such as on your own machine, set
     * bellwether.uri=memory: instead.
     */
    private boolean enabled = true;

    /**
     * The infrastructure to hold elections on, such as jdbc:postgresql://db/app, kafka://broker:9092,
     * zk://zoo:2181/elections, nats://nats:4222, etcd://etcd:2379/elections, consul://localhost:8500/elections,
     * k8s:payments, redis://valkey:6379, dynamodb://eu-west-1/elections or memory:. By default the client that the
     * application has: its DataSource, Kafka settings, CuratorFramework or NATS Connection.
     */
    private @Nullable String uri;

    /**
     * The infrastructure to move to: elections are held on that and on the one above jointly, until all processes are
     * deployed so. Then set bellwether.uri to it, and remove this. By default none.
     */
    private @Nullable String movingTo;

    /**
     * For how long the application, when it stops while it leads, waits for a standby to get ready, so that the seat is
     * handed over to that one: the work goes on until then. By default it does not wait, and whichever standby claims
     * first is next. So it is, too, over the groups of Kafka and in a move (moving-to), where no seat can be handed
     * over.
     */
    private @Nullable Duration handOverOnShutdown;

    /** Which client of the application to use where it has several: sql, kafka, zookeeper or nats. */
    private @Nullable String client;

    /** The id to stand under. By default a new one for each candidacy, of host, process and time. */
    private @Nullable String candidate;

    /** How long a request of an observer or operator, health checks included, waits for its answer. */
    private Duration requestTimeout = Duration.ofSeconds(5);

    /**
     * Whether the application starts while the infrastructure does not answer: it then stands by, and health is down,
     * until there is a connection.
     */
    private boolean connectLazily;

    /** What observers see of this application's candidates. */
    private Map<String, String> metadata = new LinkedHashMap<>();

    /** The elections to stand in, by name, with their settings. */
    private Map<String, Election> elections = new LinkedHashMap<>();

    /** The locks for one run, by name, with their settings. */
    private Map<String, Lock> locks = new LinkedHashMap<>();

    private final Sql sql = new Sql();

    private final Kafka kafka = new Kafka();

    private final Nats nats = new Nats();

    private final ZooKeeper zookeeper = new ZooKeeper();

    /** Settings of one seat; what is not set has the library's default, most of which follow the lease. */
    public abstract static class Seat {
        /** How long the seat is ours after each renewal, and so the longest vacancy after a crash. 10s by default. */
        private @Nullable Duration lease;

        /**
         * How often the lease is renewed. By default a third of the lease, or half of what the stand-down budget leaves
         * of it, if that is less.
         */
        private @Nullable Duration renewInterval;

        /** How long to wait after a failed attempt. A quarter of the renew interval by default. */
        private @Nullable Duration retryInterval;

        /** How much of each lease is kept for ending the work. A fifth of the lease by default. */
        private @Nullable Duration standDownBudget;

        /** The longest pause between the attempts of a standby that keeps being refused. */
        private @Nullable Duration standbyBackoff;

        /** Gives way to candidates of higher priority when the seat is free, from -1000 to 1000. */
        private int priority;

        /** By which fraction the rates of two clocks may differ. 0.01 by default. */
        private @Nullable Double driftBound;

        /** Whether the process halts if work would last longer than the lease. */
        private boolean haltOnOverrun;

        /**
         * How long the infrastructure may refuse access, having granted it before, until the candidacy fails. 5m by
         * default.
         */
        private @Nullable Duration accessPatience;

        public @Nullable Duration getLease() {
            return lease;
        }

        public void setLease(@Nullable Duration lease) {
            this.lease = lease;
        }

        public @Nullable Duration getRenewInterval() {
            return renewInterval;
        }

        public void setRenewInterval(@Nullable Duration renewInterval) {
            this.renewInterval = renewInterval;
        }

        public @Nullable Duration getRetryInterval() {
            return retryInterval;
        }

        public void setRetryInterval(@Nullable Duration retryInterval) {
            this.retryInterval = retryInterval;
        }

        public @Nullable Duration getStandDownBudget() {
            return standDownBudget;
        }

        public void setStandDownBudget(@Nullable Duration standDownBudget) {
            this.standDownBudget = standDownBudget;
        }

        public @Nullable Duration getStandbyBackoff() {
            return standbyBackoff;
        }

        public void setStandbyBackoff(@Nullable Duration standbyBackoff) {
            this.standbyBackoff = standbyBackoff;
        }

        public int getPriority() {
            return priority;
        }

        public void setPriority(int priority) {
            this.priority = priority;
        }

        public @Nullable Double getDriftBound() {
            return driftBound;
        }

        public void setDriftBound(@Nullable Double driftBound) {
            this.driftBound = driftBound;
        }

        public boolean isHaltOnOverrun() {
            return haltOnOverrun;
        }

        public void setHaltOnOverrun(boolean haltOnOverrun) {
            this.haltOnOverrun = haltOnOverrun;
        }

        public @Nullable Duration getAccessPatience() {
            return accessPatience;
        }

        public void setAccessPatience(@Nullable Duration accessPatience) {
            this.accessPatience = accessPatience;
        }
    }

    /** Settings of one candidacy. */
    public static class Election extends Seat {
        /** The least time between the beginnings of two steps of the task of whileLeading. 1ms by default. */
        private @Nullable Duration taskInterval;

        /**
         * What follows when the task of whileLeading throws: retry, which is the default, runs it again after the retry
         * interval, end ends the candidacy.
         */
        private @Nullable TaskFailure onTaskFailure;

        /** Makes a leader stand down that does not call pulse for so long. By default it need not. */
        private @Nullable Duration maxPulseInterval;

        public @Nullable Duration getTaskInterval() {
            return taskInterval;
        }

        public void setTaskInterval(@Nullable Duration taskInterval) {
            this.taskInterval = taskInterval;
        }

        public @Nullable TaskFailure getOnTaskFailure() {
            return onTaskFailure;
        }

        public void setOnTaskFailure(@Nullable TaskFailure onTaskFailure) {
            this.onTaskFailure = onTaskFailure;
        }

        public @Nullable Duration getMaxPulseInterval() {
            return maxPulseInterval;
        }

        public void setMaxPulseInterval(@Nullable Duration maxPulseInterval) {
            this.maxPulseInterval = maxPulseInterval;
        }
    }

    /** Settings of one lock, which takes the seat for one run: a lock has no task that is repeated, and no pulse. */
    public static class Lock extends Seat {
        /** How long the seat is kept from when the lock was taken, however short the run. Not at all by default. */
        private @Nullable Duration atLeast;

        public @Nullable Duration getAtLeast() {
            return atLeast;
        }

        public void setAtLeast(@Nullable Duration atLeast) {
            this.atLeast = atLeast;
        }
    }

    /** Settings of the elections on the application's DataSource. */
    public static class Sql {
        /** The table with a row per election. bellwether_election by default. */
        private @Nullable String table;

        /** Whether the tables are created if they are missing. */
        private boolean createTable = true;

        public @Nullable String getTable() {
            return table;
        }

        public void setTable(@Nullable String table) {
            this.table = table;
        }

        public boolean isCreateTable() {
            return createTable;
        }

        public void setCreateTable(boolean createTable) {
            this.createTable = createTable;
        }
    }

    /** Settings of the elections on the brokers of spring.kafka. */
    public static class Kafka {
        /** The leader topic. bellwether by default. */
        private @Nullable String topic;

        /** Whether the topic is created if it is missing. */
        private boolean createTopic = true;

        /** What decides who leads: group, which is the default, or log. */
        private @Nullable String by;

        /** By the log: the longest lease that a candidacy may have. 30 seconds by default. */
        private @Nullable Duration longestLease;

        public @Nullable String getBy() {
            return by;
        }

        public void setBy(@Nullable String by) {
            this.by = by;
        }

        public @Nullable Duration getLongestLease() {
            return longestLease;
        }

        public void setLongestLease(@Nullable Duration longestLease) {
            this.longestLease = longestLease;
        }

        public @Nullable String getTopic() {
            return topic;
        }

        public void setTopic(@Nullable String topic) {
            this.topic = topic;
        }

        public boolean isCreateTopic() {
            return createTopic;
        }

        public void setCreateTopic(boolean createTopic) {
            this.createTopic = createTopic;
        }
    }

    /** Settings of the elections over the application's NATS Connection. */
    public static class Nats {
        /** The bucket. bellwether by default. */
        private @Nullable String bucket;

        public @Nullable String getBucket() {
            return bucket;
        }

        public void setBucket(@Nullable String bucket) {
            this.bucket = bucket;
        }
    }

    /** Settings of the elections over the application's CuratorFramework. */
    public static class ZooKeeper {
        /** The node under which elections are. */
        private @Nullable String root;

        public @Nullable String getRoot() {
            return root;
        }

        public void setRoot(@Nullable String root) {
            this.root = root;
        }
    }

    /** A key for the elections over a client of the application, and what stands for it in URIs of this scheme. */
    private record OfClient(String scheme, String key, boolean isSet, String inUri) {
        boolean isFor(String uri) {
            return isSet && uri.strip().toLowerCase(Locale.ROOT).startsWith(scheme);
        }

        boolean isSaidBy(String uri) {
            return inUri.startsWith("?")
                    ? uri.replace('&', '?').contains(inUri.substring(0, inUri.indexOf('=') + 1))
                    : uri.strip().matches("\\w+://[^/]+/.+");
        }
    }

    private List<OfClient> ofClients() {
        return List.of(
                new OfClient("jdbc:", "sql.table", sql.table != null, "?bellwether.table="),
                new OfClient("jdbc:", "sql.create-table", !sql.createTable, "?bellwether.createTable=false"),
                new OfClient("kafka:", "kafka.topic", kafka.topic != null, "?topic="),
                new OfClient("kafka:", "kafka.create-topic", !kafka.createTopic, "?topic.create=false"),
                new OfClient("kafka:", "kafka.by", kafka.by != null, "?by="),
                new OfClient("kafka:", "kafka.longest-lease", kafka.longestLease != null, "?longest.lease="),
                new OfClient("nats:", "nats.bucket", nats.bucket != null, "?bucket="),
                new OfClient("tls:", "nats.bucket", nats.bucket != null, "?bucket="),
                new OfClient("zk:", "zookeeper.root", zookeeper.root != null, "a path"));
    }

    /**
     * Refuses what is set for a client of the same kind as the URI: who sets it expects it to hold for that, too, and
     * might elect beside others in another table. Where to move to may say it for itself.
     */
    void requireNoneOverlooked() {
        if (uri != null) {
            var there = uri;
            refuse(
                    one -> one.isFor(there),
                    one -> "beside bellwether.uri: write " + one.inUri
                            + " into the URI instead, or remove bellwether.uri");
        }
        if (movingTo != null) {
            var there = movingTo;
            refuse(
                    one -> one.isFor(there) && !one.isSaidBy(there),
                    one -> "where bellwether.moving-to leads: write " + one.inUri + " into that URI, too");
        }
    }

    private void refuse(Predicate<OfClient> overlooked, Function<OfClient, String> where) {
        ofClients().stream().filter(overlooked).findFirst().ifPresent(one -> {
            throw new ElectionException("bellwether." + one.key + " is for elections over the application's own"
                    + " client, and would be overlooked " + where.apply(one));
        });
    }

    /** Refuses a move to where we are: a candidate would wait for itself, and nobody would lead. */
    void requireAnotherPlace() {
        if (movingTo != null && uri != null && movingTo.strip().equals(uri.strip())) {
            throw new ElectionException("bellwether.moving-to and bellwether.uri name the same infrastructure, where a"
                    + " candidate would wait for itself: if the move is over, remove bellwether.moving-to; if it"
                    + " begins, set bellwether.uri to where the elections are now");
        }
    }

    /** Refuses a time within which no hand-over can be. */
    void requireTimeToGetReady() {
        var within = handOverOnShutdown;
        if (within != null
                && (within.isNegative() || within.isZero() || within.compareTo(HandOverNote.LONGEST_WITHIN) > 0)) {
            throw new ElectionException("bellwether.hand-over-on-shutdown is " + Durations.show(within)
                    + ": give it more than nothing, and at most " + Durations.show(HandOverNote.LONGEST_WITHIN)
                    + "; or remove it, and no standby is waited for");
        }
    }

    /** Returns the settings of the candidacy in an election, declared or not. */
    CandidacyConfig candidacy(String name, LeadershipListener listener) {
        var settings = elections.getOrDefault(name, new Election());
        try {
            var builder = candidacy(settings).listener(listener);
            Optional.ofNullable(settings.taskInterval).ifPresent(builder::taskInterval);
            Optional.ofNullable(settings.onTaskFailure).ifPresent(builder::onTaskFailure);
            Optional.ofNullable(settings.maxPulseInterval).ifPresent(builder::maxPulseInterval);
            return builder.build();
        } catch (ElectionException e) {
            throw new ElectionException("bellwether.elections." + name + ": " + e.getMessage(), e);
        }
    }

    /** Returns the settings of a lock, declared or not. */
    LockConfig lock(String name) {
        var settings = locks.getOrDefault(name, new Lock());
        try {
            var builder = LockConfig.builder().candidacy(candidacy(settings).build());
            Optional.ofNullable(settings.atLeast).ifPresent(builder::atLeast);
            return builder.build();
        } catch (ElectionException e) {
            throw new ElectionException("bellwether.locks." + name + ": " + e.getMessage(), e);
        }
    }

    private CandidacyConfig.Builder candidacy(Seat settings) {
        var builder = CandidacyConfig.builder()
                .metadata(metadata)
                .priority(settings.priority)
                .haltOnOverrun(settings.haltOnOverrun);
        Optional.ofNullable(candidate).ifPresent(builder::candidate);
        Optional.ofNullable(settings.lease).ifPresent(builder::lease);
        Optional.ofNullable(settings.renewInterval).ifPresent(builder::renewInterval);
        Optional.ofNullable(settings.retryInterval).ifPresent(builder::retryInterval);
        Optional.ofNullable(settings.standDownBudget).ifPresent(builder::standDownBudget);
        Optional.ofNullable(settings.standbyBackoff).ifPresent(builder::standbyBackoff);
        Optional.ofNullable(settings.driftBound).ifPresent(builder::driftBound);
        Optional.ofNullable(settings.accessPatience).ifPresent(builder::accessPatience);
        return builder;
    }

    public boolean isEnabled() {
        return enabled;
    }

    public void setEnabled(boolean enabled) {
        this.enabled = enabled;
    }

    public @Nullable String getUri() {
        return uri;
    }

    public void setUri(@Nullable String uri) {
        this.uri = uri;
    }

    public @Nullable String getMovingTo() {
        return movingTo;
    }

    public void setMovingTo(@Nullable String movingTo) {
        this.movingTo = movingTo;
    }

    public @Nullable Duration getHandOverOnShutdown() {
        return handOverOnShutdown;
    }

    public void setHandOverOnShutdown(@Nullable Duration handOverOnShutdown) {
        this.handOverOnShutdown = handOverOnShutdown;
    }

    public @Nullable String getClient() {
        return client;
    }

    public void setClient(@Nullable String client) {
        this.client = client;
    }

    public @Nullable String getCandidate() {
        return candidate;
    }

    public void setCandidate(@Nullable String candidate) {
        this.candidate = candidate;
    }

    public Duration getRequestTimeout() {
        return requestTimeout;
    }

    public void setRequestTimeout(Duration requestTimeout) {
        this.requestTimeout = requestTimeout;
    }

    public boolean isConnectLazily() {
        return connectLazily;
    }

    public void setConnectLazily(boolean connectLazily) {
        this.connectLazily = connectLazily;
    }

    public Map<String, String> getMetadata() {
        return metadata;
    }

    public void setMetadata(Map<String, String> metadata) {
        this.metadata = metadata;
    }

    public Map<String, Election> getElections() {
        return elections;
    }

    public void setElections(Map<String, Election> elections) {
        this.elections = elections;
    }

    public Map<String, Lock> getLocks() {
        return locks;
    }

    public void setLocks(Map<String, Lock> locks) {
        this.locks = locks;
    }

    public Sql getSql() {
        return sql;
    }

    public Kafka getKafka() {
        return kafka;
    }

    public Nats getNats() {
        return nats;
    }

    public ZooKeeper getZookeeper() {
        return zookeeper;
    }
}
