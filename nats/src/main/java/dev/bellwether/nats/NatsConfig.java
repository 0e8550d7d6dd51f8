package dev.bellwether.nats;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.RecordTraits;
import io.nats.client.JetStreamOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/** Settings of elections on NATS. Immutable. */
public final class NatsConfig {
    /** The bucket unless told otherwise. */
    public static final String DEFAULT_BUCKET = "bellwether";

    /** The bucket of Choria's elections. */
    public static final String CHORIA_BUCKET = "CHORIA_LEADER_ELECTION";

    static final Duration CHORIA_TTL = Duration.ofMinutes(1);
    static final Set<String> PARAMETERS = Set.of(
            "bucket",
            "create",
            "replicas",
            "ttl",
            "presence",
            "backoff",
            "sharing",
            "choria",
            "domain",
            "prefix",
            "credentials",
            "inbox",
            "tls",
            "truststore",
            "truststorePassword",
            "keystore",
            "keystorePassword");

    private static final Pattern BUCKET_NAME = Pattern.compile("[a-zA-Z0-9_-]{1,200}");
    private static final Duration LONGEST_CHORIA_TTL = Duration.ofHours(1);
    private static final NatsConfig DEFAULTS = builder().build();

    private final String bucket;
    private final boolean create;
    private final Optional<Integer> replicas;
    private final Optional<Duration> ttl;
    private final Duration presence;
    private final Optional<Duration> backoff;
    private final int sharing;
    private final boolean choria;
    private final Optional<String> domain;
    private final Optional<String> prefix;

    private NatsConfig(Builder builder) {
        bucket = builder.bucket.orElse(builder.choria ? CHORIA_BUCKET : DEFAULT_BUCKET);
        create = builder.create;
        replicas = builder.replicas;
        ttl = builder.ttl;
        presence = builder.presence;
        backoff = builder.backoff;
        sharing = builder.sharing;
        choria = builder.choria;
        domain = builder.domain;
        prefix = builder.prefix;
        if (domain.isPresent() && prefix.isPresent()) {
            throw new ElectionException("domain " + domain.get() + " and prefix " + prefix.get()
                    + " both say where JetStream is: give one of them");
        }
        if (choria && ttl.isPresent() && ttl.get().compareTo(LONGEST_CHORIA_TTL) > 0) {
            throw new ElectionException(
                    "ttl " + Durations.show(ttl.get()) + " is longer than an hour, which Choria refuses");
        }
    }

    /** Returns the default settings. */
    public static NatsConfig defaults() {
        return DEFAULTS;
    }

    /** Begins with the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the bucket. */
    public String bucket() {
        return bucket;
    }

    /** Returns whether a bucket that does not exist is made. */
    public boolean create() {
        return create;
    }

    /** Returns how many servers keep a bucket that we make; empty for as many as there are, odd and at most five. */
    public Optional<Integer> replicas() {
        return replicas;
    }

    /** Returns after how long without a renewal the server drops a key, in a bucket that we make; empty for never. */
    public Optional<Duration> ttl() {
        return ttl;
    }

    /** Returns how long a standby is listed after the last sign of it. */
    public Duration presence() {
        return presence;
    }

    /** Returns the longest back-off of standbys that set none themselves. */
    public Optional<Duration> backoff() {
        return backoff;
    }

    /** Returns from how many leases of one length on, which a process holds, one key keeps them all; 0 for never. */
    public int sharing() {
        return sharing;
    }

    /** Returns whether Choria's format and timing rules are kept. */
    public boolean choria() {
        return choria;
    }

    /** Returns the JetStream domain. */
    public Optional<String> domain() {
        return domain;
    }

    /** Returns the prefix of JetStream's subjects. */
    public Optional<String> prefix() {
        return prefix;
    }

    /** Collects settings; each setter refuses bad values. */
    public static final class Builder {
        private Optional<String> bucket = Optional.empty();
        private boolean create = true;
        private Optional<Integer> replicas = Optional.empty();
        private Optional<Duration> ttl = Optional.empty();
        private Duration presence = Duration.ofMinutes(10);
        private Optional<Duration> backoff = Optional.empty();
        private int sharing = RecordTraits.MANY;
        private boolean choria;
        private Optional<String> domain = Optional.empty();
        private Optional<String> prefix = Optional.empty();

