package dev.bellwether;

import dev.bellwether.spi.Durations;
import dev.bellwether.spi.HostName;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Settings of a candidacy. Immutable.
 *
 * <pre>{@code
 * var config = CandidacyConfig.builder()
 *         .candidate(hostName)
 *         .lease(Duration.ofSeconds(5)) // how long the seat stays empty after a crash
 *         .standDownBudget(Duration.ofSeconds(2)) // of which so much is for ending the work
 *         .onTaskFailure(TaskFailure.END)
 *         .build();
 * return elections.stand("billing", config);
 * }</pre>
 *
 * <p>Three durations are in order, and the builder refuses any other: a renewal must come round before the deadline,
 * {@code renewInterval < lease · (1 − driftBound) − standDownBudget}. What is not set follows the lease.
 */
public final class CandidacyConfig {
    static final Duration DEFAULT_ACCESS_PATIENCE = Duration.ofMinutes(5);
    private static final Duration DEFAULT_LEASE = Duration.ofSeconds(10);
    private static final int METADATA_LIMIT = 1024;
    private static final int METADATA_KEY_LIMIT = 200;
    private static final AtomicLong SERIAL = new AtomicLong();

    /** As they were set, and never changed: what is left out follows other settings. */
    private final Builder given;

    private final Optional<String> candidate;
    private final Duration lease;
    private final Duration renewInterval;
    private final Duration retryInterval;
    private final Duration standDownBudget;
    private final double driftBound;
    private final Optional<Duration> standbyBackoff;
    private final int priority;
    private final Map<String, String> metadata;
    private final Optional<Duration> maxPulseInterval;
    private final Optional<LeadershipListener> listener;
    private final Optional<Executor> executor;
    private final TaskFailure onTaskFailure;
    private final Duration taskInterval;
    private final boolean haltOnOverrun;
    private final Duration accessPatience;

    private CandidacyConfig(Builder builder) {
        given = new Builder(builder);
        candidate = builder.candidate;
        lease = builder.lease;
        standDownBudget = builder.standDownBudget.orElse(lease.dividedBy(5));
        driftBound = builder.driftBound;
        var usable = usable(lease, driftBound).minus(standDownBudget);
        renewInterval = builder.renewInterval.orElse(renewInterval(lease, usable));
        retryInterval = builder.retryInterval.orElse(renewInterval.dividedBy(4));
        standbyBackoff = builder.standbyBackoff;
        priority = builder.priority;
        metadata = builder.metadata;
        maxPulseInterval = builder.maxPulseInterval;
        listener = builder.listener;
        executor = builder.executor;
        onTaskFailure = builder.onTaskFailure;
        taskInterval = builder.taskInterval;
        haltOnOverrun = builder.haltOnOverrun;
        accessPatience = builder.accessPatience;

        if (usable.isNegative() || usable.isZero()) {
            throw new ElectionException("standDownBudget " + Durations.show(standDownBudget)
                    + " leaves nothing of lease " + Durations.show(lease)
                    + " (of which " + Durations.show(usable(lease, driftBound)) + " may be used at driftBound "
                    + driftBound
                    + "): make the budget shorter or the lease longer");
        }
        if (renewInterval.compareTo(usable) >= 0) {
            throw new ElectionException("renewInterval " + Durations.show(renewInterval) + " is not shorter than lease "
                    + Durations.show(lease)
                    + " less driftBound " + driftBound + " and standDownBudget " + Durations.show(standDownBudget)
                    + ", which leaves "
                    + Durations.show(usable) + ": renew more often, or make the lease longer");
        }
        if (retryInterval.compareTo(renewInterval) > 0) {
            throw new ElectionException(
                    "retryInterval " + Durations.show(retryInterval) + " is longer than renewInterval "
                            + Durations.show(renewInterval) + ": a retry must come sooner than the next renewal");
        }
    }

