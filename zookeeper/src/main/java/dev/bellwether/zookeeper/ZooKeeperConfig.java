package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Durations;
import java.time.Duration;

/**
 * Settings of the elections on one ensemble. Immutable.
 *
 * <p>In a {@code zk:} URI the root is the path, and the others are parameters of the same name; durations as in
 * {@code 500ms}.
 */
public final class ZooKeeperConfig {
    private static final ZooKeeperConfig DEFAULTS = builder().build();

    private final String root;
    private final boolean createElections;
    private final Duration tickTime;

    private ZooKeeperConfig(Builder builder) {
        root = builder.root;
        createElections = builder.createElections;
        tickTime = builder.tickTime;
    }

    /** Returns the default settings. */
    public static ZooKeeperConfig defaults() {
        return DEFAULTS;
    }

    /** Begins with the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the node below which elections are; empty for the root of the server. */
    public String root() {
        return root;
    }

    /** Returns whether nodes of elections are made when somebody first stands. */
    public boolean createElections() {
        return createElections;
    }

    /** Returns the longest {@code tickTime} of any server. */
    public Duration tickTime() {
        return tickTime;
    }

    /** Collects settings; each setter refuses bad values. */
    public static final class Builder {
        private String root = "/bellwether";
        private boolean createElections = true;
        private Duration tickTime = Duration.ofSeconds(3);

        private Builder() {}

        /**
         * Keeps the elections below this node: {@code billing} in {@code /bellwether/billing}. Give them one of their
         * own, since all its children are listed as elections. Default: {@code /bellwether}.
         */
        public Builder root(String root) {
            this.root = new Paths(root.equals("/") ? "" : root).root();
            return this;
        }

        /**
         * Makes the node of an election when somebody first stands. If false, an administrator does, and a candidate
         * that stands where there is none fails. Default: true.
         */
        public Builder createElections(boolean createElections) {
            this.createElections = createElections;
            return this;
        }

        /**
         * Assumes that no server's {@code tickTime} is longer: if one is, two may lead. A proof of leadership takes
         * half a tick and more, since only then a server has surely told the leader of its ensemble which sessions it
         * has heard of; a lease that is too short for that is refused. Default: 3 s, which is ZooKeeper's own default.
         */
        public Builder tickTime(Duration tickTime) {
            if (tickTime.compareTo(Duration.ofMillis(1)) < 0 || tickTime.compareTo(Duration.ofMinutes(1)) > 0) {
                throw new ElectionException(
                        "tickTime is " + Durations.show(tickTime) + ": it must be between 1 ms and 1 minute");
            }
            this.tickTime = tickTime;
            return this;
        }

        /** Returns the settings. */
        public ZooKeeperConfig build() {
            return new ZooKeeperConfig(this);
        }
    }
}