        private Builder() {}

        /** Holds the elections in this bucket. Default: {@value #DEFAULT_BUCKET}. */
        public Builder bucket(String bucket) {
            if (!BUCKET_NAME.matcher(bucket).matches()) {
                throw new ElectionException(
                        "bucket \"" + bucket + "\": its name may hold letters, digits, - and _, at most 200 of them");
            }
            this.bucket = Optional.of(bucket);
            return this;
        }

        /** Makes the bucket if it does not exist. Default: true. */
        public Builder create(boolean create) {
            this.create = create;
            return this;
        }

        /** Keeps a bucket that we make on so many servers. Default: as many as there are, odd and at most five. */
        public Builder replicas(int replicas) {
            if (replicas < 1 || replicas > 5 || replicas % 2 == 0) {
                throw new ElectionException("replicas is " + replicas + ": it must be 1, 3 or 5, since an even number"
                        + " tolerates no more failures than the odd one below it");
            }
            this.replicas = Optional.of(replicas);
            return this;
        }

        /**
         * Lets the server drop the key of an election, in a bucket that we make, of which nothing was heard for so
         * long; every lease in the bucket must then be shorter. No lease runs by it; but that an election has ended is
         * forgotten, too. Default: never.
         */
        public Builder ttl(Duration ttl) {
            if (ttl.compareTo(Duration.ofSeconds(1)) < 0) {
                throw new ElectionException("ttl is " + Durations.show(ttl) + ": it must be a second at least");
            }
            this.ttl = Optional.of(ttl);
            return this;
        }

        /** Lists a standby for so long after the last sign of it. Default: 10 minutes. */
        public Builder presence(Duration presence) {
            if (presence.compareTo(Duration.ofSeconds(1)) < 0) {
                throw new ElectionException(
                        "presence is " + Durations.show(presence) + ": it must be a second at least");
            }
            this.presence = presence;
            return this;
        }

        /**
         * Lets standbys that keep being refused ask less and less often, down to once in this time, where the candidacy
         * does not say so itself by {@link dev.bellwether.CandidacyConfig.Builder#standbyBackoff}. Default: they ask
         * when a lease has run out.
         */
        public Builder backoff(Duration longest) {
            if (longest.isZero() || longest.isNegative()) {
                throw new ElectionException("backoff is " + Durations.show(longest) + ": it must be longer than zero");
            }
            backoff = Optional.of(longest);
            return this;
        }

        /**
         * Keeps leases of one length, once a process holds this many, by one key instead of one each; 0 for never.
         * Default: 16.
         */
        public Builder sharing(int leases) {
            if (leases < 0) {
                throw new ElectionException("sharing is " + leases + ": it must be a number of leases, or 0 for never");
            }
            sharing = leases;
            return this;
        }

        /** Stands beside candidates of Choria, in its bucket, by its format and timing rules. Default: false. */
        public Builder choria(boolean choria) {
            this.choria = choria;
            return this;
        }

        /** Speaks to the JetStream of this domain. Default: that of the server. */
        public Builder domain(String domain) {
            this.domain = Optional.of(valid("domain", domain, JetStreamOptions.builder()::domain));
            return this;
        }

        /** Speaks to JetStream under this prefix, such as that of an import. Default: {@code $JS.API}. */
        public Builder prefix(String prefix) {
            this.prefix = Optional.of(valid("prefix", prefix, JetStreamOptions.builder()::prefix));
            return this;
        }

        private static String valid(String setting, String value, Consumer<String> taking) {
            try {
                taking.accept(value);
                return value;
            } catch (IllegalArgumentException e) {
                throw new ElectionException(setting + " \"" + value + "\" is no valid one: " + e.getMessage(), e);
            }
        }

        /** Returns the settings, or refuses a contradiction. */
        public NatsConfig build() {
            return new NatsConfig(this);
        }
    }
}
