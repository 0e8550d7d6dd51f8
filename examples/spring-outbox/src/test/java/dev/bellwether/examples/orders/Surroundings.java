package dev.bellwether.examples.orders;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** A database of its own on a real PostgreSQL, and a real broker with the topic of orders. */
final class Surroundings implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String database = "orders_" + UUID.randomUUID().toString().replace('-', '_');
    private final KafkaBrokers brokers = KafkaBrokers.start(1);

    Surroundings() {
        try (var connection =
                        DriverManager.getConnection(PostgresServer.shared().uri());
                var statement = connection.createStatement();
                var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", brokers.bootstrap()))) {
            statement.execute("CREATE DATABASE " + database);
            admin.createTopics(List.of(new NewTopic("orders", 1, (short) 1)))
                    .all()
                    .get();
        } catch (SQLException | ExecutionException | InterruptedException e) {
            brokers.close();
            throw new IllegalStateException("no surroundings", e);
        }
    }

    void killBroker() {
        brokers.broker(1).kill();
    }

    void startBroker() {
        brokers.broker(1).start();
    }

    String uri() {
        return PostgresServer.shared().uri().replace("/postgres?", '/' + database + '?');
    }

    /** Starts the application, with more beans of these classes. */
    ConfigurableApplicationContext start(List<Class<?>> beans, String... settings) {
        var given = Stream.of(
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--spring.datasource.url=" + uri(),
                "--spring.kafka.bootstrap-servers=" + brokers.bootstrap(),
                "--bellwether.outbox.relay.lease=3s",
                "--management.endpoint.health.show-details=always");
        var sources = Stream.concat(Stream.of(OrdersApplication.class), beans.stream());
        return new SpringApplicationBuilder(sources.toArray(Class<?>[]::new))
                .run(Stream.concat(given, Arrays.stream(settings)).toArray(String[]::new));
    }

    /** Reads committed records from the first on, up to that of this key. */
    List<ConsumerRecord<String, String>> readUpTo(String key) {
        var records = new ArrayList<ConsumerRecord<String, String>>();
        try (var consumer = new KafkaConsumer<>(
                Map.of(
                        "bootstrap.servers",
                        brokers.bootstrap(),
                        "group.id",
                        UUID.randomUUID().toString(),
                        "auto.offset.reset",
                        "earliest",
                        "isolation.level",
                        "read_committed"),
                new StringDeserializer(),
                new StringDeserializer())) {
            consumer.subscribe(List.of("orders"));
            Eventually.eventually(key + " is read", PATIENCE, () -> {
                consumer.poll(Duration.ofMillis(100)).forEach(records::add);
                return records.stream().anyMatch(record -> record.key().equals(key));
            });
        }
        return records;
    }

    List<String> keysUpTo(String key) {
        return readUpTo(key).stream().map(ConsumerRecord::key).toList();
    }

    @Override
    public void close() {
        brokers.close();
    }
}
