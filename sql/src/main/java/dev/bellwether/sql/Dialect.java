package dev.bellwether.sql;

import dev.bellwether.ElectionException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What one kind of database says in its own way. Immutable. */
enum Dialect {
    /*
     * now() is the database's clock in microseconds of 1970, from a source that no time zone and no change to summer
     * time can bend. It must not be older than the arrival of the request, since a lease counts from it: the start of
     * the statement will do, and so will the start of a transaction that began after the request was made, as all of
     * ours do. A clock that is read in coarse steps is behind by up to one step: stepMicros() compensates for that.
     *
     * Locks are taken only where nobody else holds one (SKIP LOCKED): our one connection must not wait for somebody's
     * guard while the leases of other elections run out.
     */
    /** PostgreSQL 13 and newer. */
    POSTGRESQL {
        @Override
        String now() {
            // not now(), which is the start of the transaction
            return "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)";
        }

        @Override
        String lockToGrant() {
            return " FOR UPDATE OF e SKIP LOCKED";
        }

        @Override
        String lockToRenew() {
            return " FOR NO KEY UPDATE OF e SKIP LOCKED"; // goes beside a guard's FOR KEY SHARE
        }

        @Override
        String lockToGuard() {
            return " FOR KEY SHARE";
        }

        @Override
        String insertRow() {
            return "INSERT INTO {e} (election) VALUES (?) ON CONFLICT (election) DO NOTHING";
        }

        @Override
        List<String> ddl() {
            // room in each page for the next version of a row that is updated all the time
            return tables("varchar(200)", "text", "", " WITH (fillfactor = 50)");
        }
    },

