package dev.bellwether;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;

/**
 * Settings of a member of a roster. Immutable.
 *
 * <pre>{@code
 * var config = RosterConfig.builder()
 *         .mode(RosterMode.OVERLAPPING)
 *         .roles(1_000)
 *         .group(group) // "a" on these machines, "b" on others
 *         .groups(2)
 *         .lease(Duration.ofSeconds(3))
 *         .threshold(Duration.ofSeconds(6)) // one that hears nothing publishes on for so long
 *         .build();
 * }</pre>
 *
 * <p>{@link Builder#build} refuses what cannot be right; {@link #advice} tells what is allowed and not advisable. All
 * members of a group must have the same mode, partitions, roles, slots, groups, lease, threshold, clock error and grace
 * period. The mode and the partitions are compared when a member joins, and in {@link RosterMode#TIMED} the last three.
 * "Settings that must agree" in {@code docs/rosters.md} says what other differences do.
 */
public final class RosterConfig {
    private static final Duration DEFAULT_LEASE = Duration.ofSeconds(10);
    private static final int MOST_PARTITIONS = 10_000;
    private static final int MOST_ROLES = 10_000_000;

    /** As they were set, and never changed: what is left out follows other settings. */
    private final Builder given;

    private final RosterMode mode;
    private final int roles;
    private final int partitions;
    private final int slots;
    private final Optional<String> member;
    private final int weight;
    private final String group;
    private final int groups;
    private final Optional<String> topic;
    private final Duration lease;
    private final Duration standDownBudget;
    private final double driftBound;
    private final Duration threshold;
    private final Duration clockError;
    private final Duration gracePeriod;
    private final Duration broadcastInterval;
    private final Optional<RosterListener> listener;
    private final Optional<Executor> executor;
    private final Duration taskInterval;
    private final int parallelism;
    private final boolean haltOnOverrun;
    private final Duration accessPatience;
    private final CandidacyConfig candidacy;

    private RosterConfig(Builder builder) {
        given = new Builder(builder);
        mode = builder.mode;
        roles = builder.roles;
        partitions = builder.partitions;
        slots = builder.slots;
        member = builder.member;
        weight = builder.weight;
        group = builder.group;
        groups = builder.groups;
        topic = builder.topic;
        lease = builder.lease;
        driftBound = builder.driftBound;
        clockError = builder.clockError.orElse(lease.dividedBy(20));
        threshold =
                builder.threshold.orElse(mode == RosterMode.OVERLAPPING ? lease.multipliedBy(2) : lease.dividedBy(2));
        gracePeriod = builder.gracePeriod.orElse(threshold.plus(clockError));
        var counted = mode == RosterMode.EXCLUSIVE ? lease : threshold;
        standDownBudget = builder.standDownBudget.orElse(counted.dividedBy(5));
        broadcastInterval = builder.broadcastInterval.orElse(threshold.dividedBy(16));
        listener = builder.listener;
        executor = builder.executor;
        taskInterval = builder.taskInterval;
        parallelism = builder.parallelism;
        haltOnOverrun = builder.haltOnOverrun;
        accessPatience = builder.accessPatience;
        RosterRules.check(this);
        // the threshold of overlapping leaders is to be used whole: what a candidacy takes off is added here
        var guarantee = mode == RosterMode.OVERLAPPING
                ? Duration.ofNanos(
                        (long) Math.ceil(threshold.plus(standDownBudget).toNanos() / (1 - driftBound)))
                : counted;
        candidacy = CandidacyConfig.builder()
                .lease(guarantee)
                .standDownBudget(standDownBudget)
                .driftBound(driftBound)
                .haltOnOverrun(haltOnOverrun)
                .accessPatience(accessPatience)
                .build();
    }

    /** Returns the default settings for so many roles. */
    public static RosterConfig ofRoles(int roles) {
        return builder().roles(roles).build();
    }

    /** Begins with the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns a builder that begins with these settings. What follows others by default goes on following them. */
    public Builder toBuilder() {
        return new Builder(given);
    }

    /**
     * Returns what these settings allow and the NELI paper advises against, in words for an operator; empty if nothing.
     * It is logged when a member joins.
     */
    public List<String> advice() {
        return RosterRules.advice(this);
    }

    /** Returns what these settings mean for a group of so many members, as {@link #advice} does. */
    public List<String> advice(int members) {
        return RosterRules.advice(this, members);
    }

    /** Returns what is promised of the roles. */
    public RosterMode mode() {
        return mode;
    }

