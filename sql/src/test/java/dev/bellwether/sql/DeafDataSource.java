package dev.bellwether.sql;

import dev.bellwether.fixtures.LendingDataSource;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** Lends connections on which LISTEN succeeds and nothing ever arrives, as through a pooler that shares them. */
final class DeafDataSource extends LendingDataSource {
    private final DataSource source;
    private final Set<Connection> listening = ConcurrentHashMap.newKeySet();

    DeafDataSource(DataSource source) {
        this.source = source;
    }

    @Override
    public Connection getConnection() throws SQLException {
        var connection = source.getConnection();
        return deaf(Connection.class, connection, connection);
    }

    /** Returns over how many connections somebody has waited for what is announced. */
    int listened() {
        return listening.size();
    }

    private <T> T deaf(Class<T> face, T real, Connection connection) {
        return face.cast(Proxy.newProxyInstance(face.getClassLoader(), new Class<?>[] {face}, (proxy, method, args) -> {
            if (method.getName().equals("unwrap")) {
                return deaf(PGConnection.class, connection.unwrap(PGConnection.class), connection);
            }
            if (method.getName().equals("getNotifications")) {
                listening.add(connection);
                Thread.sleep((Integer) args[0]);
                return new PGNotification[0];
            }
            try {
                return method.invoke(real, args);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }));
    }
}