    /** MariaDB 10.6 and newer, MySQL 8. */
    MARIADB {
        @Override
        String now() {
            // The start of the statement. SYSDATE would be later, but goes through the session's time zone, and is not
            // safe for replication by statement.
            return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))";
        }

        @Override
        String lockToGuard() {
            return " LOCK IN SHARE MODE";
        }

        /*
         * Anybody who vanishes silently in a transaction must not leave a locked row for hours: so long the
         * server waits for the next statement of a connection that it has not heard of. It waits for seconds only while
         * a transaction of ours is open, anybody who opened the connection; before and after, for as long as it was
         * told to. (MariaDB has idle_transaction_timeout, which goes before, where it is set. MySQL has not.)
         *
         * We skip rows that others have locked, but not a gap of an index, which a guard that was refused keeps until
         * its transaction ends. A statement that waits there holds up all others, so it waits for a second only. The
         * server knows no shorter wait: with short leases the driver gives up first. Then the session there keeps what
         * it has locked until the server ends its wait, and not all seats of the group are free meanwhile.
         */
        @Override
        void begin(Connection connection) throws SQLException {
            try {
                execute(
                        connection,
                        "SET @bellwether_wait = @@SESSION.wait_timeout, SESSION wait_timeout = 5,"
                                + " @bellwether_lock = @@SESSION.innodb_lock_wait_timeout,"
                                + " SESSION innodb_lock_wait_timeout = 1");
                super.begin(connection);
            } catch (SQLException e) {
                endWaits(connection, e);
                throw SqlErrors.isBreak(e)
                        ? new SqlErrors.NotBegun(e)
                        : e; // MariaDB does not say that it has ended a session
            } catch (RuntimeException | Error e) {
                endWaits(connection, e);
                throw e;
            }
        }

        @Override
        void commit(Connection connection) throws SQLException {
            super.commit(connection);
            try {
                execute(connection, WAITS_AS_BEFORE);
            } catch (SQLException e) {
                throw new SQLException(e.getMessage(), e); // that the session was over is no reason to do it again
            }
        }

        @Override
        void rollback(Connection connection) throws SQLException {
            super.rollback(connection);
            execute(connection, WAITS_AS_BEFORE);
        }

        @Override
        boolean isPlaceLocked(SQLException e, Duration after) {
            return SqlErrors.isLockWait(e) || (SqlErrors.isTimeout(e) && after.compareTo(LONGEST_LOCK_WAIT) < 0);
        }

        @Override
        String pathOfToken(String table) {
            // A shared lock on what an index holds already is a lock on the index alone. Renewals do not touch this
            // index; a token that rises does.
            return table + " FORCE INDEX (bellwether_token)";
        }

        @Override
        String pathOfRow(String table) {
            // Else the server may read the whole table where we name a good part of its rows, and lock what it reads.
            return table + " FORCE INDEX (PRIMARY)";
        }

        @Override
        String insertRow() {
            return "INSERT IGNORE INTO {e} (election) VALUES (?)";
        }

        @Override
        String enrol() {
            return "INSERT INTO {c} (election, candidate, priority, metadata, until_at, heard_at)"
                    + " VALUES (?, ?, ?, ?, {now} + ?, {now})"
                    + " ON DUPLICATE KEY UPDATE priority = VALUES(priority), metadata = VALUES(metadata),"
                    + " until_at = VALUES(until_at), heard_at = VALUES(heard_at)";
        }

        @Override
        List<String> ddl() {
            return tables(
                    "varchar(200)",
                    "text",
                    ",\n    UNIQUE KEY bellwether_token (election, token)",
                    " ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
        }
    },

    /** H2 2.2 and newer. */
    H2 {
        @Override
        String now() {
            // The start of the transaction. Not DATEDIFF, which compares what the clocks on two walls show, and so
            // reads
            // another time in each time zone.
            return "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS bigint)";
        }

        @Override
        String insertRow() {
            return "MERGE INTO {e} t USING (SELECT CAST(? AS varchar(400)) AS election) s ON t.election = s.election"
                    + " WHEN NOT MATCHED THEN INSERT (election) VALUES (s.election)";
        }

        @Override
        String enrol() {
            return "MERGE INTO {c} (election, candidate, priority, metadata, until_at, heard_at)"
                    + " KEY (election, candidate) VALUES (?, ?, ?, ?, {now} + ?, {now})";
        }

        @Override
        Duration poll() {
            return Duration.ofMillis(100);
        }

        @Override
        boolean isInMemory(Connection connection) throws SQLException {
            return isTrue(connection, "SELECT DATABASE_PATH() IS NULL");
        }

        @Override
        List<String> ddl() {
            return tables("varchar(400)", "varchar(20000)", "", ""); // it counts UTF-16 units
        }
    },

    /** SQLite 3.42 and newer: the clock is that of the machine, and there is one lock for the whole file. */
    SQLITE {
        @Override
        String now() {
            return "CAST(unixepoch('subsec') * 1000000 AS integer)";
        }

        @Override
        long stepMicros() {
            return 2_000; // milliseconds, cut off, by way of floating point
        }

        @Override
        String lockToGrant() {
            return "";
        }

        @Override
        String lockToRenew() {
            return "";
        }

        @Override
        String lockToGuard() {
            return "";
        }

        @Override
        String guard() {
            // changes nothing, but nobody else can write before the transaction ends
            return "UPDATE {e} SET token = token WHERE election = ? AND token = ?";
        }

        @Override
        String insertRow() {
            return POSTGRESQL.insertRow();
        }

        @Override
        Duration poll() {
            return Duration.ofMillis(100);
        }

        @Override
        void begin(Connection connection) throws SQLException {
            // Immediate, since a transaction that reads first and then writes is refused if another has written in
            // between.
            try (var statement = connection.createStatement()) {
                patiently(PATIENCE, () -> statement.execute("BEGIN IMMEDIATE"));
            }
        }

        @Override
        boolean isBusy(SQLException e) {
            return BusyFile.isBusy(e);
        }

        @Override
        <T> T patiently(Duration patience, BusyFile.Attempt<T> attempt) throws SQLException {
            return BusyFile.untilFree(patience, attempt);
        }

        @Override
        void commit(Connection connection) throws SQLException {
            execute(connection, "COMMIT");
        }

        @Override
        void rollback(Connection connection) throws SQLException {
            execute(connection, "ROLLBACK");
        }

        @Override
        Duration breather() {
            return Duration.ofMillis(1);
        }

        @Override
        boolean isInMemory(Connection connection) throws SQLException {
            return isTrue(connection, "SELECT file = '' FROM pragma_database_list WHERE name = 'main'");
        }

        @Override
        void requireReachable(Connection connection, Source source) throws SQLException {
            if (isInMemory(connection)
                    && !connection
                            .getMetaData()
                            .getURL()
                            .toLowerCase(Locale.ROOT)
                            .contains("cache=shared")) {
                throw new ElectionException(
                        source + " is in the memory of one connection: nobody else can reach it, and"
                                + " it is lost with that connection; name a file (jdbc:sqlite:FILE)");
            }
        }

        @Override
        List<String> ddl() {
            return tables("text", "text", "", "");
        }
    };

    private static final String WAITS_AS_BEFORE =
            "SET SESSION wait_timeout = COALESCE(@bellwether_wait, @@SESSION.wait_timeout), @bellwether_wait = NULL,"
                    + " SESSION innodb_lock_wait_timeout = COALESCE(@bellwether_lock,"
                    + " @@SESSION.innodb_lock_wait_timeout), @bellwether_lock = NULL";

    /** No transaction has begun: a session that is lent is to have none of its settings. */
    private static void endWaits(Connection connection, Throwable failed) {
        try {
            execute(connection, WAITS_AS_BEFORE);
        } catch (SQLException again) {
            failed.addSuppressed(again);
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** The server ends a wait for a lock after one second, and MySQL looks once a second for those that are over. */
    private static final Duration LONGEST_LOCK_WAIT = Duration.ofSeconds(2);

    /** How long to ask for the lock of a file, in operation. */
    static final Duration PATIENCE = Duration.ofSeconds(1);

    /** Chooses by what the driver says it is connected to. */
    static Dialect of(Connection connection) throws SQLException {
        var product = connection.getMetaData().getDatabaseProductName();
        return switch (product.toLowerCase(Locale.ROOT)) {
            case "postgresql" -> POSTGRESQL;
            case "mariadb", "mysql" -> MARIADB;
            case "h2" -> H2;
            case "sqlite" -> SQLITE;
            default ->
                throw new ElectionException("the database calls itself \"" + product
                        + "\": elections can be held on PostgreSQL, MariaDB, MySQL, H2 and SQLite");
        };
    }

    /** Chooses by the address, if it may be that of a file: to open it would make the file, or change it. */
    static Optional<Dialect> ofFile(String jdbc) {
        if (jdbc.startsWith("jdbc:sqlite:")) {
            return Optional.of(SQLITE);
        }
        return jdbc.startsWith("jdbc:h2:") ? Optional.of(H2) : Optional.empty();
    }

    /** Returns an expression for the database's clock. */
    abstract String now();

    /** Returns how far that clock may be behind. */
    long stepMicros() {
        return 2;
    }

    /** Returns the clause that locks rows whose token is to rise, against guards too. */
    String lockToGrant() {
        return " FOR UPDATE SKIP LOCKED";
    }

    /** Returns the clause that locks rows whose token stays. */
    String lockToRenew() {
        return " FOR UPDATE SKIP LOCKED";
    }

    /** Returns the query that finds the row of this election under this token, and keeps the token from rising. */
    String guardQuery() {
        return "SELECT 1 FROM " + pathOfToken("{e} g") + " WHERE g.election = ? AND g.token = ?" + lockToGuard();
    }

    /** Returns the table with whatever makes a query lock the token's place, rather than the row. */
    String pathOfToken(String table) {
        return table;
    }

    /** Returns the table with whatever makes a statement lock no rows but those that it names. */
    String pathOfRow(String table) {
        return table;
    }

    /** Returns the statement that guards: the query, or what does the same. */
    String guard() {
        return guardQuery();
    }

    String lockToGuard() {
        return " FOR UPDATE";
    }

    /** Returns the statement that makes an election's row unless there is one. */
    abstract String insertRow();

    /** Returns the statement that lists a candidate: election, candidate, priority, metadata, presence. */
    String enrol() {
        return "INSERT INTO {c} (election, candidate, priority, metadata, until_at, heard_at)"
                + " VALUES (?, ?, ?, ?, {now} + ?, {now})"
                + " ON CONFLICT (election, candidate) DO UPDATE SET priority = excluded.priority,"
                + " metadata = excluded.metadata, until_at = excluded.until_at, heard_at = excluded.heard_at";
    }

    /** Returns how often to look for changes unless told otherwise. */
    Duration poll() {
        return Duration.ofMillis(500);
    }

    /** Returns how long to leave the database to others after each batch of ours. */
    Duration breather() {
        return Duration.ZERO;
    }

    /**
     * Does what may be refused at once because somebody else is at it, and goes on trying where it is the nature of the
     * database.
     */
    <T> T patiently(Duration patience, BusyFile.Attempt<T> attempt) throws SQLException {
        return attempt.make();
    }

    /** Returns whether this error says that somebody else was at it, and nothing was done. */
    boolean isBusy(SQLException e) {
        return false;
    }

    /**
     * Returns whether a statement about one row ends so, after so long, if somebody else has locked its place in an
     * index.
     */
    boolean isPlaceLocked(SQLException e, Duration after) {
        return false;
    }

    /** Returns whether nothing is on a disk, so that tokens are lost when a process ends. */
    boolean isInMemory(Connection connection) throws SQLException {
        return false;
    }

    /** Refuses a database that no second connection can reach. */
    void requireReachable(Connection connection, Source source) throws SQLException {}

    private static boolean isTrue(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            return result.next() && result.getBoolean(1);
        }
    }

    void begin(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
    }

    void commit(Connection connection) throws SQLException {
        connection.commit();
        connection.setAutoCommit(true);
    }

    void rollback(Connection connection) throws SQLException {
        connection.rollback();
        connection.setAutoCommit(true);
    }

    /** Returns the statements that create the tables. */
    abstract List<String> ddl();

    /** Fills in the names of the tables, and the clock. */
    String fill(String sql, SqlConfig config) {
        return sql.replace("{e}", config.table())
                .replace("{c}", config.candidateTable())
                .replace("{now}", now());
    }

    private static List<String> tables(String name, String text, String index, String options) {
        return List.of("""
                CREATE TABLE IF NOT EXISTS {e} (
                    election   %1$s NOT NULL PRIMARY KEY,
                    token      bigint NOT NULL DEFAULT 0,
                    candidate  %1$s,
                    nonce      varchar(100),
                    priority   integer NOT NULL DEFAULT 0,
                    metadata   %2$s,
                    since_at   bigint NOT NULL DEFAULT 0,
                    expires_at bigint NOT NULL DEFAULT 0,
                    term       bigint NOT NULL DEFAULT 0,
                    stand_down smallint NOT NULL DEFAULT 0,
                    ended      smallint NOT NULL DEFAULT 0,
                    era        bigint NOT NULL DEFAULT 0,
                    listed     smallint NOT NULL DEFAULT 0,
                    note       %2$s%3$s
                )%4$s""".formatted(name, text, index, options), """
                CREATE TABLE IF NOT EXISTS {c} (
                    election   %1$s NOT NULL,
                    candidate  %1$s NOT NULL,
                    priority   integer NOT NULL,
                    metadata   %2$s NOT NULL,
                    until_at   bigint NOT NULL,
                    heard_at   bigint NOT NULL DEFAULT 0,
                    PRIMARY KEY (election, candidate)
                )%3$s""".formatted(name, text, options));
    }
}