    /** Returns the number of roles to begin with. */
    public int roles() {
        return roles;
    }

    /** Returns the number of partitions. */
    public int partitions() {
        return partitions;
    }

    /** Returns the number of slots that keys are hashed to. */
    public int slots() {
        return slots;
    }

    /** Returns the id of this member, or a new one: see {@link CandidacyConfig#candidateOrNew}. */
    public String memberOrNew() {
        return member.orElseGet(candidacy::candidateOrNew);
    }

    /** Returns this member's share beside that of others. */
    public int weight() {
        return weight;
    }

    /** Returns the group of members among which each role has a leader. */
    public String group() {
        return group;
    }

    /** Returns the topic that is shared with other rosters; empty for one of its own. */
    public Optional<String> topic() {
        return topic;
    }

    /** Returns how many groups share the partitions. */
    public int groups() {
        return groups;
    }

    /** Returns the session of a member: after so much silence its partitions are given to others. */
    public Duration lease() {
        return lease;
    }

    /** Returns how long work may take to end, once a mandate has. */
    public Duration standDownBudget() {
        return standDownBudget;
    }

    /** Returns by how much clock rates may differ. */
    public double driftBound() {
        return driftBound;
    }

    /** Returns T: how long a leader leads on after the last message. Unused in {@link RosterMode#EXCLUSIVE}. */
    public Duration threshold() {
        return threshold;
    }

    /** Returns e: by how much our wall clock and the broker's may differ. Used in {@link RosterMode#TIMED}. */
    public Duration clockError() {
        return clockError;
    }

    /** Returns how long a new owner waits before it leads. Used in {@link RosterMode#TIMED}. */
    public Duration gracePeriod() {
        return gracePeriod;
    }

    /**
     * Returns how often a member would broadcast if its group were alone; it does so {@link #groups} times less often.
     */
    public Duration broadcastInterval() {
        return broadcastInterval;
    }

    /**
     * Returns how long the group may take, each time that it is asked, to say that this member is still in it, without
     * a cost. Two such answers, one after the other, and a broadcast fit into what drift and stand-down budget leave of
     * a mandate's length.
     */
    public Duration commitPatience() {
        if (mode == RosterMode.EXCLUSIVE) {
            return candidacy.renewInterval().dividedBy(2);
        }
        var usable = Duration.ofNanos((long) (threshold.toNanos() * (1 - driftBound)))
                .minus(standDownBudget)
                .minus(broadcastInterval.multipliedBy(groups));
        var least = candidacy.renewInterval().dividedBy(2);
        var half = usable.dividedBy(2);
        return half.compareTo(least) < 0 ? least : half;
    }

    /** Returns who hears the events. */
    public Optional<RosterListener> listener() {
        return listener;
    }

    /** Returns where the listener and the tasks run; empty for the executor of the {@link ElectionsConfig}. */
    public Optional<Executor> executor() {
        return executor;
    }

    /** Returns the least time from the beginning of one step of a role's task to the next. */
    public Duration taskInterval() {
        return taskInterval;
    }

    /** Returns how many steps run at once. */
    public int parallelism() {
        return parallelism;
    }

    /** Returns whether the process halts rather than let work outlast a mandate. */
    public boolean haltOnOverrun() {
        return haltOnOverrun;
    }

    /** Returns how long the infrastructure may refuse access before the membership ends. */
    public Duration accessPatience() {
        return accessPatience;
    }

    /** Returns the settings of the mandate of one partition, by which core counts its deadline. */
    public CandidacyConfig candidacy() {
        return candidacy;
    }

    @Override
    public String toString() {
        return new SettingsText("RosterConfig")
                .with("mode", mode)
                .with("roles", roles)
                .with("partitions", partitions)
                .with("slots", slots)
                .with("member", member)
                .with("weight", weight)
                .with("group", group)
                .with("groups", groups)
                .with("topic", topic)
                .with("lease", lease)
                .with("standDownBudget", standDownBudget)
                .with("driftBound", driftBound)
                .with("threshold", threshold)
                .with("clockError", clockError)
                .with("gracePeriod", gracePeriod)
                .with("broadcastInterval", broadcastInterval)
                .isSet("listener", listener.isPresent())
                .isSet("executor", executor.isPresent())
                .with("taskInterval", taskInterval)
                .with("parallelism", parallelism)
                .with("haltOnOverrun", haltOnOverrun)
                .with("accessPatience", accessPatience)
                .toString();
    }

