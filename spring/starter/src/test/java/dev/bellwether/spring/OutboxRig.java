package dev.bellwether.spring;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import javax.sql.DataSource;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.transaction.support.TransactionTemplate;

/** An application with an outbox of its own, and a topic, on a real PostgreSQL and a real broker. */
final class OutboxRig {
    static final Duration PATIENCE = Duration.ofSeconds(60);
    private static @Nullable KafkaBrokers shared; // ends with this JVM

    final String table = "outbox_" + UUID.randomUUID().toString().replace('-', '_');
    final String topic = "orders-" + UUID.randomUUID();
    final DataSource database = database();
    final TransactionTemplate transaction = new TransactionTemplate(new DataSourceTransactionManager(database));

    OutboxRig() {
        create(topic);
    }

    static synchronized KafkaBrokers brokers() {
        if (shared == null) {
            shared = KafkaBrokers.start(1);
        }
        return shared;
    }

    static DataSource database() {
        var database = new PGSimpleDataSource();
        database.setUrl(PostgresServer.shared().uri());
        return database;
    }

    static void create(String topic) {
        try (var admin = Admin.create(
                Map.<String, Object>of("bootstrap.servers", brokers().bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        } catch (ExecutionException | InterruptedException e) {
            throw new IllegalStateException("no topic " + topic, e);
        }
    }

    /** Returns one whose elections are in memory. */
    ApplicationContextRunner application() {
        return on(Contexts.plain()).withPropertyValues("bellwether.uri=memory:" + table);
    }

    /** Gives an application what the outbox needs, but for elections. */
    ApplicationContextRunner on(ApplicationContextRunner application) {
        return application
                .withBean(DataSource.class, () -> database)
                .withBean(
                        "kafka",
                        ProducerFactory.class,
                        () -> new DefaultKafkaProducerFactory<>(Map.of(
                                "bootstrap.servers",
                                brokers().bootstrap(),
                                "acks",
                                "1",
                                "key.serializer",
                                "org.apache.kafka.common.serialization.StringSerializer")))
                .withPropertyValues(
                        "bellwether.outbox.name=" + table,
                        "bellwether.outbox.table=" + table,
                        "bellwether.outbox.create-tables=true",
                        "topic.of.orders=" + topic);
    }

    long rows() {
        var rows = new JdbcTemplate(database).queryForObject("SELECT count(*) FROM " + table, Long.class);
        return rows == null ? -1 : rows;
    }

    /** Reads so many records at least, from the first on. */
    List<ConsumerRecord<String, String>> read(String topic, int count) {
        var records = new ArrayList<ConsumerRecord<String, String>>();
        try (var consumer = new KafkaConsumer<>(
                Map.of(
                        "bootstrap.servers",
                        brokers().bootstrap(),
                        "group.id",
                        table,
                        "auto.offset.reset",
                        "earliest",
                        "isolation.level",
                        "read_committed"),
                new StringDeserializer(),
                new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            Eventually.eventually(count + " are read", PATIENCE, () -> {
                consumer.poll(Duration.ofMillis(100)).forEach(records::add);
                return records.size() >= count;
            });
        }
        return records;
    }

    List<String> values(String topic, int count) {
        return read(topic, count).stream().map(ConsumerRecord::value).toList();
    }
}
