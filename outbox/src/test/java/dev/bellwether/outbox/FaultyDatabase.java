package dev.bellwether.outbox;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Optional;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A database with something done to a relay at certain statements: "acquire", "read", "report", "delete" and "park". A fault
 * fails the statement by an {@link java.io.UncheckedIOException}.
 */
final class FaultyDatabase {
    private FaultyDatabase() {}

    static DataSource of(DataSource database, FaultyProducer.Fault fault) {
        return proxy(DataSource.class, (method, arguments) -> {
            var result = call(database, method, arguments);
            return result instanceof Connection connection ? of(connection, fault) : result;
        });
    }

    private static Connection of(Connection connection, FaultyProducer.Fault fault) {
        return proxy(Connection.class, (method, arguments) -> {
            var result = call(connection, method, arguments);
            return result instanceof PreparedStatement statement && arguments != null
                    ? of(statement, kind(String.valueOf(arguments[0])), fault)
                    : result;
        });
    }

    private static PreparedStatement of(
            PreparedStatement statement, Optional<String> kind, FaultyProducer.Fault fault) {
        return proxy(PreparedStatement.class, (method, arguments) -> {
            if (kind.isEmpty() || !method.getName().startsWith("execute")) {
                return call(statement, method, arguments);
            }
            try {
                fault.before(kind.get());
                var result = call(statement, method, arguments);
                fault.after(kind.get());
                return result;
            } catch (java.io.UncheckedIOException e) {
                throw new SQLException("planted", "08006", e);
            }
        });
    }

    private static Optional<String> kind(String sql) {
        if (sql.contains("DELETE FROM") || sql.contains("_done (from_id")) {
            return Optional.of("delete");
        }
        if (sql.startsWith("INSERT INTO") && sql.contains("_parked (")) {
            return Optional.of("park");
        }
        if (sql.startsWith("INSERT INTO") && sql.contains("epoch + 1")) {
            return Optional.of("acquire");
        }
        if (sql.startsWith("UPDATE") && sql.contains("_relay")) {
            return Optional.of("report");
        }
        if (sql.contains("pg_try_advisory_lock(")) {
            return Optional.of("idle");
        }
        return sql.contains("ORDER BY id LIMIT") && sql.contains("CASE WHEN") ? Optional.of("read") : Optional.empty();
    }

    interface Handler {
        @Nullable
        Object on(Method method, Object @Nullable [] arguments) throws Throwable;
    }

    static <T> T proxy(Class<T> type, Handler handler) {
        return type.cast(Proxy.newProxyInstance(
                FaultyDatabase.class.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> handler.on(method, arguments)));
    }

    static @Nullable Object call(Object target, Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