    /**
     * Collects settings: each setter refuses bad values, {@link #build} bad combinations, by an {@link
     * ElectionException} that names them. What is set twice has the last value. For one thread.
     */
    public static final class Builder {
        private RosterMode mode = RosterMode.EXCLUSIVE;
        private int roles = 1;
        private int partitions = 64;
        private int slots = 16_384;
        private Optional<String> member = Optional.empty();
        private int weight = 1;
        private String group = "main";
        private int groups = 1;
        private Optional<String> topic = Optional.empty();
        private Duration lease = DEFAULT_LEASE;
        private Optional<Duration> standDownBudget = Optional.empty();
        private double driftBound = 0.01;
        private Optional<Duration> threshold = Optional.empty();
        private Optional<Duration> clockError = Optional.empty();
        private Optional<Duration> gracePeriod = Optional.empty();
        private Optional<Duration> broadcastInterval = Optional.empty();
        private Optional<RosterListener> listener = Optional.empty();
        private Optional<Executor> executor = Optional.empty();
        private Duration taskInterval = Duration.ofMillis(100);
        private int parallelism = 16;
        private boolean haltOnOverrun;
        private Duration accessPatience = CandidacyConfig.DEFAULT_ACCESS_PATIENCE;

        private Builder() {}

        private Builder(Builder other) {
            mode = other.mode;
            roles = other.roles;
            partitions = other.partitions;
            slots = other.slots;
            member = other.member;
            weight = other.weight;
            group = other.group;
            groups = other.groups;
            topic = other.topic;
            lease = other.lease;
            standDownBudget = other.standDownBudget;
            driftBound = other.driftBound;
            threshold = other.threshold;
            clockError = other.clockError;
            gracePeriod = other.gracePeriod;
            broadcastInterval = other.broadcastInterval;
            listener = other.listener;
            executor = other.executor;
            taskInterval = other.taskInterval;
            parallelism = other.parallelism;
            haltOnOverrun = other.haltOnOverrun;
            accessPatience = other.accessPatience;
        }

        /** Promises this of the roles. Default: {@link RosterMode#EXCLUSIVE}. */
        public Builder mode(RosterMode mode) {
            this.mode = SettingChecks.given("mode", mode, "EXCLUSIVE");
            return this;
        }

        /** Begins with so many roles, numbered from 0; {@link Roster#resize} changes it. Default: 1. */
        public Builder roles(int roles) {
            this.roles = between("roles", roles, 1, MOST_ROLES);
            return this;
        }

        /**
         * Spreads the roles by so many partitions. It cannot change while the roster exists. The NELI paper advises
         * about as many as there are members; several times as many share the work more evenly. Default: 64.
         */
        public Builder partitions(int partitions) {
            this.partitions = between("partitions", partitions, 1, MOST_PARTITIONS);
            return this;
        }

        /**
         * Hashes keys to so many slots. It should never change, since keys would change their roles. Default: 16,384.
         */
        public Builder slots(int slots) {
            this.slots = between("slots", slots, 1, 1 << 30);
            return this;
        }

        /** Is a member under this id. Default: {@code host_pid_epochseconds_serial}. */
        public Builder member(String id) {
            SettingChecks.given("member", id, "a new id");
            member = Optional.of(Names.check("member id", id, 200));
            return this;
        }

        /** Takes so many shares of the partitions, beside the shares of others. From 1 to 1000; default: 1. */
        public Builder weight(int weight) {
            this.weight = between("weight", weight, 1, 1000);
            return this;
        }

        /**
         * Is a member of this group: each role has a leader in each group, so that with two groups on separate machines
         * there is one without a gap. Letters, digits, dashes and underscores. Default: {@code main}.
         */
        public Builder group(String group) {
            SettingChecks.given("group", group, "\"main\"");
            if (!group.matches("[a-zA-Z0-9_-]{1,60}")) {
                throw new ElectionException(
                        "group is \"" + group + "\": use 1 to 60 letters, digits, dashes and underscores");
            }
            this.group = group;
            return this;
        }

        /**
         * Uses this topic, by its full name, which other rosters may use, too: as in the NELI paper, several sets of
         * roles then share its partitions, each with groups of its own. All of them must say so and agree in
         * {@link #partitions}; {@link #groups} is the number of the groups of all rosters on it. Letters, digits, dots,
         * dashes and underscores. Default: a topic for each roster, named after it.
         */
        public Builder topic(String topic) {
            SettingChecks.given("topic", topic, "one of its own");
            if (!topic.matches("[a-zA-Z0-9._-]{1,249}") || topic.equals(".") || topic.equals("..")) {
                throw new ElectionException(
                        "topic is \"" + topic + "\": use 1 to 249 letters, digits, dots, dashes and underscores");
            }
            this.topic = Optional.of(topic);
            return this;
        }

