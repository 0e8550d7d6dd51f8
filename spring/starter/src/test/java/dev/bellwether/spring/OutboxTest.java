package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.Elections;
import dev.bellwether.outbox.Message;
import dev.bellwether.outbox.Outbox;
import dev.bellwether.outbox.OutboxForm;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.OutboxSchema;
import dev.bellwether.outbox.OutboxTable;
import dev.bellwether.outbox.RelayEvent;
import dev.bellwether.spring.OutboxAutoConfiguration.RelayCustomizer;
import dev.bellwether.spring.OutboxAutoConfiguration.Table;
import dev.bellwether.testkit.Eventually;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.sql.init.dependency.AbstractBeansOfTypeDatabaseInitializerDetector;
import org.springframework.boot.sql.init.dependency.DatabaseInitializationDependencyConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.stereotype.Service;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.jta.JtaTransactionManager;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** An application's outbox, on a real PostgreSQL and a real broker. */
@Timeout(180)
class OutboxTest {
    private final OutboxRig rig = new OutboxRig();
    private final String table = rig.table;
    private final String topic = rig.topic;
    private final TransactionTemplate transaction = rig.transaction;

    @Test
    void whatCommitsIsPublishedAndWhatDoesNotIsNot() {
        rig.application().run(context -> {
            var outbox = context.getBean(TransactionalOutbox.class);
            transaction.executeWithoutResult(status -> {
                outbox.stash(Message.of(topic, "order-1", "rolled back"));
                status.setRollbackOnly();
            });
            transaction.executeWithoutResult(status -> {
                outbox.stash(Message.of(topic, "order-1", "placed"));
                outbox.stash(List.of(Message.of(topic, "order-1", "paid"), Message.of(topic, "order-1", "sent")));
            });
            assertThat(rig.values(topic, 3)).containsExactly("placed", "paid", "sent");
            var meters = new SimpleMeterRegistry();
            context.getBeansOfType(MeterBinder.class).values().forEach(binder -> binder.bindTo(meters));
            assertThat(meters.get("bellwether.outbox.published")
                            .tags("outbox", table, "shard", "0")
                            .functionCounter())
                    .satisfies(published -> assertThat(published.count()).isEqualTo(3));
            assertThat(meters.get("bellwether.outbox.leading").gauge().value()).isOne();
            Eventually.eventually(
                    "the backlog is told",
                    Duration.ofSeconds(60),
                    () -> meters.get("bellwether.outbox.backlog").gauge().value() == 0);
        });
    }

    @Test
    void switchedOffNoRelayStandsForElectionsOfTheApplicationsOwn() {
        try (var elections = Elections.connect("memory:" + UUID.randomUUID())) {
            rig.application()
                    .withPropertyValues("bellwether.enabled=false")
                    .withBean("own", Elections.class, () -> elections)
                    .run(context -> {
                        assertThat(context).hasNotFailed().doesNotHaveBean(OutboxRelay.class);
                        transaction.executeWithoutResult(status -> context.getBean(TransactionalOutbox.class)
                                .stash(Message.of(topic, "order-1", "placed")));
                        assertThat(rig.rows()).isOne();
                    });
        }
    }

