package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.bellwether.Names;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;

/** Settings of a relay. Immutable. */
public final class RelayConfig {
    private final String name;
    private final OutboxTable table;
    private final Map<String, Object> producer;
    private final int shards;
    private final Poison poison;
    private final Partitioning partitioning;
    private final int maxTransactionRecords;
    private final int maxInFlightRecords;
    private final long maxInFlightBytes;
    private final int readAhead;
    private final Duration transactionInterval;
    private final Duration minPoll;
    private final Duration maxPoll;
    private final Duration backoff;
    private final Duration maxBackoff;
    private final Duration haltRetry;
    private final Duration databaseTimeout;
    private final Duration standDownAfter;
    private final Duration meterInterval;
    private final Duration sweepInterval;
    private final Duration stateInterval;
    private final boolean createTables;
    private final OutboxForm form;
    private final Duration retain;
    private final boolean once;
    private final boolean wakeUp;
    private final String eventIdHeader;
    private final Duration lease;
    private final Optional<String> candidate;
    private final Consumer<RelayEvent> listener;

    private RelayConfig(Builder builder) {
        name = builder.name;
        table = builder.table;
        producer = builder.producer;
        shards = builder.shards;
        poison = builder.poison;
        partitioning = builder.partitioning;
        maxTransactionRecords = builder.maxTransactionRecords;
        maxInFlightRecords = builder.maxInFlightRecords;
        maxInFlightBytes = builder.maxInFlightBytes;
        readAhead = builder.readAhead;
        transactionInterval = builder.transactionInterval;
        minPoll = builder.minPoll;
        maxPoll = builder.maxPoll;
        backoff = builder.backoff;
        maxBackoff = builder.maxBackoff;
        haltRetry = builder.haltRetry;
        databaseTimeout = builder.databaseTimeout;
        standDownAfter = builder.standDownAfter;
        meterInterval = builder.meterInterval;
        sweepInterval = builder.sweepInterval;
        stateInterval = builder.stateInterval;
        createTables = builder.createTables;
        form = builder.form;
        retain = builder.retain;
        once = builder.once;
        wakeUp = builder.wakeUp;
        eventIdHeader = builder.eventIdHeader;
        lease = builder.lease;
        candidate = builder.candidate;
        listener = builder.listener;
        if (minPoll.compareTo(maxPoll) > 0) {
            throw new IllegalArgumentException(
                    "minPoll " + Durations.show(minPoll) + " is longer than maxPoll " + Durations.show(maxPoll));
        }
        if (backoff.compareTo(maxBackoff) > 0) {
            throw new IllegalArgumentException(
                    "backoff " + Durations.show(backoff) + " is longer than maxBackoff " + Durations.show(maxBackoff));
        }
    }

    /**
     * Begins with the default settings.
     *
     * @param name identifies this outbox among all on the same Kafka cluster: elections and transactional ids are
     *     named after it. It must be the same for all relays of one table, and of no other.
     */
    public static Builder named(String name) {
        return new Builder(Names.election(name));
    }

    /** Returns the properties of a producer that the relay decides, and {@link Builder#producer} refuses. */
    public static List<String> producerPropertiesOfTheRelay() {
        return ProducerSettings.OURS;
    }

    /** Returns what {@link #named} was told. */
    public String name() {
        return name;
    }

    OutboxTable table() {
        return table;
    }

    /** The election of a shard, and what its two transactional ids begin with. */
    String seat(int shard) {
        return "outbox." + name + '.' + shard;
    }

    /** The two transactional ids of a shard, whose producers take turns. */
    List<String> transactionalIds(int shard) {
        return List.of(seat(shard) + ".a", seat(shard) + ".b");
    }

    Map<String, Object> producer() {
        return producer;
    }

    boolean once() {
        return once;
    }

    boolean wakeUp() {
        return wakeUp;
    }

    /** Returns the topic in which progress is kept; names that no topic may have are distinguished by a hash. */
    ProgressTopic progress() {
        return progress(KafkaTopics.common(producer));
    }

    ProgressTopic progress(Map<String, Object> properties) {
        var legal = name.replaceAll("[^a-zA-Z0-9._-]", "_");
        var topic = legal.equals(name)
                ? name
                : legal.substring(0, Math.min(legal.length(), 100))
                        + '-'
                        + UUID.nameUUIDFromBytes(name.getBytes(UTF_8));
        return new ProgressTopic(topic + "-outbox-progress", properties);
    }

    int shards() {
        return shards;
    }

    Poison poison() {
        return poison;
    }

    Partitioning partitioning() {
        return partitioning;
    }

    int maxTransactionRecords() {
        var most = Math.min(maxTransactionRecords, maxInFlightRecords);
        return once ? Math.min(most, ProducerSettings.mostRowsOfProgress(producer)) : most;
    }

