package dev.bellwether.sql;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What an {@link SQLException} means: something that only a person can fix, said so that they can, or no answer.
 *
 * <p>Immutable.
 */
final class SqlErrors {
    /** The server's option, InnoDB's as MySQL and as MariaDB say it, and that of InnoDB after a crash. */
    private static final Set<Integer> MARIADB_READ_ONLY = Set.of(1290, 1836, 1036, 1874);

    private static final int MARIADB_CANNOT_LOCK = 1015;
    private static final int MARIADB_SYNTAX = 1064;
    private static final Set<Integer> H2_UNUSABLE = Set.of(42000, 42001, 90079);
    private static final int SQLITE_ERROR = 1;
    private static final int MARIADB_NO_INDEX = 1176;
    private static final int MARIADB_TABLE_DENIED = 1142;
    private static final int MARIADB_COLUMN_DENIED = 1143;
    private static final int MARIADB_DATABASE_DENIED = 1044;
    private static final int MARIADB_NO_DATABASE = 1049;
    private static final int MARIADB_LOCK_WAIT = 1205;
    private static final int MARIADB_DEADLOCK = 1213;
    /** With {@code innodb_snapshot_isolation}, the default of newer ones. */
    private static final int MARIADB_CHANGED = 1020;

    /** What MySQL says before it closes a connection: see its wait_timeout. */
    private static final int MYSQL_IDLE = 4031;