    @Test
    void tableIsMadeInTheFormThatIsSet() {
        rig.application()
                .withPropertyValues("bellwether.outbox.form=rotated", "bellwether.outbox.relay.enabled=false")
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    try (var connection = rig.database.getConnection()) {
                        assertThat(OutboxSchema.form(connection, OutboxTable.named(table)))
                                .contains(OutboxForm.ROTATED);
                    }
                });
    }

    private boolean isThere(String name) {
        return Boolean.TRUE.equals(new JdbcTemplate(rig.database)
                .queryForObject("SELECT to_regclass('" + name + "') IS NOT NULL", Boolean.class));
    }

    @Test
    void relayMakesNoTablesUnlessTheyAreToBeMade() {
        var troubles = new AtomicReference<RelayEvent>();
        rig.application()
                .withPropertyValues("bellwether.outbox.create-tables=false")
                .withBean(
                        RelayCustomizer.class,
                        () -> relay -> relay.listener(event -> {
                            if (event instanceof RelayEvent.Faulted) {
                                troubles.set(event);
                            }
                        }))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    Eventually.eventually(
                            "it has tried", Duration.ofSeconds(60), () -> isThere(table) || troubles.get() != null);
                    assertThat(isThere(table)).isFalse();
                });
    }

    /** One that is dropped while the application runs, say. */
    @Test
    void relayMakesATableThatIsMissingInTheFormThatIsSet() {
        rig.application()
                .withPropertyValues("bellwether.outbox.form=rotated")
                .withBean(RelayCustomizer.class, () -> relay -> {
                    // before the relay begins, and after the application has made it
                    assertThat(isThere(table)).isTrue();
                    new JdbcTemplate(rig.database)
                            .execute("DROP TABLE " + table + ", " + table + "_relay, " + table + "_done CASCADE");
                })
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    Eventually.eventually("it is made", Duration.ofSeconds(60), () -> isThere(table + "_relay"));
                    try (var connection = rig.database.getConnection()) {
                        assertThat(OutboxSchema.form(connection, OutboxTable.named(table)))
                                .contains(OutboxForm.ROTATED);
                    }
                });
    }

    /** As Flyway and Liquibase are. */
    static final class Migrations {
        Migrations(DataSource database, String... missing) {
            for (var name : missing) {
                var there = new JdbcTemplate(database)
                        .queryForObject("SELECT to_regclass('" + name + "') IS NOT NULL", Boolean.class);
                assertThat(there).as("%s is there before the migrations", name).isFalse();
            }
        }
    }

    /** As the auto-configurations of Flyway and Liquibase have it. */
    @Configuration(proxyBeanMethods = false)
    @Import(DatabaseInitializationDependencyConfigurer.class)
    static class Migrated {}

    /** Tells Spring Boot which beans make the database what it is. */
    static final class MigrationsDetector extends AbstractBeansOfTypeDatabaseInitializerDetector {
        @Override
        protected Set<Class<?>> getDatabaseInitializerBeanTypes() {
            return Set.of(Migrations.class);
        }
    }

    @Test
    void migrationsOfTheApplicationComeBeforeOurTables() {
        var elections = table.replace("outbox_", "e_");
        rig.on(Contexts.plain())
                .withUserConfiguration(Migrated.class)
                .withPropertyValues(
                        "bellwether.client=sql",
                        "bellwether.sql.table=" + elections,
                        "bellwether.sql.create-table=true")
                .withBean(
                        "migrations",
                        Migrations.class,
                        () -> new Migrations(rig.database, table, elections),
                        definition -> definition.setLazyInit(true)) // else it may come first by chance
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(isThere(table)).isTrue();
                    assertThat(context.getBeanFactory().containsSingleton("migrations"))
                            .isTrue();
                    for (var bean : List.of("bellwetherSql", "bellwetherOutboxTable", "bellwetherOutboxRelay")) {
                        assertThat(context.getBeanFactory()
                                        .getBeanDefinition(bean)
                                        .getDependsOn())
                                .contains("migrations");
                    }
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
        OutboxRig.create("orders");
        rig.application().withUserConfiguration(Transactions.class).run(context -> {
            var jdbc = new JdbcTemplate(rig.database);
            jdbc.execute("DROP TABLE IF EXISTS orders");
            jdbc.execute("CREATE TABLE orders (id text PRIMARY KEY)");
            var orders = context.getBean(Orders.class);
            orders.place("order-1");
            assertThatThrownBy(() -> orders.place("order-1")).isInstanceOf(DataAccessException.class);
            assertThat(rig.values("orders", 1)).containsExactly("placed");
        });
    }

    @Test
    void stashingOutsideATransactionOfThisDataSourceIsRefused() {
        rig.application()
                .withPropertyValues("bellwether.outbox.relay.enabled=false")
                .run(context -> {
                    assertThat(context).doesNotHaveBean(OutboxRelay.class);
                    var outbox = context.getBean(TransactionalOutbox.class);
                    var message = Message.of(topic, "k", "v");
                    assertThatThrownBy(() -> outbox.stash(message))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("@Transactional");
                    var other = new TransactionTemplate(new DataSourceTransactionManager(OutboxRig.database()));
                    assertThatThrownBy(() -> other.executeWithoutResult(status -> outbox.stash(message)))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("DataSource");
                });
    }

    private HikariDataSource poolWithoutAutoCommit() {
        var settings = new HikariConfig();
        settings.setDataSource(rig.database);
        settings.setAutoCommit(false);
        return new HikariDataSource(settings);
    }

    @Test
    void aPoolWithoutAutoCommitTakesNoMessagesInATransactionOfAnotherDataSource() {
        var message = Message.of(topic, "k", "v");
        try (var pool = poolWithoutAutoCommit()) {
            rig.application()
                    .withPropertyValues("bellwether.outbox.relay.enabled=false")
                    .run(context -> {
                        var outbox = new TransactionalOutbox(
                                pool, Outbox.of(context.getBean(Table.class).named()), () -> {});
                        var own = new TransactionTemplate(new DataSourceTransactionManager(pool));
                        own.executeWithoutResult(status -> outbox.stash(message));
                        assertThat(rig.rows()).isOne();

                        var other = new TransactionTemplate(new DataSourceTransactionManager(OutboxRig.database()));
                        other.executeWithoutResult(status -> {
                            refuses(outbox, message);
                            refuses(outbox, message); // once more
                            own.executeWithoutResult(inner -> outbox.stash(message));
                            new JdbcTemplate(pool).queryForObject("SELECT 1", Integer.class);
                            refuses(outbox, message); // it has a connection by now, which nobody commits
                        });
                        assertThat(rig.rows()).isEqualTo(2);

                        var none = new TransactionTemplate(new NoResources());
                        none.executeWithoutResult(status -> {
                            new JdbcTemplate(pool).queryForObject("SELECT 1", Integer.class);
                            refuses(outbox, message);
                        });
                        assertThat(rig.rows()).isEqualTo(2);
                    });
        }
    }

    @Test
    void aPoolWithoutAutoCommitGetsItsTables() {
        try (var pool = poolWithoutAutoCommit()) {
            rig.application()
                    .withBean("pool", DataSource.class, () -> pool, definition -> definition.setPrimary(true))
                    .withPropertyValues("bellwether.outbox.relay.enabled=false")
                    .run(context -> {
                        assertThat(context).hasNotFailed();
                        assertThat(rig.rows()).isZero();
                    });
        }
    }

    /** The manager is never made, so nothing of JTA need be on the class path. */
    @Test
    void withJtaAConnectionThatIsBorrowedLateIsOfTheTransaction() {
        try (var pool = poolWithoutAutoCommit()) { // as one that has enlisted
            rig.application()
                    .withBean("pool", DataSource.class, () -> pool, definition -> definition.setPrimary(true))
                    .withInitializer(context -> context.addBeanFactoryPostProcessor(OutboxTest::addJta))
                    .withPropertyValues("bellwether.outbox.relay.enabled=false")
                    .run(context -> {
                        assertThat(context).hasNotFailed();
                        var outbox = context.getBean(TransactionalOutbox.class);
                        var transaction = new TransactionTemplate(new NoResources());
                        transaction.executeWithoutResult(status -> {
                            outbox.stash(Message.of(topic, "k", "v"));
                            refuses(outbox.withJta(false), Message.of(topic, "k", "v"));
                        });
                    });
        }
    }

    private static void addJta(ConfigurableListableBeanFactory beans) {
        var definition = new RootBeanDefinition(JtaTransactionManager.class);
        definition.setLazyInit(true);
        ((BeanDefinitionRegistry) beans).registerBeanDefinition("jta", definition);
    }

    private static void refuses(TransactionalOutbox outbox, Message message) {
        assertThatThrownBy(() -> outbox.stash(message))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("DataSource");
    }

    /** Such as one of Kafka or of JMS: has a transaction, and none of a database. */
    private static class NoResources extends AbstractPlatformTransactionManager {
        private static final long serialVersionUID = 1;

        @Override
        protected Object doGetTransaction() {
            return new Object();
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {}

        @Override
        protected void doCommit(DefaultTransactionStatus status) {}

        @Override
        protected void doRollback(DefaultTransactionStatus status) {}
    }

    @Test
    void aRelayThatKnowsNoBrokersSaysWhatToSet() {
        rig.application()
                .withBean("kafka", ProducerFactory.class, () -> new DefaultKafkaProducerFactory<>(Map.of()))
                .withAllowBeanDefinitionOverriding(true)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("spring.kafka.bootstrap-servers")
                        .hasMessageContaining(table));
    }

    @Test
    void anApplicationStartsWithoutItsBrokers() {
        rig.application()
                .withPropertyValues("bellwether.outbox.relay.producer[bootstrap.servers]=127.0.0.1:1")
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    var outbox = context.getBean(TransactionalOutbox.class);
                    transaction.executeWithoutResult(status -> outbox.stash(Message.of(topic, "k", "kept")));
                    assertThat(rig.rows()).isOne();
                });
        rig.application().run(context -> assertThat(rig.values(topic, 1)).containsExactly("kept"));
    }

    @Test
    void anApplicationThatMakesItsBeansLatePublishesFromTheStart() {
        rig.application()
                .withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                .run(context -> assertThat(context.getBeanFactory().getSingleton("bellwetherOutboxRelay"))
                        .isInstanceOf(OutboxRelay.class));
    }

    @Test
    void nothingIsMadeOfAnOutboxWithoutAName() {
        Contexts.plain()
                .withBean(DataSource.class, () -> rig.database)
                .withPropertyValues("bellwether.uri=memory:" + table)
                .run(context -> assertThat(context)
                        .doesNotHaveBean(TransactionalOutbox.class)
                        .doesNotHaveBean(OutboxRelay.class));
    }

    @Test
    void stashingBehindTheCommitIsRefused() {
        rig.application()
                .withPropertyValues("bellwether.outbox.relay.enabled=false")
                .run(context -> {
                    var outbox = context.getBean(TransactionalOutbox.class);
                    var message = Message.of(topic, "k", "v");
                    assertThatThrownBy(() -> transaction.executeWithoutResult(status -> {
                                outbox.stash(message);
                                TransactionSynchronizationManager.registerSynchronization(
                                        after(() -> outbox.stash(message), () -> {}));
                            }))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("after the commit")
                            .hasMessageContaining("REQUIRES_NEW");
                    assertThat(rig.rows()).isOne();
                    var refused = new AtomicReference<RuntimeException>();
                    transaction.executeWithoutResult(status ->
                            TransactionSynchronizationManager.registerSynchronization(after(() -> {}, () -> {
                                try {
                                    outbox.stash(message);
                                } catch (RuntimeException e) {
                                    refused.set(e);
                                }
                            })));
                    assertThat(refused.get()).hasMessageContaining("outside a transaction");
                    assertThat(rig.rows()).isOne();
                });
    }

    private static TransactionSynchronization after(Runnable commit, Runnable completion) {
        return new TransactionSynchronization() {
            @Override
            public void afterCommit() {
                commit.run();
            }

            @Override
            public void afterCompletion(int status) {
                completion.run();
            }
        };
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
}
