package dev.bellwether.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A PostgreSQL and a broker, for the verbs of the outbox. */
public final class OutboxStage implements AutoCloseable {
    public static final Duration PATIENCE = Duration.ofSeconds(90);

    private final PostgresServer postgres = PostgresServer.start("on"); // waits for the disk, as a server should
    private final KafkaBrokers brokers = KafkaBrokers.start(1, 0, Map.of("auto.create.topics.enable", "false"));

    public String db() {
        return postgres.uri();
    }

    public int port() {
        return postgres.port();
    }

    public String bootstrap() {
        return brokers.bootstrap();
    }

    /** From now on everybody but the owner is asked for a password. */
    void demandPasswords() throws SQLException, IOException {
        try (var connection = DriverManager.getConnection(db());
                var statement = connection.createStatement();
                var file = statement.executeQuery("SHOW hba_file")) {
            file.next();
            Files.writeString(
                    Path.of(file.getString(1)),
                    "host all postgres all trust\nlocal all all trust\nhost all all all scram-sha-256\n");
            statement.execute("SELECT pg_reload_conf()");
        }
        execute("CREATE ROLE asked LOGIN PASSWORD 'so'");
        Eventually.eventually("a password is asked for", PATIENCE, () -> {
            try (var in = DriverManager.getConnection(db().replace("user=postgres", "user=asked"))) {
                return !in.isValid(1);
            } catch (SQLException e) {
                return true;
            }
        });
    }

    public void execute(String sql) throws SQLException {
        Sql.execute(db(), sql);
    }

    public long number(String sql) {
        return Sql.number(db(), sql);
    }

    public void awaitEmpty(String table) {
        Eventually.eventually(table + " is empty", PATIENCE, () -> number("SELECT count(*) FROM " + table) == 0);
    }

    public void topic(String topic, Map<String, String> settings) throws InterruptedException, ExecutionException {
        try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(topic, Optional.of(1), Optional.empty()).configs(settings)))
                    .all()
                    .get();
        }
    }

    /** Returns so many records from the beginning of a topic of one partition, and all that came with them. */
    public List<ConsumerRecord<String, String>> read(String topic, int count) {
        try (var consumer = new KafkaConsumer<>(
                Map.<String, Object>of("bootstrap.servers", bootstrap(), "isolation.level", "read_committed"),
                new StringDeserializer(),
                new StringDeserializer())) {
            var partitions = List.of(new TopicPartition(topic, 0));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            var records = new ArrayList<ConsumerRecord<String, String>>();
            Eventually.eventually(count + " records of " + topic, PATIENCE, () -> {
                consumer.poll(Duration.ofMillis(100)).forEach(records::add);
                return records.size() >= count;
            });
            return records;
        }
    }

    public static String header(ConsumerRecord<String, String> record, String name) {
        var header = record.headers().lastHeader(name);
        return header == null ? "" : new String(header.value(), UTF_8);
    }

    @Override
    public void close() {
        brokers.close();
        postgres.close();
    }
}
