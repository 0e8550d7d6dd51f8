package dev.bellwether.sql;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.jdbc.PreferQueryMode;

/**
 * Has no statement wait for a lock longer than we wait for its answer.
 *
 * <p>Confined to the thread of its connection.
 */
final class LockLimit {
    /*
     * While somebody alters a table, or waits for a backup first, all others wait behind. We give up after a while
     * and close the connection, or the pool does; the server does not notice, and the session waits on. Each attempt
     * would leave one there, until there is none for the application.
     *
     * The limit goes with the statement: no round trip, and nothing that stays in a session, which may be another
     * client's in a moment.
     *
     * On PostgreSQL a statement takes the locks of its tables before it calls a function, so another one must set the
     * limit. The driver sends both at once, with one Sync behind them: they are one transaction, with which the setting
     * ends. Once in a transaction of several statements is enough.
     *
     * Elsewhere the server takes it as a part of the statement: MariaDB in its own kind of comment, MySQL as a hint;
     * to each, that of the other is a comment.
     */
    private static final Set<String> EXECUTIONS = Set.of("execute", "executeQuery", "executeUpdate");
    private static final Object[] NONE = {};
    private static final Duration SESSION_LIMIT = Duration.ofSeconds(4);
    /** Who has less of it would go before the server ends the wait. */
    private static final Duration LEAST_FOR_SESSION = Duration.ofMillis(4_500);

    private static final Pattern HINTED =
            Pattern.compile("(?s)(?<verb>SELECT|INSERT|UPDATE|DELETE)\\b(?<rest>.*)", Pattern.CASE_INSENSITIVE);

    private final Connection connection;
    private final boolean postgres;
    private final long millis;
    private boolean isSet; // for the transaction that is open

    private LockLimit(Connection connection, boolean postgres, Duration patience) {
        this.connection = connection;
        this.postgres = postgres;
        millis = Math.max(1, patience.toMillis() * 9 / 10);
    }

    /**
     * Limits whatever goes over a connection of ours that has a session of PostgreSQL for itself. Returns whether it is
     * one.
     */
    static boolean ofSession(Connection own) throws SQLException {
        if (!isOfPostgres(own) || Pooler.isBetween(own)) {
            return false;
        }
        try (var statement = own.createStatement()) {
            statement.execute("SET lock_timeout = " + SESSION_LIMIT.toMillis());
        }
        return true;
    }

    /** Returns whether the limit of a session ends every wait before this. */
    static boolean isEnough(Duration patience) {
        return patience.compareTo(LEAST_FOR_SESSION) >= 0;
    }

    /** Returns the connection so that what goes over it waits for locks a little shorter than this. */
    static Connection on(Connection connection, Duration patience) throws SQLException {
        return switch (connection.getMetaData().getDatabaseProductName().toLowerCase(Locale.ROOT)) {
            case "postgresql" ->
                sendsTwo(connection) ? new LockLimit(connection, true, patience).limited() : connection;
            case "mariadb", "mysql" -> new LockLimit(connection, false, patience).limited();
            default -> connection;
        };
    }

    /** Returns whether it is one of PostgreSQL's own driver, whose classes need not be there. */
    static boolean isOfPostgres(Connection connection) throws SQLException {
        try {
            return connection.isWrapperFor(PGConnection.class);
        } catch (NoClassDefFoundError otherDriver) {
            return false;
        }
    }

    /** Whether two statements can be sent at once: by PostgreSQL's own driver, unless it is told to send plain text. */
    private static boolean sendsTwo(Connection connection) throws SQLException {
        return isOfPostgres(connection)
                && connection.unwrap(PGConnection.class).getPreferQueryMode() != PreferQueryMode.SIMPLE;
    }

    private Connection limited() {
        return proxy(Connection.class, connection, (name, arguments) -> switch (name) {
            case "prepareStatement" -> arguments.length == 1 ? prepared((String) arguments[0]) : null;
            case "createStatement" -> arguments.length == 0 ? created() : null;
            case "commit", "rollback", "setAutoCommit" -> {
                isSet = false;
                yield null;
            }
            default -> null;
        });
    }

    private PreparedStatement prepared(String sql) throws SQLException {
        var statement = connection.prepareStatement(withLimit(sql));
        if (!postgres || isSet) {
            return statement;
        }
        return proxy(
                PreparedStatement.class,
                statement,
                (name, arguments) -> EXECUTIONS.contains(name) && arguments.length == 0
                        ? second(name, statement, statement.execute())
                        : null);
    }

    private Statement created() throws SQLException {
        var statement = connection.createStatement();
        return proxy(Statement.class, statement, (name, arguments) -> {
            if (!EXECUTIONS.contains(name) || arguments.length != 1) {
                return null;
            }
            var sets = postgres && !isSet;
            var rows = statement.execute(withLimit((String) arguments[0]));
            return sets ? second(name, statement, rows) : result(name, statement, rows);
        });
    }

    /** Returns the result of the statement behind the one that has set the limit. */
    private Object second(String name, Statement statement, boolean first) throws SQLException {
        isSet = first && !connection.getAutoCommit();
        return result(name, statement, statement.getMoreResults());
    }

    private static Object result(String name, Statement statement, boolean rows) throws SQLException {
        return switch (name) {
            case "executeQuery" -> statement.getResultSet();
            case "executeUpdate" -> statement.getUpdateCount();
            default -> rows;
        };
    }

    private String withLimit(String sql) {
        if (postgres) {
            return isSet ? sql : "SELECT set_config('lock_timeout', '" + millis + "', true); " + sql;
        }
        var parts = HINTED.matcher(sql);
        if (!parts.matches()) {
            return sql;
        }
        var limit = "lock_wait_timeout=" + Math.max(1, millis / 1_000); // in whole seconds
        return "/*M!100102 SET STATEMENT " + limit + " FOR */ " + parts.group("verb") + " /*+ SET_VAR(" + limit + ") */"
                + parts.group("rest");
    }

    /** What is done instead of a method; null where the method itself is to be called. */
    private interface Instead {
        @Nullable
        Object of(String method, Object[] arguments) throws SQLException;
    }

    private static <T> T proxy(Class<T> face, T target, Instead instead) {
        var made = Proxy.newProxyInstance(
                LockLimit.class.getClassLoader(), new Class<?>[] {face}, (self, method, given) -> {
                    var result = instead.of(method.getName(), given == null ? NONE : given);
                    try {
                        return result == null ? method.invoke(target, given) : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return face.cast(made);
    }
}