        /**
         * Says how many groups share the partitions, those of other rosters on the same {@link #topic} included: each
         * broadcasts so many times less often. Default: 1.
         */
        public Builder groups(int groups) {
            this.groups = between("groups", groups, 1, 16);
            return this;
        }

        /** Counts a member as gone after so long a silence: the session. At least 10 ms. Default: 10 s. */
        public Builder lease(Duration lease) {
            this.lease = SettingChecks.lease(lease);
            return this;
        }

        /** Keeps so much for ending the work. Default: a fifth of the lease, or of the threshold where that counts. */
        public Builder standDownBudget(Duration standDownBudget) {
            this.standDownBudget = Optional.of(SettingChecks.positive("standDownBudget", standDownBudget));
            return this;
        }

        /** Assumes that the rates of any two clocks differ by less than this fraction. Default: 0.01. */
        public Builder driftBound(double driftBound) {
            this.driftBound = SettingChecks.driftBound(driftBound);
            return this;
        }

        /**
         * Leads on for so long after the last message: T. Above the lease when overlapping; with the clock error below
         * it when timed. Default: twice the lease, or half of it.
         *
         * <p>When overlapping, it bounds how long a member that hears nothing leads beside its successor. One that is
         * cut off from the group's coordinator alone hears the successor's messages, and leads on as long as it does.
         */
        public Builder threshold(Duration threshold) {
            this.threshold = Optional.of(SettingChecks.positive("threshold", threshold));
            return this;
        }

        /** Assumes that our wall clock and the broker's never differ by more: e. Default: a twentieth of the lease. */
        public Builder clockError(Duration clockError) {
            this.clockError = Optional.of(SettingChecks.positive("clockError", clockError));
            return this;
        }

        /**
         * Has a new owner wait for so long before it leads. Default, and least: the threshold and the clock error
         * together.
         */
        public Builder gracePeriod(Duration gracePeriod) {
            this.gracePeriod = Optional.of(SettingChecks.notNegative("gracePeriod", gracePeriod));
            return this;
        }

        /**
         * Sends a message to every partition so often, if {@link #groups} is 1, else so many times less often. Default:
         * a sixteenth of the threshold.
         */
        public Builder broadcastInterval(Duration broadcastInterval) {
            this.broadcastInterval = Optional.of(SettingChecks.positive("broadcastInterval", broadcastInterval));
            return this;
        }

        /** Tells the events to this. Default: nobody. */
        public Builder listener(RosterListener listener) {
            this.listener = Optional.of(SettingChecks.given("listener", listener, "none"));
            return this;
        }

        /** Runs the listener and the tasks here: see {@link CandidacyConfig.Builder#executor}. */
        public Builder executor(Executor executor) {
            this.executor = Optional.of(SettingChecks.given("executor", executor, "that of the elections"));
            return this;
        }

        /** Begins steps of one role's task at least so far apart. Default: 100 ms. */
        public Builder taskInterval(Duration taskInterval) {
            this.taskInterval = SettingChecks.positive("taskInterval", taskInterval);
            return this;
        }

        /** Runs so many steps at once, of all roles together. Default: 16. */
        public Builder parallelism(int parallelism) {
            this.parallelism = between("parallelism", parallelism, 1, 100_000);
            return this;
        }

        /** Halts the process, as {@link CandidacyConfig.Builder#haltOnOverrun} does. Default: false. */
        public Builder haltOnOverrun(boolean haltOnOverrun) {
            this.haltOnOverrun = haltOnOverrun;
            return this;
        }

        /**
         * Goes on trying for so long when access is refused: see {@link CandidacyConfig.Builder#accessPatience}.
         * Default: 5 minutes.
         */
        public Builder accessPatience(Duration accessPatience) {
            this.accessPatience = SettingChecks.positive("accessPatience", accessPatience);
            return this;
        }

        /** Returns the settings, or refuses a contradiction. */
        public RosterConfig build() {
            return new RosterConfig(this);
        }

        private static int between(String name, int value, int least, int most) {
            if (value < least || value > most) {
                throw new ElectionException(name + " is " + value + ": it must be between " + least + " and " + most);
            }
            return value;
        }
    }
}