    /** About how many bytes a transaction may have; a record that is larger than that by itself goes alone. */
    long maxTransactionBytes() {
        return maxInFlightBytes / 4;
    }

    int maxInFlightRecords() {
        return maxInFlightRecords;
    }

    long maxInFlightBytes() {
        return maxInFlightBytes;
    }

    /** Returns how many rows may wait while others are being sent. */
    int maxAhead() {
        return (int) Math.min(Integer.MAX_VALUE, (long) readAhead * maxTransactionRecords());
    }

    Duration transactionInterval() {
        return transactionInterval;
    }

    Duration minPoll() {
        return minPoll;
    }

    Duration maxPoll() {
        return maxPoll;
    }

    Duration backoff() {
        return backoff;
    }

    Duration maxBackoff() {
        return maxBackoff;
    }

    Duration haltRetry() {
        return haltRetry;
    }

    Duration databaseTimeout() {
        return databaseTimeout;
    }

    Duration standDownAfter() {
        return standDownAfter;
    }

    Duration meterInterval() {
        return meterInterval;
    }

    Duration sweepInterval() {
        return sweepInterval;
    }

    Duration stateInterval() {
        return stateInterval;
    }

    boolean createTables() {
        return createTables;
    }

    OutboxForm form() {
        return form;
    }

    Duration retain() {
        return retain;
    }

    String eventIdHeader() {
        return eventIdHeader;
    }

    Duration lease() {
        return lease;
    }

    Optional<String> candidate() {
        return candidate;
    }

    Consumer<RelayEvent> listener() {
        return listener;
    }

    /** Returns the settings for people, without those of the producer, among which there may be passwords. */
    @Override
    public String toString() {
        return "RelayConfig[name=" + name + ", table=" + table + ", shards=" + shards + ", poison=" + poison
                + ", partitioning=" + partitioning + ", maxTransactionRecords=" + maxTransactionRecords
                + ", maxInFlightRecords=" + maxInFlightRecords + ", maxInFlightBytes=" + maxInFlightBytes
                + ", readAhead=" + readAhead + ", transactionInterval=" + transactionInterval + ", minPoll=" + minPoll
                + ", maxPoll=" + maxPoll + ", backoff=" + backoff + ", maxBackoff=" + maxBackoff + ", haltRetry="
                + haltRetry + ", databaseTimeout=" + databaseTimeout + ", standDownAfter=" + standDownAfter
                + ", meterInterval=" + meterInterval + ", sweepInterval=" + sweepInterval + ", stateInterval="
                + stateInterval + ", createTables="
                + createTables + ", form=" + form + ", retain=" + retain + ", once=" + once + ", wakeUp=" + wakeUp
                + ", eventIdHeader="
                + eventIdHeader + ", lease=" + lease
                + ", candidate="
                + candidate.orElse("") + ']';
    }

    /** Collects settings; each setter refuses bad values, {@link #build} bad combinations. */
    public static final class Builder {
        private final String name;
        private OutboxTable table = OutboxTable.named("outbox");
        private Map<String, Object> producer = Map.of();
        private int shards = 1;
        private Poison poison = Poison.BLOCK_KEY;
        private Partitioning partitioning = Partitioning.MURMUR2;
        private int maxTransactionRecords = 20_000;
        private int maxInFlightRecords = 100_000;
        private long maxInFlightBytes = 64L << 20;
        private int readAhead = 2;
        private Duration transactionInterval = Duration.ofMillis(5);
        private Duration minPoll = Duration.ofMillis(2);
        private Duration maxPoll = Duration.ofMillis(50);
        private Duration backoff = Duration.ofMillis(100);
        private Duration maxBackoff = Duration.ofSeconds(10);
        private Duration haltRetry = Duration.ofSeconds(30);
        private Duration databaseTimeout = Duration.ofSeconds(30);
        private Duration standDownAfter = Duration.ofSeconds(30);
        private Duration meterInterval = Duration.ofSeconds(5);
        private Duration sweepInterval = Duration.ofSeconds(1);
        private Duration stateInterval = Duration.ofSeconds(15);
        private boolean createTables = true;
        private OutboxForm form = OutboxForm.PLAIN;
        private Duration retain = Duration.ZERO;
        private boolean once = true;
        private boolean wakeUp = true;
        private String eventIdHeader = HeaderLines.EVENT_ID;
        private Duration lease = Duration.ofSeconds(10);
        private Optional<String> candidate = Optional.empty();
        private Consumer<RelayEvent> listener = event -> {};

        private Builder(String name) {
            this.name = name;
        }

        /** Relays this table. Default: {@code outbox}, of our own layout. */
        public Builder table(OutboxTable table) {
            this.table = table;
            return this;
        }

