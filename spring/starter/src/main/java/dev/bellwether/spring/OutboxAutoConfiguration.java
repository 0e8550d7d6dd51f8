package dev.bellwether.spring;

import dev.bellwether.Elections;
import dev.bellwether.outbox.Message;
import dev.bellwether.outbox.Outbox;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.OutboxSchema;
import dev.bellwether.outbox.OutboxTable;
import dev.bellwether.outbox.RelayConfig;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import javax.sql.DataSource;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.transaction.jta.JtaTransactionManager;

/** An outbox in the application's database, and a relay that publishes it to the application's Kafka. */
@AutoConfiguration(after = BellwetherAutoConfiguration.class)
@ConditionalOnClass(name = {"dev.bellwether.outbox.OutboxRelay", "org.springframework.jdbc.core.JdbcTemplate"})
@ConditionalOnSingleCandidate(DataSource.class)
@ConditionalOnProperty(prefix = "bellwether.outbox", name = "name")
@EnableConfigurationProperties(OutboxProperties.class)
@Import({
    OutboxAutoConfiguration.Kafka.class,
    EventConfigurations.Events.class,
    EventConfigurations.Jackson3.class,
    EventConfigurations.Jackson2.class
})
public class OutboxAutoConfiguration {
    /** Settings of the relay that the application makes in code, after those of the properties. */
    @FunctionalInterface
    public interface RelayCustomizer {
        /** Changes what is to be other than the properties say. */
        void customize(RelayConfig.Builder relay);
    }

    /** What messages of {@linkplain OutboxEvent events} have beyond key and value: headers, say. */
    @FunctionalInterface
    public interface MessageCustomizer {
        /** Adds to the message of an event. */
        void customize(Object event, Message.Builder message);
    }

    /** Properties of a client of Kafka, from wherever the application has them. */
    record KafkaSettings(Map<String, Object> properties) {}

    /** The table that messages are written into, made if it was to be. */
    record Table(OutboxTable named) {}

    @Bean
    @ConditionalOnMissingBean
    @DependsOnDatabaseInitialization
    Table bellwetherOutboxTable(DataSource dataSource, OutboxProperties properties) {
        var table = OutboxTable.named(properties.getTable());
        if (properties.isCreateTables()) {
            new JdbcTemplate(dataSource).execute((ConnectionCallback<Boolean>) connection -> {
                var commits = connection.getAutoCommit();
                connection.setAutoCommit(true); // a pool may have it off, and nobody would commit the tables
                try {
                    OutboxSchema.create(connection, table, properties.getForm());
                } finally {
                    connection.setAutoCommit(commits);
                }
                return true;
            });
        }
        return new Table(table);
    }

    @Bean
    @ConditionalOnMissingBean
    TransactionalOutbox bellwetherOutbox(
            DataSource dataSource, Table table, ObjectProvider<OutboxRelay> relays, ListableBeanFactory beans) {
        var relay = relays.getIfAvailable();
        return new TransactionalOutbox(dataSource, Outbox.of(table.named()), relay == null ? () -> {} : relay::poke)
                .withJta(beans.getBeanNamesForType(JtaTransactionManager.class, true, false).length > 0);
    }

    @Bean
    @ConditionalOnMissingBean
    RelayTroubles bellwetherRelayTroubles() {
        return new RelayTroubles();
    }

    @Bean
    @DependsOnDatabaseInitialization
    @ConditionalOnMissingBean
    @ConditionalOnBean(Candidacies.class) // not Elections: an application may have those and stand in none
    @ConditionalOnProperty(prefix = "bellwether.outbox.relay", name = "enabled", matchIfMissing = true)
    @Lazy(false) // it publishes, whether or not anything asks for it
    OutboxRelay bellwetherOutboxRelay(
            DataSource dataSource,
            Table table,
            Elections elections,
            OutboxProperties properties,
            RelayTroubles troubles,
            ObjectProvider<KafkaSettings> kafka,
            ObjectProvider<RelayCustomizer> customizers) {
        var settings = properties.getRelay();
        var producer = new HashMap<String, Object>();
        kafka.ifAvailable(one -> producer.putAll(one.properties()));
        producer.putAll(settings.getProducer());
        if (!producer.containsKey("bootstrap.servers")) {
            throw new IllegalStateException("the relay of outbox \"" + properties.getName()
                    + "\" knows no brokers: set spring.kafka.bootstrap-servers, or"
                    + " bellwether.outbox.relay.producer[bootstrap.servers], or bellwether.outbox.relay.enabled=false"
                    + " where another process publishes");
        }
        var relay = RelayConfig.named(String.valueOf(properties.getName()))
                .table(table.named())
                .producer(producer)
                .createTables(properties.isCreateTables())
                .form(properties.getForm())
                .listener(troubles);
        Optional.ofNullable(settings.getShards()).ifPresent(relay::shards);
        Optional.ofNullable(settings.getLease()).ifPresent(relay::lease);
        Optional.ofNullable(settings.getOnce()).ifPresent(relay::once);
        customizers.orderedStream().forEach(customizer -> customizer.customize(relay));
        return OutboxRelay.start(dataSource, relay.build(), elections);
    }

    /** The producer's settings, as Spring makes them of {@code spring.kafka} and {@code KafkaConnectionDetails}. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.kafka.core.ProducerFactory")
    static class Kafka {
        @Bean
        KafkaSettings bellwetherKafkaSettings(ObjectProvider<ProducerFactory<?, ?>> producers) {
            var all = new HashMap<String, Object>();
            producers.ifUnique(factory -> all.putAll(factory.getConfigurationProperties()));
            RelayConfig.producerPropertiesOfTheRelay().forEach(all::remove);
            all.remove("client.id"); // each of the relay's producers has its own
            return new KafkaSettings(all);
        }
    }
}
