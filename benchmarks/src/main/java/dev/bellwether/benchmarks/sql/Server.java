package dev.bellwether.benchmarks.sql;

import dev.bellwether.testkit.servers.Ports;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;

/** A PostgreSQL with durable commits, which counts statements. */
final class Server implements AutoCloseable {
    private final EmbeddedPostgres postgres;

    private Server(EmbeddedPostgres postgres) {
        this.postgres = postgres;
    }

    static Server start() throws IOException, SQLException {
        var server = new Server(EmbeddedPostgres.builder()
                .setPort(Ports.free())
                .setPGStartupWait(Duration.ofSeconds(60))
                .setServerConfig("fsync", "on")
                .setServerConfig("synchronous_commit", "on")
                .setServerConfig("max_connections", "300")
                .setServerConfig("shared_preload_libraries", "pg_stat_statements")
                .start());
        server.execute("CREATE EXTENSION pg_stat_statements");
        server.execute(
                "CREATE TABLE INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL, CLIENT_ID CHAR(36),"
                        + " CREATED_DATE TIMESTAMP NOT NULL, EXPIRED_AFTER TIMESTAMP NOT NULL, CONSTRAINT INT_LOCK_PK PRIMARY KEY (LOCK_KEY, REGION))");
        server.execute("CREATE TABLE shedlock (name VARCHAR(64) NOT NULL PRIMARY KEY, lock_until TIMESTAMP NOT NULL,"
                + " locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL)");
        return server;
    }

    /** Returns how to reach one by this port, without time-outs of the driver: each has those of its own. */
    static String plainUri(int port) {
        return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres";
    }

    int port() {
        return postgres.getPort();
    }

    /**
     * Returns how many statements there were since the last call, by this server's own count; BEGIN and COMMIT count
     * too.
     */
    long statements() throws SQLException {
        try (var connection = DriverManager.getConnection(SqlContestant.uri(port()));
                var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT coalesce(sum(calls), 0) FROM pg_stat_statements"
                        + " WHERE query NOT LIKE '%pg_stat_statements%'")) {
            result.next();
            var count = result.getLong(1);
            statement.execute("SELECT pg_stat_statements_reset()");
            return count;
        }
    }

    private void execute(String sql) throws SQLException {
        try (var connection = DriverManager.getConnection(SqlContestant.uri(port()));
                var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Override
    public void close() throws IOException {
        postgres.close();
    }
}
