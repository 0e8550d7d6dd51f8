package dev.bellwether.benchmarks.outbox;

import dev.bellwether.testkit.kafka.KafkaBrokers;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/** One PostgreSQL with durable commits, and one broker. */
final class OutboxServers implements AutoCloseable {
    static final String TOPIC = "events";
    static final int PARTITIONS = 12;

    private final EmbeddedPostgres postgres;
    private final KafkaBrokers brokers;

    private OutboxServers(EmbeddedPostgres postgres, KafkaBrokers brokers) {
        this.postgres = postgres;
        this.brokers = brokers;
    }

    static OutboxServers start() throws IOException, InterruptedException, ExecutionException, SQLException {
        var postgres = EmbeddedPostgres.builder()
                .setServerConfig("fsync", "on")
                .setServerConfig("synchronous_commit", "on")
                .setServerConfig("shared_buffers", "512MB")
                .setServerConfig("max_wal_size", "8GB")
                .setServerConfig("wal_level", "logical")
                .setServerConfig("max_connections", "100")
                .start();
        var stand = new OutboxServers(postgres, KafkaBrokers.start(1, 0, Map.of("auto.create.topics.enable", "true")));
        try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", stand.bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(TOPIC, PARTITIONS, (short) 1)))
                    .all()
                    .get();
        }
        // values that do not compress: a thousand random ones
        stand.execute(
                "CREATE TABLE payloads AS SELECT n, (SELECT string_agg(decode(md5(random()::text || n || m), 'hex'), ''::bytea)"
                        + " FROM generate_series(1, 64) m) AS value FROM generate_series(0, 999) n");
        stand.execute("CREATE UNIQUE INDEX ON payloads (n)");
        return stand;
    }

    String uri() {
        return postgres.getJdbcUrl("postgres", "postgres");
    }

    int port() {
        return postgres.getPort();
    }

    String bootstrap() {
        return brokers.bootstrap();
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(uri());
    }

    void execute(String sql) throws SQLException {
        try (var connection = connect();
                var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    long number(String sql) throws SQLException {
        try (var connection = connect();
                var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            return result.next() ? result.getLong(1) : 0;
        }
    }

    /** Returns the seconds that all processes of PostgreSQL have used. */
    double processorTime() throws SQLException {
        try (var connection = connect();
                var statement = connection.createStatement();
                var backend = statement.executeQuery("SELECT pg_backend_pid()")) {
            backend.next();
            return ProcessHandle.of(backend.getLong(1))
                    .flatMap(ProcessHandle::parent)
                    .map(ProcessorTime::ofTree)
                    .orElseThrow(() -> new IllegalStateException("the processes of PostgreSQL are not to be seen"));
        }
    }

    @Override
    public void close() throws IOException {
        brokers.close();
        postgres.close();
    }
}