    /** Returns the default settings: a lease of ten seconds. */
    public static CandidacyConfig defaults() {
        return builder().build();
    }

    /** Returns the default settings for a lease of the given length. */
    public static CandidacyConfig ofLease(Duration lease) {
        return builder().lease(lease).build();
    }

    /** Begins with the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns a builder that begins with these settings. What follows the lease by default goes on following it. */
    public Builder toBuilder() {
        return new Builder(given);
    }

    /** Returns the id to stand under, if one was set. */
    Optional<String> candidate() {
        return candidate;
    }

    /** Returns the id to stand under, or a new one, {@code host_pid_epochseconds_serial}, unique in this process. */
    public String candidateOrNew() {
        return candidate.orElseGet(() -> HostName.own().orElse("localhost") + "_"
                + ProcessHandle.current().pid() + "_" + System.currentTimeMillis() / 1000 + "_"
                + SERIAL.incrementAndGet());
    }

    /** Returns how long the seat is ours after each renewal, by the infrastructure's clock. */
    public Duration lease() {
        return lease;
    }

    /** Returns how often the lease is renewed. */
    public Duration renewInterval() {
        return renewInterval;
    }

    /** Returns how long to wait after a failure, before jitter. */
    public Duration retryInterval() {
        return retryInterval;
    }

    /** Returns how long work may take to end, once the mandate has. */
    public Duration standDownBudget() {
        return standDownBudget;
    }

    /** Returns by how much clock rates may differ. */
    public double driftBound() {
        return driftBound;
    }

    /** Returns the longest pause between a standby's attempts; empty for none beyond the lease that is held. */
    public Optional<Duration> standbyBackoff() {
        return standbyBackoff;
    }

    /** Returns the priority. */
    public int priority() {
        return priority;
    }

    /** Returns what observers see of this candidate. */
    public Map<String, String> metadata() {
        return metadata;
    }

    /** Returns how long a leader may go without a pulse; empty: forever. */
    public Optional<Duration> maxPulseInterval() {
        return maxPulseInterval;
    }

    /** Returns who hears the events. */
    public Optional<LeadershipListener> listener() {
        return listener;
    }

    /** Returns where the listener and the task run; empty for the executor of the {@link ElectionsConfig}. */
    public Optional<Executor> executor() {
        return executor;
    }

    /** Returns what follows when a task throws. */
    public TaskFailure onTaskFailure() {
        return onTaskFailure;
    }

    /** Returns the least time from the beginning of one step of the task to the next. */
    public Duration taskInterval() {
        return taskInterval;
    }

    /** Returns whether the process halts rather than let work outlast the lease. */
    public boolean haltOnOverrun() {
        return haltOnOverrun;
    }

    /** Returns how long the infrastructure may refuse access before the candidacy ends. */
    public Duration accessPatience() {
        return accessPatience;
    }

    @Override
    public String toString() {
        return new SettingsText("CandidacyConfig")
                .with("candidate", candidate)
                .with("lease", lease)
                .with("renewInterval", renewInterval)
                .with("retryInterval", retryInterval)
                .with("standDownBudget", standDownBudget)
                .with("driftBound", driftBound)
                .with("standbyBackoff", standbyBackoff)
                .with("priority", priority)
                .with("metadata", metadata)
                .with("maxPulseInterval", maxPulseInterval)
                .isSet("listener", listener.isPresent())
                .isSet("executor", executor.isPresent())
                .with("onTaskFailure", onTaskFailure)
                .with("taskInterval", taskInterval)
                .with("haltOnOverrun", haltOnOverrun)
                .with("accessPatience", accessPatience)
                .toString();
    }

    private static Duration usable(Duration lease, double driftBound) {
        return lease.minusNanos((long) Math.ceil(lease.toNanos() * driftBound));
    }

