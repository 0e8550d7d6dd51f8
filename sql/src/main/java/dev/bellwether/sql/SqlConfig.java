package dev.bellwether.sql;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Settings of the elections on one database. Immutable.
 *
 * <p>In a {@code jdbc:} URI each is a parameter with the prefix {@code bellwether.}, such as {@code
 * bellwether.table=ops.election}; durations as in {@code 500ms}.
 */
public final class SqlConfig {
    static final String PREFIX = "bellwether.";
    /** What a URI may set. */
    static final List<String> PARAMETERS =
            List.of(PREFIX + "table", PREFIX + "createTable", PREFIX + "listen", PREFIX + "poll", PREFIX + "presence");

    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,39}(\\.[A-Za-z_][A-Za-z0-9_]{0,39})?");
    private static final SqlConfig DEFAULTS = builder().build();

    private final String table;
    private final boolean createTable;
    private final boolean listen;
    private final Optional<Duration> poll;
    private final Duration presence;

    private SqlConfig(Builder builder) {
        table = builder.table;
        createTable = builder.createTable;
        listen = builder.listen;
        poll = builder.poll;
        presence = builder.presence;
    }

    /** Returns the default settings. */
    public static SqlConfig defaults() {
        return DEFAULTS;
    }

    /** Begins with the default settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the name of the table with a row per election. */
    public String table() {
        return table;
    }

    /** Returns the name of the table with a row per candidate. */
    String candidateTable() {
        return table + "_candidate";
    }

    /** Returns whether the tables are created if they are missing. */
    public boolean createTable() {
        return createTable;
    }

    /** Returns whether changes are heard by LISTEN where the database has it. */
    public boolean listen() {
        return listen;
    }

    /** Returns how often we look for changes where we cannot listen; empty for what suits the database. */
    public Optional<Duration> poll() {
        return poll;
    }

    /** Returns how long a candidate is listed after the last sign of it. */
    public Duration presence() {
        return presence;
    }

    /** Collects settings; each setter refuses bad values. */
    public static final class Builder {
        private String table = "bellwether_election";
        private boolean createTable = true;
        private boolean listen = true;
        private Optional<Duration> poll = Optional.empty();
        private Duration presence = Duration.ofMinutes(10);

        private Builder() {}

        /**
         * Keeps the elections in this table, {@code name} or {@code schema.name}, and the candidates in {@code
         * name_candidate} beside it. Default: {@code bellwether_election}.
         */
        public Builder table(String table) {
            if (!NAME.matcher(table).matches()) {
                throw new ElectionException(
                        "table is \"" + table + "\": it must be a name, or schema.name, of letters, "
                                + "digits and underscores, at most 40 each");
            }
            this.table = table;
            return this;
        }

        /** Creates the tables on first use if they are missing. Default: true. */
        public Builder createTable(boolean createTable) {
            this.createTable = createTable;
            return this;
        }

        /** Hears of changes by LISTEN, on PostgreSQL, over a second connection; otherwise polls. Default: true. */
        public Builder listen(boolean listen) {
            this.listen = listen;
            return this;
        }

        /**
         * Where we cannot listen, looks for changes so often, by one statement for all elections that somebody here
         * watches or stands by for. Default: 100 ms for SQLite and H2, else 500 ms.
         */
        public Builder poll(Duration poll) {
            this.poll = Optional.of(positive("poll", poll));
            return this;
        }

        /**
         * Lists a standby for so long after the last sign of it; signs are given at half that time. A standby that
         * crashed is listed in vain until then. Default: 10 minutes.
         */
        public Builder presence(Duration presence) {
            this.presence = positive("presence", presence);
            return this;
        }

        /** Returns the settings. */
        public SqlConfig build() {
            return new SqlConfig(this);
        }

        private static Duration positive(String name, Duration value) {
            if (value.compareTo(Duration.ofMillis(10)) < 0 || value.compareTo(Duration.ofDays(1)) > 0) {
                throw new ElectionException(name + " is " + Durations.show(value) + ": it must be between 10ms and 1d");
            }
            return value;
        }
    }
}
