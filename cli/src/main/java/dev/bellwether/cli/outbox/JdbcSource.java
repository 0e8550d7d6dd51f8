package dev.bellwether.cli.outbox;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.Bounded;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Endpoint;
import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.logging.Logger;
import javax.net.ssl.SSLException;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Connections to the database that a URI names, a new one each time. Immutable. */
final class JdbcSource implements DataSource {
    private static final Duration LOOK = Duration.ofMillis(300);
    /** What PostgreSQL says while it shuts down, and while it starts. */
    private static final String GOING_OR_COMING = "57P";

    private final ConnectUri uri;
    private final Optional<Duration> within;

    private JdbcSource(ConnectUri uri, Optional<Duration> within) {
        this.uri = uri;
        this.within = within;
    }

    static JdbcSource of(String text) {
        try {
            var uri = ConnectUri.parse(text);
            BackendOptions.refuseConnectorJ(uri);
            uri.check(); // which knows what mariadb: should be
            if (!uri.scheme().equals("jdbc")) {
                throw new UsageException(uri + " is no database: write jdbc:postgresql://host/name");
            }
            return new JdbcSource(uri, Optional.empty());
        } catch (ElectionException e) {
            throw new UsageException(String.valueOf(e.getMessage()), e);
        }
    }

    /** Returns the same, whose connections are open within this time, wait so long for each answer, and break then. */
    JdbcSource within(Duration each) {
        return new JdbcSource(uri, Optional.of(each));
    }

    ConnectUri uri() {
        return uri;
    }

    /** What is done with a connection. */
    interface Work<T> {
        T with(Connection connection) throws SQLException;
    }

    /** Does it, and says what no answer means. */
    <T> T use(Work<T> work) {
        try (var connection = getConnection()) {
            return work.with(connection);
        } catch (SQLException e) {
            throw failed(e);
        }
    }

    ElectionException failed(SQLException e) {
        var said = uri.redact(String.valueOf(e.getMessage()));
        var state = String.valueOf(e.getSQLState());
        if (state.startsWith("28") || (state.equals("08004") && said.contains("password"))) {
            return new AccessRefusedException(
                    uri + ": authentication failed: check user and password (it said: " + said + ")", e);
        }
        if (state.startsWith("08")) {
            var servers = hasAnswered(e, state) ? List.<Endpoint>of() : Endpoint.of(uri);
            return new UnavailableException(
                    "cannot reach " + uri + ": " + (servers.isEmpty() ? said : Endpoint.complaints(servers, LOOK)), e);
        }
        if (state.startsWith(GOING_OR_COMING)) {
            return new UnavailableException(uri + " does not serve now: " + said, e);
        }
        return new ElectionException(uri + " refused: " + said, e);
    }

    /** Returns whether a server is there that does not let us in, as one that does not encrypt, or has no room. */
    private static boolean hasAnswered(SQLException e, String state) {
        for (var cause : Causes.of(e)) {
            if (cause instanceof SSLException) {
                return true;
            }
        }
        return state.equals("08004");
    }

    @Override
    public Connection getConnection() throws SQLException {
        return within.isPresent() ? connect(within.get()) : connect(new Properties());
    }

    private Connection connect(Duration each) throws SQLException {
        try {
            // a driver may wait without an end for a server that accepts a connection and says nothing
            var connection =
                    new Bounded(each, () -> BackendOptions.late(uri, each)).open(() -> connect(new Properties()));
            connection.setNetworkTimeout(Runnable::run, (int) Math.min(Integer.MAX_VALUE, each.toMillis()));
            return connection;
        } catch (SQLException | RuntimeException e) {
            throw e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SQLTransientConnectionException("interrupted while connecting to " + uri, e);
        } catch (Exception e) {
            throw new SQLTransientConnectionException("no connection to " + uri, e);
        }
    }

    @Override
    public Connection getConnection(String username, String password) throws SQLException {
        var properties = new Properties();
        properties.setProperty("user", username);
        properties.setProperty("password", password);
        return connect(properties);
    }

    private Connection connect(Properties properties) throws SQLException {
        uri.filled().forEach(properties::putIfAbsent);
        return DriverManager.getConnection(uri.forDriver(), properties);
    }

    @Override
    public @Nullable PrintWriter getLogWriter() {
        return null;
    }

    @Override
    public void setLogWriter(@Nullable PrintWriter out) {}

    @Override
    public void setLoginTimeout(int seconds) {}

    @Override
    public int getLoginTimeout() {
        return 0;
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        throw new SQLFeatureNotSupportedException();
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        throw new SQLException("this wraps nothing");
    }

    @Override
    public boolean isWrapperFor(Class<?> type) {
        return false;
    }
}