        /**
         * Gives Kafka's producer these properties. What order and fencing depend on is refused by name:
         * {@code transactional.id}, {@code enable.idempotence}, {@code acks}, serializers and partitioners.
         */
        public Builder producer(Map<String, ?> properties) {
            producer = ProducerSettings.checked(properties);
            return this;
        }

        /**
         * Divides the keys among this many shards, each with a leader, a producer and a reader of its own. All relays
         * of a table must have the same number; one with another is refused. Default: 1.
         */
        public Builder shards(int shards) {
            if (shards < 1 || shards > 64) {
                throw new IllegalArgumentException("shards is " + shards + ": it must be between 1 and 64");
            }
            this.shards = shards;
            return this;
        }

        /** Decides what becomes of records that can never be published. Default: {@link Poison#BLOCK_KEY}. */
        public Builder poison(Poison poison) {
            this.poison = poison;
            return this;
        }

        /**
         * Finds a partition for records that name none. Default: {@link Partitioning#MURMUR2}; goharvest used {@link
         * Partitioning#CRC32}.
         */
        public Builder partitioning(Partitioning partitioning) {
            this.partitioning = partitioning;
            return this;
        }

        /**
         * Puts at most this many records into one transaction. The first have 5,000 at most; they grow while a backlog
         * fills each of them and each ends soon, and shrink when one fails or takes long. Default: 20,000.
         */
        public Builder maxTransactionRecords(int records) {
            maxTransactionRecords = positive("maxTransactionRecords", records);
            return this;
        }

        /** Holds at most this many records that were read and are not yet deleted, per shard. Default: 100,000. */
        public Builder maxInFlightRecords(int records) {
            maxInFlightRecords = positive("maxInFlightRecords", records);
            return this;
        }

        /**
         * Holds at most this many bytes of them, per shard, and a quarter of that in one transaction; a record that is
         * larger than that by itself goes alone. The producer's {@code buffer.memory} comes on top. Default: 64 MiB.
         */
        public Builder maxInFlightBytes(long bytes) {
            if (bytes < 1024) {
                throw new IllegalArgumentException("maxInFlightBytes is " + bytes + ": it must be at least 1024");
            }
            maxInFlightBytes = bytes;
            return this;
        }

        /** Reads at most as many records as fill this many transactions, while one is being sent. Default: 2. */
        public Builder readAhead(int transactions) {
            readAhead = positive("readAhead", transactions);
            return this;
        }

        /**
         * The least time between the beginnings of two transactions that are not full; after a quiet time the next
         * begins at once. Each costs the brokers a mark in every partition that it wrote to, so many small ones are
         * slower than fewer. Zero, to wait for nothing. Default: 5 ms.
         */
        public Builder transactionInterval(Duration transactionInterval) {
            if (transactionInterval.isNegative() || transactionInterval.compareTo(Duration.ofMinutes(1)) > 0) {
                throw new IllegalArgumentException("transactionInterval is " + Durations.show(transactionInterval)
                        + ": it must be between 0 and a minute");
            }
            this.transactionInterval = transactionInterval;
            return this;
        }

        /** Looks for new rows this often while some come. Default: 2 ms. */
        public Builder minPoll(Duration minPoll) {
            this.minPoll = positive("minPoll", minPoll);
            return this;
        }

        /**
         * Looks for new rows at least this often while none come; each second, if that is longer, while all writers
         * {@linkplain #wakeUp wake} it. Default: 50 ms.
         */
        public Builder maxPoll(Duration maxPoll) {
            this.maxPoll = positive("maxPoll", maxPoll);
            return this;
        }

        /** Waits this long after a first failure, twice as long after the next, and so on. Default: 100 ms. */
        public Builder backoff(Duration backoff) {
            this.backoff = positive("backoff", backoff);
            return this;
        }

        /** Waits at most this long after a failure. Default: 10 s. */
        public Builder maxBackoff(Duration maxBackoff) {
            this.maxBackoff = positive("maxBackoff", maxBackoff);
            return this;
        }

        /** Tries a record that halts the shard again after this time, and the first of a blocked key. Default: 30 s. */
        public Builder haltRetry(Duration haltRetry) {
            this.haltRetry = positive("haltRetry", haltRetry);
            return this;
        }

        /** Gives the database up when a statement has no answer for this long. Default: 30 s. */
        public Builder databaseTimeout(Duration databaseTimeout) {
            this.databaseTimeout = positive("databaseTimeout", databaseTimeout);
            return this;
        }

        /**
         * Gives the leadership of a shard to another candidate, if there is one, after it could not begin for this
         * long, because the database, or the brokers, cannot be reached from here. Default: 30 s.
         */
        public Builder standDownAfter(Duration standDownAfter) {
            this.standDownAfter = positive("standDownAfter", standDownAfter);
            return this;
        }

