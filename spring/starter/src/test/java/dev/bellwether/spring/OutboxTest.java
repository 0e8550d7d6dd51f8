package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.outbox.Message;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import javax.sql.DataSource;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/** An application's outbox, on a real PostgreSQL and a real broker. */
@Timeout(180)
class OutboxTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @SuppressWarnings("NullAway.Init")
    private static KafkaBrokers brokers;

    private final String table = "outbox_" + UUID.randomUUID().toString().replace('-', '_');
    private final String topic = "orders-" + UUID.randomUUID();
    private final DataSource database = database();
    private final TransactionTemplate transaction = new TransactionTemplate(new DataSourceTransactionManager(database));

    @BeforeAll
    static void start() throws Exception {
        brokers = KafkaBrokers.start(1);
        create("orders");
    }

    @BeforeEach
    void createTopic() throws Exception {
        create(topic);
    }

    private static void create(String topic) throws Exception {
        try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", brokers.bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }
    }

    @AfterAll
    static void stop() {
        brokers.close();
    }

    @Test
    void whatCommitsIsPublishedAndWhatDoesNotIsNot() {
        application().run(context -> {
            var outbox = context.getBean(TransactionalOutbox.class);
            transaction.executeWithoutResult(status -> {
                outbox.stash(Message.of(topic, "order-1", "rolled back"));
                status.setRollbackOnly();
            });
            transaction.executeWithoutResult(status -> {
                outbox.stash(Message.of(topic, "order-1", "placed"));
                outbox.stash(List.of(Message.of(topic, "order-1", "paid"), Message.of(topic, "order-1", "sent")));
            });
            assertThat(read(topic, 3)).containsExactly("placed", "paid", "sent");
            var meters = new SimpleMeterRegistry();
            context.getBeansOfType(MeterBinder.class).values().forEach(binder -> binder.bindTo(meters));
            assertThat(meters.get("bellwether.outbox.published")
                            .tags("outbox", table, "shard", "0")
                            .functionCounter())
                    .satisfies(published -> assertThat(published.count()).isEqualTo(3));
            assertThat(meters.get("bellwether.outbox.leading").gauge().value()).isOne();
            Eventually.eventually(
                    "the backlog is told",
                    PATIENCE,
                    () -> meters.get("bellwether.outbox.backlog").gauge().value() == 0);
        });
    }

    @Configuration
    @EnableTransactionManagement
    @Import(Orders.class)
    static class Transactions {
        @Bean
        DataSourceTransactionManager transactionManager(DataSource database) {
            return new DataSourceTransactionManager(database);
        }

        @Bean
        JdbcTemplate jdbcTemplate(DataSource database) {
            return new JdbcTemplate(database);
        }
    }

    @Test
    void anAnnotatedMethodCommitsDataAndMessageTogether() {
        application().withUserConfiguration(Transactions.class).run(context -> {
            var jdbc = new JdbcTemplate(database);
            jdbc.execute("DROP TABLE IF EXISTS orders");
            jdbc.execute("CREATE TABLE orders (id text PRIMARY KEY)");
            var orders = context.getBean(Orders.class);
            orders.place("order-1");
            assertThatThrownBy(() -> orders.place("order-1")).isInstanceOf(DataAccessException.class);
            assertThat(read("orders", 1)).containsExactly("placed");
        });
    }

    @Test
    void stashingOutsideATransactionOfThisDataSourceIsRefused() {
        application()
                .withPropertyValues("bellwether.outbox.relay.enabled=false")
                .run(context -> {
                    assertThat(context).doesNotHaveBean(OutboxRelay.class);
                    var outbox = context.getBean(TransactionalOutbox.class);
                    var message = Message.of(topic, "k", "v");
                    assertThatThrownBy(() -> outbox.stash(message))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("@Transactional");
                    var other = new TransactionTemplate(new DataSourceTransactionManager(database()));
                    assertThatThrownBy(() -> other.executeWithoutResult(status -> outbox.stash(message)))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("DataSource");
                });
    }

    @Test
    void aRelayThatKnowsNoBrokersSaysWhatToSet() {
        application()
                .withBean("kafka", ProducerFactory.class, () -> new DefaultKafkaProducerFactory<>(Map.of()))
                .withAllowBeanDefinitionOverriding(true)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("spring.kafka.bootstrap-servers")
                        .hasMessageContaining(table));
    }

    @Test
    void anApplicationStartsWithoutItsBrokers() {
        application()
                .withPropertyValues("bellwether.outbox.relay.producer[bootstrap.servers]=127.0.0.1:1")
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    var outbox = context.getBean(TransactionalOutbox.class);
                    transaction.executeWithoutResult(status -> outbox.stash(Message.of(topic, "k", "kept")));
                    assertThat(new JdbcTemplate(database).queryForObject("SELECT count(*) FROM " + table, Long.class))
                            .isOne();
                });
        application().run(context -> assertThat(read(topic, 1)).containsExactly("kept"));
    }

    @Test
    void nothingIsMadeOfAnOutboxWithoutAName() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        BellwetherAutoConfiguration.class,
                        OutboxAutoConfiguration.class,
                        OutboxMetricsAutoConfiguration.class))
                .withBean(DataSource.class, () -> database)
                .withPropertyValues("bellwether.uri=memory:" + table)
                .run(context -> assertThat(context)
                        .doesNotHaveBean(TransactionalOutbox.class)
                        .doesNotHaveBean(OutboxRelay.class));
    }

    // tag::stash
    @Service
    static class Orders {
        private final JdbcTemplate jdbc;
        private final TransactionalOutbox outbox;

        Orders(JdbcTemplate jdbc, TransactionalOutbox outbox) {
            this.jdbc = jdbc;
            this.outbox = outbox;
        }

        @Transactional
        public void place(String order) {
            jdbc.update("INSERT INTO orders (id) VALUES (?)", order);
            outbox.stash(Message.of("orders", order, "placed")); // published if this method's transaction commits
        }
    }
    // end::stash

    private ApplicationContextRunner application() {
        return new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        BellwetherAutoConfiguration.class,
                        OutboxAutoConfiguration.class,
                        OutboxMetricsAutoConfiguration.class))
                .withBean(DataSource.class, () -> database)
                .withBean(
                        "kafka",
                        ProducerFactory.class,
                        () -> new DefaultKafkaProducerFactory<>(Map.of(
                                "bootstrap.servers",
                                brokers.bootstrap(),
                                "acks",
                                "1",
                                "key.serializer",
                                "org.apache.kafka.common.serialization.StringSerializer")))
                .withPropertyValues(
                        "bellwether.uri=memory:" + table,
                        "bellwether.outbox.name=" + table,
                        "bellwether.outbox.table=" + table,
                        "bellwether.outbox.create-tables=true");
    }

    private List<String> read(String topic, int count) {
        var values = new ArrayList<String>();
        try (var consumer = new KafkaConsumer<>(
                Map.of(
                        "bootstrap.servers",
                        brokers.bootstrap(),
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
                consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(record.value()));
                return values.size() >= count;
            });
        }
        return values;
    }

    private static DataSource database() {
        var database = new PGSimpleDataSource();
        database.setUrl(PostgresServer.shared().uri());
        return database;
    }
}