    /**
     * The default: at least two renewals come round before the deadline, however much of the lease is kept for standing
     * down.
     */
    private static Duration renewInterval(Duration lease, Duration usable) {
        var third = lease.dividedBy(3);
        var half = usable.dividedBy(2);
        return third.compareTo(half) < 0 ? third : half;
    }

    /**
     * Collects settings: each setter refuses bad values, {@link #build} bad combinations, by an {@link
     * ElectionException} that names them. What is set twice has the last value. For one thread.
     */
    public static final class Builder {
        private Optional<String> candidate = Optional.empty();
        private Duration lease = DEFAULT_LEASE;
        private Optional<Duration> renewInterval = Optional.empty();
        private Optional<Duration> retryInterval = Optional.empty();
        private Optional<Duration> standDownBudget = Optional.empty();
        private double driftBound = 0.01;
        private Optional<Duration> standbyBackoff = Optional.empty();
        private int priority;
        private Map<String, String> metadata = Map.of();
        private Optional<Duration> maxPulseInterval = Optional.empty();
        private Optional<LeadershipListener> listener = Optional.empty();
        private Optional<Executor> executor = Optional.empty();
        private TaskFailure onTaskFailure = TaskFailure.RETRY;
        private Duration taskInterval = Duration.ofMillis(1);
        private boolean haltOnOverrun;
        private Duration accessPatience = DEFAULT_ACCESS_PATIENCE;

        private Builder() {}

        private Builder(Builder other) {
            candidate = other.candidate;
            lease = other.lease;
            renewInterval = other.renewInterval;
            retryInterval = other.retryInterval;
            standDownBudget = other.standDownBudget;
            driftBound = other.driftBound;
            standbyBackoff = other.standbyBackoff;
            priority = other.priority;
            metadata = other.metadata;
            maxPulseInterval = other.maxPulseInterval;
            listener = other.listener;
            executor = other.executor;
            onTaskFailure = other.onTaskFailure;
            taskInterval = other.taskInterval;
            haltOnOverrun = other.haltOnOverrun;
            accessPatience = other.accessPatience;
        }

        /** Stands under this id. Default: {@code host_pid_epochseconds_serial}, new for each candidacy. */
        public Builder candidate(String id) {
            SettingChecks.given("candidate", id, "a new id for each candidacy");
            candidate = Optional.of(Names.candidate(id));
            return this;
        }

        /**
         * Holds the seat for so long after each renewal. It bounds how long the seat stays empty after a crash, and how
         * long an outage may last before leadership is lost. At least 10 ms. Default: 10 s.
         */
        public Builder lease(Duration lease) {
            this.lease = SettingChecks.lease(lease);
            return this;
        }

        /**
         * Renews so often. Default: a third of the lease, or half of what the stand-down budget leaves of it, if that
         * is less.
         */
        public Builder renewInterval(Duration renewInterval) {
            this.renewInterval = Optional.of(SettingChecks.positive("renewInterval", renewInterval));
            return this;
        }

        /** Waits so long, give or take a fifth, after a failed attempt. Default: a quarter of the renew interval. */
        public Builder retryInterval(Duration retryInterval) {
            this.retryInterval = Optional.of(SettingChecks.positive("retryInterval", retryInterval));
            return this;
        }

        /**
         * Keeps so much of every lease for ending the work: the mandate ends so long before the seat can pass on. In an
         * orderly stand-down the successor waits at most as long. Default: a fifth of the lease.
         */
        public Builder standDownBudget(Duration standDownBudget) {
            this.standDownBudget = Optional.of(SettingChecks.positive("standDownBudget", standDownBudget));
            return this;
        }

        /**
         * Assumes that the rates of any two clocks differ by less than this fraction; small steps of the wall clock
         * count as drift. Default: 0.01.
         */
        public Builder driftBound(double driftBound) {
            this.driftBound = SettingChecks.driftBound(driftBound);
            return this;
        }

