package dev.bellwether;

import dev.bellwether.spi.Loop;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executor;

/**
 * Settings of an {@link Elections}. Immutable.
 *
 * <pre>{@code
 * var config = ElectionsConfig.builder()
 *         .connectLazily(true) // the application starts although the broker is down
 *         .requestTimeout(Duration.ofSeconds(2))
 *         .build();
 * return Elections.connect("kafka://broker:9092", config);
 * }</pre>
 */
public final class ElectionsConfig {
    private static final Metrics NO_METRICS = new Metrics() {};
    private static final ElectionsConfig DEFAULTS = builder().build();

    private final Optional<Executor> executor;
    private final Metrics metrics;
    private final Duration requestTimeout;
    private final Duration pauseBound;
    private final Optional<Loop> loop;
    private final boolean connectLazily;

    private ElectionsConfig(Builder builder) {
        executor = builder.executor;
        metrics = builder.metrics;
        requestTimeout = builder.requestTimeout;
        pauseBound = builder.pauseBound;
        loop = builder.loop;
        connectLazily = builder.connectLazily;
    }

    /** Returns the default settings. */
    public static ElectionsConfig defaults() {
        return DEFAULTS;
    }

    /** Begins with the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns a builder that begins with these settings. */
    public Builder toBuilder() {
        var builder = new Builder();
        builder.executor = executor;
        builder.metrics = metrics;
        builder.requestTimeout = requestTimeout;
        builder.pauseBound = pauseBound;
        builder.loop = loop;
        builder.connectLazily = connectLazily;
        return builder;
    }

    /** Returns where listeners and tasks run; empty for threads of our own. */
    public Optional<Executor> executor() {
        return executor;
    }

    /** Returns who hears the figures. */
    public Metrics metrics() {
        return metrics;
    }

    /** Returns how long a call of {@link Election} or {@link Elections#list} waits for its answer. */
    public Duration requestTimeout() {
        return requestTimeout;
    }

    /** Returns how long the loop may be late before that counts as a stall. */
    public Duration pauseBound() {
        return pauseBound;
    }

    /** Returns whether the infrastructure need not be there when the elections begin. */
    public boolean connectLazily() {
        return connectLazily;
    }

    /** Returns the loop to run on; empty for a thread of our own. */
    public Optional<Loop> loop() {
        return loop;
    }

    @Override
    public String toString() {
        return new SettingsText("ElectionsConfig")
                .isSet("executor", executor.isPresent())
                .isSet("metrics", metrics != NO_METRICS)
                .with("requestTimeout", requestTimeout)
                .with("pauseBound", pauseBound)
                .with("connectLazily", connectLazily)
                .isSet("loop", loop.isPresent())
                .toString();
    }

    /**
     * Collects settings: each setter refuses bad values by an {@link ElectionException}. What is set twice has the last
     * value. For one thread.
     */
    public static final class Builder {
        private Optional<Executor> executor = Optional.empty();
        private Metrics metrics = NO_METRICS;
        private Duration requestTimeout = Duration.ofSeconds(5);
        private Duration pauseBound = Duration.ofMillis(500);
        private Optional<Loop> loop = Optional.empty();
        private boolean connectLazily;

        private Builder() {}

        /**
         * Runs listeners and tasks here, virtual threads for example. It is yours to shut down, and must not run them
         * on the calling thread, which is the one that renews. What it rejects is logged and counted as failed, and not
         * called again. Default: own threads, daemons, which keep no process alive.
         */
        public Builder executor(Executor executor) {
            this.executor = Optional.of(SettingChecks.given("executor", executor, "threads of our own"));
            return this;
        }

        /** Tells figures to this. Default: nobody. */
        public Builder metrics(Metrics metrics) {
            this.metrics = SettingChecks.given("metrics", metrics, "none");
            return this;
        }

        /** Bounds the wait of an observer's or operator's call, and of a lock for its first answer. Default: 5 s. */
        public Builder requestTimeout(Duration requestTimeout) {
            this.requestTimeout = SettingChecks.positive("requestTimeout", requestTimeout);
            return this;
        }

        /**
         * A stall is counted and logged when the thread that renews did not run for longer than this. A mandate whose
         * end is noticed later than this has the cause {@link Cause#PAUSED}. Default: 500 ms.
         */
        public Builder pauseBound(Duration pauseBound) {
            this.pauseBound = SettingChecks.positive("pauseBound", pauseBound);
            return this;
        }

        /**
         * Connects in the background, again and again until the infrastructure answers: for an application that must
         * start without it. Candidacies that begin meanwhile stand by, and one is elected when there is a connection;
         * questions are answered by an {@link UnavailableException} that says that there is none. What no waiting can
         * fix, such as a wrong password, is a failure of each candidacy. Default: false, so that connecting throws.
         */
        public Builder connectLazily(boolean connectLazily) {
            this.connectLazily = connectLazily;
            return this;
        }

        /** Runs on this loop instead of a thread of our own, and closes it with the elections: for simulators. */
        public Builder loop(Loop loop) {
            this.loop = Optional.of(SettingChecks.given("loop", loop, "a thread of our own"));
            return this;
        }

        /** Returns the settings. */
        public ElectionsConfig build() {
            return new ElectionsConfig(this);
        }
    }
}
