package dev.bellwether.spring;

import dev.bellwether.kafka.KafkaElections;
import dev.bellwether.nats.NatsConfig;
import dev.bellwether.nats.NatsElections;
import dev.bellwether.sql.SqlConfig;
import dev.bellwether.sql.SqlElections;
import dev.bellwether.zookeeper.ZooKeeperConfig;
import dev.bellwether.zookeeper.ZooKeeperElections;
import io.nats.client.Connection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import javax.sql.DataSource;
import org.apache.curator.framework.CuratorFramework;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The clients of an application that elections can be held over, each if its module is there. */
final class ClientConfigurations {
    // By name, since a class that is not there takes the whole annotation with it where a configuration is read by
    // reflection.
    private static final String CURATOR = "org.apache.curator.framework.CuratorFramework";
    private static final String KAFKA3 = "org.springframework.boot.autoconfigure.kafka.KafkaProperties";
    private static final String KAFKA4 = "org.springframework.boot.kafka.autoconfigure.KafkaProperties";

    private ClientConfigurations() {}

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "dev.bellwether.sql.SqlElections")
    @ConditionalOnSingleCandidate(DataSource.class)
    static class Sql {
        @Bean
        ElectionsSource bellwetherSql(DataSource dataSource, BellwetherProperties properties) {
            var settings = properties.getSql();
            var builder = SqlConfig.builder().createTable(settings.isCreateTable());
            Optional.ofNullable(settings.getTable()).ifPresent(builder::table);
            return new ElectionsSource("sql", config -> SqlElections.using(dataSource, builder.build(), config));
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = {"dev.bellwether.nats.NatsElections", "io.nats.client.Connection"})
    @ConditionalOnSingleCandidate(type = "io.nats.client.Connection")
    static class Nats {
        @Bean
        ElectionsSource bellwetherNats(Connection connection, BellwetherProperties properties) {
            var builder = NatsConfig.builder();
            Optional.ofNullable(properties.getNats().getBucket()).ifPresent(builder::bucket);
            return new ElectionsSource("nats", config -> NatsElections.using(connection, builder.build(), config));
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = {"dev.bellwether.zookeeper.ZooKeeperElections", CURATOR})
    @ConditionalOnSingleCandidate(type = CURATOR)
    static class ZooKeeper {
        @Bean
        ElectionsSource bellwetherZooKeeper(CuratorFramework client, BellwetherProperties properties) {
            var builder = ZooKeeperConfig.builder();
            Optional.ofNullable(properties.getZookeeper().getRoot()).ifPresent(builder::root);
            return new ElectionsSource(
                    "zookeeper", config -> ZooKeeperElections.using(client, builder.build(), config));
        }
    }

    /** Spring Boot 3. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = {"dev.bellwether.kafka.KafkaElections", KAFKA3})
    @ConditionalOnSingleCandidate(type = KAFKA3)
    static class Kafka3 {
        @Bean
        ElectionsSource bellwetherKafka(
                org.springframework.boot.autoconfigure.kafka.KafkaProperties kafka,
                ObjectProvider<SslBundles> bundles,
                BellwetherProperties properties) {
            return kafka(kafka.buildAdminProperties(bundles.getIfAvailable()), properties);
        }
    }

    /** Spring Boot 4. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = {"dev.bellwether.kafka.KafkaElections", KAFKA4})
    @ConditionalOnSingleCandidate(type = KAFKA4)
    static class Kafka4 {
        @Bean
        ElectionsSource bellwetherKafka(
                org.springframework.boot.kafka.autoconfigure.KafkaProperties kafka, BellwetherProperties properties) {
            return kafka(kafka.buildAdminProperties(), properties);
        }
    }

    private static ElectionsSource kafka(Map<String, Object> client, BellwetherProperties properties) {
        var all = new HashMap<>(client);
        all.remove("client.id"); // ours tell candidacies apart
        all.put("topic.create", properties.getKafka().isCreateTopic());
        Optional.ofNullable(properties.getKafka().getTopic()).ifPresent(topic -> all.put("topic", topic));
        return new ElectionsSource("kafka", config -> KafkaElections.using(all, config));
    }
}