        /** Sends {@link RelayEvent.MeterRead} this often, if records flow. Default: 5 s. */
        public Builder meterInterval(Duration meterInterval) {
            this.meterInterval = positive("meterInterval", meterInterval);
            return this;
        }

        /**
         * Looks this often for rows whose ids were not expected any more: see {@link RelayStats#strays}. Default: 1 s.
         */
        public Builder sweepInterval(Duration sweepInterval) {
            this.sweepInterval = positive("sweepInterval", sweepInterval);
            return this;
        }

        /**
         * Reads the state of the table this often, for {@link OutboxRelay#state} and the meters, once one of them has
         * been asked. Each relay does so for itself. Default: 15 s.
         */
        public Builder stateInterval(Duration stateInterval) {
            this.stateInterval = positive("stateInterval", stateInterval);
            return this;
        }

        /** Makes missing tables. Default: true. */
        public Builder createTables(boolean createTables) {
            this.createTables = createTables;
            return this;
        }

        /**
         * Makes a missing table in this form. One that is there keeps the form it has, and is served; to change that,
         * see {@link OutboxAdmin#migrate}. Default: {@link OutboxForm#PLAIN}.
         */
        public Builder form(OutboxForm form) {
            this.form = form;
            return this;
        }

        /**
         * Keeps what was published in a {@linkplain OutboxForm#ROTATED rotated} table for so long, for {@link
         * OutboxAdmin#replay}, but never longer than until the turn of its part comes again: of four parts, at least
         * the last two that were filled are kept. Parts are emptied as wholes, so some of it is kept for longer. A
         * plain table keeps nothing. All relays should say the same. Default: zero, so parts are emptied when all of
         * their rows are published.
         */
        public Builder retain(Duration retain) {
            if (retain.isNegative()) {
                throw new IllegalArgumentException("retain is " + Durations.show(retain)
                        + ": it must be zero, or how long what was published is kept");
            }
            this.retain = retain;
            return this;
        }

        /**
         * Records in each transaction which rows it publishes, in the topic {@code NAME-outbox-progress}, which it
         * makes if it is missing. Then readers of committed records see each record once, also after a failure: a relay
         * that takes over knows what was published and not yet deleted; for the conditions see {@code docs/outbox.md}.
         * It needs the rights to create, describe, write and read that topic; without them the relay continues, and
         * sends
         * {@link RelayEvent.ProgressRefused}. If false, such readers may see a run of records again, as readers of
         * uncommitted records do in any case. Default: true.
         */
        public Builder once(boolean once) {
            this.once = once;
            return this;
        }

        /**
         * Lets writers on PostgreSQL wake this relay when none have come for a while, so that it need not look for rows
         * more often than once a second: messages that {@link Outbox} has stashed, and all others if the table has
         * {@linkplain OutboxSchema#wakeUpTrigger its trigger}. Rows without a notification are found by polling; then
         * it polls each {@link #maxPoll} for ten minutes. It takes one more connection, on which LISTEN must work:
         * behind a pooler that shares sessions it does not, and the relay polls. On MariaDB and MySQL this changes
         * nothing. Default: true.
         */
        public Builder wakeUp(boolean wakeUp) {
            this.wakeUp = wakeUp;
            return this;
        }

        /**
         * Carries the event id to consumers in this header, which no row may have among its own: consumers would drop
         * records by the wrong id. Default: {@code event-id}.
         */
        public Builder eventIdHeader(String eventIdHeader) {
            this.eventIdHeader = HeaderLines.name(eventIdHeader);
            return this;
        }

        /** Leads by leases of this length: after a crash nobody publishes for this long at most. Default: 10 s. */
        public Builder lease(Duration lease) {
            this.lease = positive("lease", lease);
            return this;
        }

        /** Stands under this name. Default: host, process id, time and a number. */
        public Builder candidate(String candidate) {
            this.candidate = Optional.of(candidate);
            return this;
        }

        /**
         * Sends the events to this listener, too, on the thread of the shard, which waits for it: do not block. What it
         * throws is logged. Listeners are called in their order.
         */
        public Builder listener(Consumer<RelayEvent> listener) {
            this.listener = this.listener.andThen(listener);
            return this;
        }

        /** Returns the settings. */
        public RelayConfig build() {
            return new RelayConfig(this);
        }

        private static int positive(String name, int value) {
            if (value < 1) {
                throw new IllegalArgumentException(name + " is " + value + ": it must be at least 1");
            }
            return value;
        }

        private static Duration positive(String name, Duration value) {
            if (value.isNegative() || value.isZero() || value.compareTo(Duration.ofDays(1)) > 0) {
                throw new IllegalArgumentException(
                        name + " is " + Durations.show(value) + ": it must be between 1 ns and a day");
            }
            return value;
        }
    }
}
