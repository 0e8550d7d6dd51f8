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
import java.util.Optional;
import javax.sql.DataSource;
import org.apache.curator.framework.CuratorFramework;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.core.KafkaAdmin;

/** The clients of an application that elections can be held over, each if its module is there. */
final class ClientConfigurations {
    // By name, since a class that is not there takes the whole annotation with it where a configuration is read by
    // reflection.
    private static final String CURATOR = "org.apache.curator.framework.CuratorFramework";
    private static final String KAFKA = "org.springframework.kafka.core.KafkaAdmin";

    private ClientConfigurations() {}

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "dev.bellwether.sql.SqlElections")
    @ConditionalOnSingleCandidate(DataSource.class)
    static class Sql {
        @Bean
        @DependsOnDatabaseInitialization // the elections make their table as soon as they are opened
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

    /**
     * The admin client's settings, as Spring makes them of {@code spring.kafka} and, before that, of
     * {@code KafkaConnectionDetails}. The classes of these two have moved between the versions of Spring Boot; this one
     * has not.
     */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = {"dev.bellwether.kafka.KafkaElections", KAFKA})
    @ConditionalOnSingleCandidate(type = KAFKA)
    static class Kafka {
        @Bean
        ElectionsSource bellwetherKafka(KafkaAdmin admin, BellwetherProperties properties) {
            var all = new HashMap<>(admin.getConfigurationProperties());
            all.remove("client.id"); // ours tell candidacies apart
            all.put("topic.create", properties.getKafka().isCreateTopic());
            Optional.ofNullable(properties.getKafka().getTopic()).ifPresent(topic -> all.put("topic", topic));
            Optional.ofNullable(properties.getKafka().getBy()).ifPresent(by -> all.put("by", by));
            Optional.ofNullable(properties.getKafka().getLongestLease())
                    .ifPresent(longest -> all.put("longest.lease", longest.toMillis() + "ms"));
            return new ElectionsSource("kafka", config -> KafkaElections.using(all, config));
        }
    }
}
