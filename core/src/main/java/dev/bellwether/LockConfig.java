package dev.bellwether;

import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Settings of a {@link RunLock}. Immutable.
 *
 * <pre>{@code
 * var config = LockConfig.builder()
 *         .atLeast(Duration.ofSeconds(20)) // more than the clocks can differ
 *         .candidacy(CandidacyConfig.ofLease(Duration.ofSeconds(20)))
 *         .build();
 * var lock = elections.lock("nightly-report", config);
 * }</pre>
 */
public final class LockConfig {
    /** Leaves room for what makes the id of each attempt its own. */
    private static final int ID_LIMIT = 180;

    private static final AtomicLong SERIAL = new AtomicLong();

    private final CandidacyConfig candidacy;
    private final Duration atLeast;

    private LockConfig(Builder builder) {
        candidacy = builder.candidacy;
        atLeast = builder.atLeast;
    }

    /** Returns the default settings: a lease of ten seconds, and the seat is not kept after a run. */
    public static LockConfig defaults() {
        return builder().build();
    }

    /** Returns the default settings for a lease of the given length. */
    public static LockConfig ofLease(Duration lease) {
        return builder().candidacy(CandidacyConfig.ofLease(lease)).build();
    }

    /** Begins with the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns a builder that begins with these settings. */
    public Builder toBuilder() {
        var builder = new Builder();
        builder.candidacy = candidacy;
        builder.atLeast = atLeast;
        return builder;
    }

    /** Returns how the lock stands for its seat. */
    public CandidacyConfig candidacy() {
        return candidacy;
    }

    /** Returns how long the seat stays ours, from when the lock was taken; zero for no longer than it is held. */
    public Duration atLeast() {
        return atLeast;
    }

    /** Returns the settings to stand with in one attempt: under an id of its own, since two threads may try at once. */
    public CandidacyConfig oneAttempt() {
        return candidacy
                .candidate()
                .map(id -> candidacy.toBuilder()
                        .candidate(id + '_' + SERIAL.incrementAndGet())
                        .build())
                .orElse(candidacy);
    }

    @Override
    public String toString() {
        return new SettingsText("LockConfig")
                .with("candidacy", candidacy)
                .with("atLeast", atLeast)
                .toString();
    }

    /**
     * Collects settings: each setter refuses bad values by an {@link ElectionException}. What is set twice has the last
     * value. For one thread.
     */
    public static final class Builder {
        private CandidacyConfig candidacy = CandidacyConfig.defaults();
        private Duration atLeast = Duration.ZERO;

        private Builder() {}

        /**
         * Stands for the seat with these settings: the lease, the stand-down budget, the candidate id, to which a
         * number is added for each attempt, and so on. A lock has neither steps of a task nor a pulse, so
         * {@link CandidacyConfig.Builder#onTaskFailure} and {@link CandidacyConfig.Builder#taskInterval} change
         * nothing, and {@link CandidacyConfig.Builder#maxPulseInterval} is refused. Default:
         * {@link CandidacyConfig#defaults}.
         */
        public Builder candidacy(CandidacyConfig candidacy) {
            SettingChecks.given("candidacy", candidacy, "CandidacyConfig.defaults()");
            candidacy.maxPulseInterval().ifPresent(interval -> {
                throw new ElectionException("maxPulseInterval is " + Durations.show(interval)
                        + ": nobody pulses a lock, which would be lost after that time; leave it unset");
            });
            candidacy.candidate().filter(id -> id.length() > ID_LIMIT).ifPresent(id -> {
                throw new ElectionException("candidate id \"" + id + "\" has " + id.length()
                        + " characters: for a lock, which adds a number to it, it must have at most " + ID_LIMIT);
            });
            this.candidacy = candidacy;
            return this;
        }

        /**
         * Keeps the seat for so long from when the lock was taken, however short the run. Processes that start a run at
         * the same time by clocks that differ then do not run it one after another: choose more than the clocks can
         * differ, and less than the time to the next run. Default: zero: the seat is free as soon as the run has ended.
         *
         * <p>This process keeps it: it goes on standing in the background. If it dies, or its {@link Elections} are
         * closed, after the run, the seat is free when the lease has run out, which may be before this time is over; if
         * that matters, let the lease be as long as this time. ZooKeeper, and whatever else ties the seat to the
         * connection, frees it at once when the connection is closed. If the {@link Elections} are closed, or an
         * operator orders to stand down, during the run, nothing is kept after it.
         */
        public Builder atLeast(Duration atLeast) {
            this.atLeast = SettingChecks.notNegative("atLeast", atLeast);
            return this;
        }

        /** Returns the settings. */
        public LockConfig build() {
            return new LockConfig(this);
        }
    }
}