        /**
         * Lets a standby that keeps being refused ask less and less often, down to once in this time, at the cost of a
         * slower fail-over. Default: it asks when the lease that it saw has run out.
         */
        public Builder standbyBackoff(Duration longest) {
            standbyBackoff = Optional.of(SettingChecks.positive("standbyBackoff", longest));
            return this;
        }

        /**
         * Gives way, when the seat is free, to candidates of higher priority: by one retry interval where candidates
         * race. A living leader is never displaced. From -1000 to 1000; default: 0.
         */
        public Builder priority(int priority) {
            if (priority < -1000 || priority > 1000) {
                throw new ElectionException("priority is " + priority + ": it must be between -1000 and 1000");
            }
            this.priority = priority;
            return this;
        }

        /**
         * Shows this to observers. Small: keys and values together at most 1024 characters. Default:
         * nothing.
         */
        public Builder metadata(Map<String, String> metadata) {
            SettingChecks.given("metadata", metadata, "none");
            var size = 0;
            for (var entry : metadata.entrySet()) {
                Names.check("metadata key", entry.getKey(), METADATA_KEY_LIMIT);
                Names.storable("the value of metadata key \"" + entry.getKey() + "\"", entry.getValue());
                size += entry.getKey().length() + entry.getValue().length();
            }
            if (size > METADATA_LIMIT) {
                throw new ElectionException(
                        "metadata holds " + size + " characters: it must be at most " + METADATA_LIMIT);
            }
            this.metadata = Map.copyOf(new TreeMap<>(metadata));
            return this;
        }

        /** Makes a leader stand down that is not pulsed for so long: see {@link Candidacy#pulse}. Default: never. */
        public Builder maxPulseInterval(Duration maxPulseInterval) {
            this.maxPulseInterval = Optional.of(SettingChecks.positive("maxPulseInterval", maxPulseInterval));
            return this;
        }

        /** Tells the events to this. Default: nobody. */
        public Builder listener(LeadershipListener listener) {
            this.listener = Optional.of(SettingChecks.given("listener", listener, "none"));
            return this;
        }

        /**
         * Runs the listener and the task here. It is yours to shut down, and must not run them on the calling thread,
         * which is the one that renews. What it rejects is logged and counted as failed, and not called again. Default:
         * that of the {@link Elections}.
         */
        public Builder executor(Executor executor) {
            this.executor = Optional.of(SettingChecks.given("executor", executor, "that of the elections"));
            return this;
        }

        /** Decides what follows when a task throws. Default: {@link TaskFailure#RETRY}. */
        public Builder onTaskFailure(TaskFailure onTaskFailure) {
            this.onTaskFailure = SettingChecks.given("onTaskFailure", onTaskFailure, "RETRY");
            return this;
        }

        /** Begins steps of the task at least so far apart, so that an empty task does not spin. Default: 1 ms. */
        public Builder taskInterval(Duration taskInterval) {
            this.taskInterval = SettingChecks.positive("taskInterval", taskInterval);
            return this;
        }

        /**
         * Halts the whole process, with exit code 86 and without shutdown hooks, if work has not ended when the seat
         * can pass on. The last resort for work that ignores interrupts and has no guard. Default: false.
         */
        public Builder haltOnOverrun(boolean haltOnOverrun) {
            this.haltOnOverrun = haltOnOverrun;
            return this;
        }

        /**
         * Goes on trying for so long when the infrastructure, having answered before, refuses access: by a right
         * withdrawn, a password changed, an identity provider that is down. A leader leads on until its mandate ends,
         * and stands again when access is granted again. After this time, or if access was refused from the start, the
         * candidacy fails with {@link AccessRefusedException}. Default: 5 minutes.
         */
        public Builder accessPatience(Duration accessPatience) {
            this.accessPatience = SettingChecks.positive("accessPatience", accessPatience);
            return this;
        }

        /** Returns the settings, or refuses a contradiction. */
        public CandidacyConfig build() {
            return new CandidacyConfig(this);
        }
    }
}