    private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._-]{1,253}");

    private final Source source;
    private final SqlConfig config;
    private final String grant;

    /** Before there was a connection. */
    SqlErrors(Source source, SqlConfig config) {
        this(
                source,
                config,
                "GRANT SELECT, INSERT, UPDATE, DELETE ON " + config.table() + ", " + config.candidateTable()
                        + " TO this user");
    }

    /** Suggests this to who lacks a right. */
    SqlErrors(Source source, SqlConfig config, String grant) {
        this.source = source;
        this.config = config;
        this.grant = grant;
    }

    /** What went wrong, as far as we can do something about it. */
    enum Kind {
        NO_TABLE,
        NO_COLUMN,
        NO_RIGHT,
        NO_LOGIN,
        NO_ENTRY,
        READ_ONLY,
        UNUSABLE,
        NO_ANSWER
    }

    static Kind kindOf(SQLException e) {
        var state = state(e);
        var message = e.getMessage() == null ? "" : e.getMessage().toLowerCase(Locale.ROOT);
        if (state.equals("42P01")
                || state.equals("42S02")
                || state.equals("42S04")
                || message.contains("no such table")) {
            return Kind.NO_TABLE;
        }
        if (state.equals("42703")
                || state.equals("42S22")
                || e.getErrorCode() == MARIADB_NO_INDEX
                || message.contains("no such column")) {
            return Kind.NO_COLUMN;
        }
        if (state.equals("25006")
                || state.equals("90097")
                || MARIADB_READ_ONLY.contains(e.getErrorCode())
                || (e.getErrorCode() == MARIADB_CANNOT_LOCK && message.contains("read only"))
                || message.contains("readonly database")) {
            return Kind.READ_ONLY;
        }
        if (state.equals("42501")
                || state.equals("90096")
                || e.getErrorCode() == MARIADB_TABLE_DENIED
                || e.getErrorCode() == MARIADB_COLUMN_DENIED
                || e.getErrorCode() == MARIADB_DATABASE_DENIED) {
            return Kind.NO_RIGHT;
        }
        if (state.startsWith("28") || isPasswordMissing(state, message)) {
            return Kind.NO_LOGIN;
        }
        if (state.equals("3D000") || state.equals("3F000") || e.getErrorCode() == MARIADB_NO_DATABASE) {
            return Kind.NO_ENTRY;
        }
        return isUnusable(e, message) ? Kind.UNUSABLE : Kind.NO_ANSWER;
    }

    /**
     * Whether the database does not understand what we say. Not by class 42 alone: MySQL gives the state 42000 to what
     * passes, too, as to too many connections.
     */
    private static boolean isUnusable(SQLException e, String message) {
        return state(e).equals("42601")
                || e.getErrorCode() == MARIADB_SYNTAX
                || H2_UNUSABLE.contains(e.getErrorCode())
                || (e.getErrorCode() == SQLITE_ERROR
                        && (message.contains("syntax error") || message.contains("unknown database")));
    }

    /** PostgreSQL's driver, which was given none, says so as if the connection had been refused. */
    private static boolean isPasswordMissing(String state, String message) {
        return state.equals("08004") && message.contains("password");
    }

    /** Returns why there was no connection, as far as the network says so; an empty text if it does not. */
    private static String network(SQLException e) {
        for (var cause : Causes.of(e)) {
            if (cause instanceof UnknownHostException) {
                var host = String.valueOf(cause.getMessage());
                return HOST.matcher(host).matches()
                        ? "unknown host " + host
                        : "unknown host"; // else a driver took more for it
            }
            if (cause instanceof NoRouteToHostException) {
                return "no route to the host";
            }
            if (cause instanceof ConnectException) {
                return "connection refused";
            }
            if (cause instanceof SocketTimeoutException) {
                return "no answer in time";
            }
        }
        return "";
    }

    /** Returns whether what failed may be the content of one row, and not the statement or the connection. */
    static boolean isOfOneRow(SQLException e) {
        var state = state(e);
        return state.startsWith("22") || state.startsWith("23");
    }

    /** Returns whether MariaDB or MySQL has ended the wait for a lock. */
    static boolean isLockWait(SQLException e) {
        return e.getErrorCode() == MARIADB_LOCK_WAIT;
    }

    private static String state(SQLException e) {
        return e.getSQLState() == null ? "" : e.getSQLState();
    }

    /** Returns whether the server has undone the transaction, so that others can go on. */
    static boolean isUndone(SQLException e) {
        var state = state(e);
        return e.getErrorCode() == MARIADB_DEADLOCK
                || e.getErrorCode() == MARIADB_CHANGED
                || state.equals("40P01")
                || (state.equals("40001") && !isLockWait(e)); // as Connector/J calls that, too
    }

    /**
     * Returns whether the server had ended the session, which was idle for too long, before it saw a statement that
     * does anything.
     */
    static boolean isOfIdleSession(SQLException e) {
        return e instanceof NotBegun || "57P05".equals(e.getSQLState()) || e.getErrorCode() == MYSQL_IDLE;
    }

    /**
     * Returns whether the connection broke, other than by a wait that was too long: also where PostgreSQL has said why
     * it ends it, by order of an administrator or because another session has crashed.
     */
    static boolean isBreak(SQLException e) {
        var state = state(e);
        return (state.startsWith("08") || state.equals("57P01") || state.equals("57P02")) && !isTimeout(e);
    }

    /** The connection was found broken where a transaction was to begin: nothing was done. */
    static final class NotBegun extends SQLException {
        private static final long serialVersionUID = 1;

        NotBegun(SQLException why) {
            super(why.getMessage(), why.getSQLState(), why.getErrorCode(), why);
        }
    }

    /** Returns whether the server has refused one statement, and its session is as good as before. */
    static boolean isOfOneStatement(SQLException e) {
        var state = state(e);
        return !isTimeout(e)
                && (e instanceof SeatTable.LockedRow
                        || isOfOneRow(e)
                        || isLockWait(e)
                        || isUndone(e)
                        || state.equals("55P03"));
    }

    /** Returns whether the driver has given up to wait for an answer. */
    static boolean isTimeout(SQLException e) {
        for (var cause : Causes.of(e)) {
            if (cause instanceof SocketTimeoutException) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns what to throw for an error in operation: what a fail-over of the database can bring about passes, and
     * what somebody has changed may be changed back, as a table is that is being restored.
     */
    ElectionException inOperation(SQLException e) {
        var kind = kindOf(e);
        return switch (kind) {
            case NO_TABLE, NO_COLUMN, NO_RIGHT, NO_LOGIN, NO_ENTRY, UNUSABLE ->
                new AccessRefusedException(advice(kind, e), e);
            case READ_ONLY, NO_ANSWER -> new UnavailableException(advice(kind, e), e);
        };
    }

    /**
     * Returns what to throw for an error at the beginning, when a person is there to read it. A database may be
     * read-only then, too, because a fail-over is under way.
     */
    ElectionException atStart(SQLException e) {
        var kind = kindOf(e);
        return switch (kind) {
            case READ_ONLY, NO_ANSWER -> new UnavailableException(advice(kind, e), e);
            case NO_RIGHT, NO_LOGIN, NO_ENTRY -> new AccessRefusedException(advice(kind, e), e);
            case NO_TABLE, NO_COLUMN, UNUSABLE -> new ElectionException(advice(kind, e), e);
        };
    }

    private String advice(Kind kind, SQLException e) {
        var said = " (it said: " + source.redact(String.valueOf(e.getMessage())).strip() + ")";
        return switch (kind) {
            case NO_TABLE ->
                source + " has no table " + config.table() + ": create it with what `bellwether schema` prints, or "
                        + (config.createTable()
                                ? "grant the right to create it"
                                : "allow it to be created (createTable)")
                        + said;
            case NO_COLUMN ->
                "the table " + config.table() + " of " + source
                        + " lacks a column or an index: it is of another version, or not ours; "
                        + "compare it with what `bellwether schema` prints, and add what is missing (a table made"
                        + " before hand-overs by name wants ALTER TABLE " + config.table()
                        + " ADD COLUMN note text)" + said;
            case NO_RIGHT ->
                source + " denies us a right: " + grant
                        + "; (to look, SELECT is enough; to make tables that are missing, CREATE on the"
                        + " schema and what `bellwether schema` prints)" + said;
            case NO_LOGIN -> source + ": authentication failed: check the user and the password" + said;
            case NO_ENTRY -> source + " does not let us in: check the database's name" + said;
            case READ_ONLY ->
                source
                        + " is read-only, a replica perhaps: elections need the primary; give its address, or for"
                        + " PostgreSQL all addresses and targetServerType=primary" + said;
            case UNUSABLE ->
                source + " cannot be used with the table " + config.table()
                        + ": the name is a reserved word, or its schema is missing, or the database is older than"
                        + " PostgreSQL 13, MariaDB 10.6, MySQL 8, H2 2.2 or SQLite 3.42; choose another name"
                        + " (bellwether.table), create the schema, or use a newer database" + said;
            case NO_ANSWER -> {
                var network = network(e);
                yield network.isEmpty()
                        ? source + " did not answer: nobody can be elected until it does" + said
                        : "cannot reach " + source + ": " + network + "; nobody can be elected until it answers";
            }
        };
    }
}
