package dev.bellwether.spring;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Metrics;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.DependsOn;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;

/** Elections over the client that the application has, and this application's candidacies in them. */
@AutoConfiguration(
        afterName = {
            // Spring Boot 3, then 4
            "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration",
            "org.springframework.boot.autoconfigure.kafka.KafkaAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration"
        })
@ConditionalOnProperty(prefix = "bellwether", name = "enabled", matchIfMissing = true)
@EnableConfigurationProperties(BellwetherProperties.class)
@Import({
    ClientConfigurations.Sql.class,
    ClientConfigurations.Nats.class,
    ClientConfigurations.ZooKeeper.class,
    ClientConfigurations.Kafka.class,
    LeaderOnlyConfiguration.class
})
public class BellwetherAutoConfiguration {
    /** Stops last and, since what starts first stops last, starts first: it then does nothing. */
    static final int LAST_TO_STOP = Integer.MIN_VALUE + 1024;

    /** An application that has its own would be at step 1 of a move, and be taken for one at step 2; but in a test. */
    @Bean
    @Lazy(false)
    @ConditionalOnProperty("bellwether.moving-to")
    @ConditionalOnBean(value = Elections.class, search = SearchStrategy.CURRENT)
    @ConditionalOnMissingBean(name = "bellwetherControlledElections")
    Object bellwetherRefusedMove() {
        throw new ElectionException("bellwether.moving-to is set, and the application has an Elections bean of its own,"
                + " which would stay where it is: make that bean by Elections.jointly(old, next), and remove"
                + " bellwether.moving-to; or remove the bean");
    }

    @Bean
    @ConditionalOnMissingBean
    Elections bellwetherElections(
            BellwetherProperties properties, List<ElectionsSource> sources, ObjectProvider<Metrics> metrics) {
        var config = ElectionsConfig.builder()
                .requestTimeout(properties.getRequestTimeout())
                .connectLazily(properties.isConnectLazily())
                .metrics(Metrics.all(metrics.orderedStream().toList()))
                .build();
        return ElectionsSource.open(properties, sources, config);
    }

    @Bean
    Candidacies bellwetherCandidacies(
            Elections elections,
            BellwetherProperties properties,
            NamedElections named,
            ListableBeanFactory beans,
            ApplicationContext context,
            ObjectProvider<ElectionObserver> observers) {
        return new Candidacies(
                elections,
                properties,
                named,
                beans,
                context,
                election -> observers.orderedStream().forEach(observer -> observer.standing(election)));
    }

    @Bean
    Locks bellwetherLocks(Elections elections, BellwetherProperties properties) {
        return new Locks(elections, properties);
    }

    /** Before the context closes: hands over, if so configured. */
    @Bean
    HandOverFirst bellwetherHandOverFirst(ApplicationContext context, Candidacies candidacies) {
        return new HandOverFirst(context, candidacies);
    }

    /** Leaves, too, where the start has failed: the other then does not run, so that it is started again. */
    @Bean
    SmartLifecycle bellwetherLeaving(Candidacies candidacies) {
        return new CandidacyLifecycle(SmartLifecycle.DEFAULT_PHASE, () -> {}, candidacies::closing);
    }

    /** Starts last, stops first: stands, and leaves where it does not lead. */
    @Bean
    @DependsOn("bellwetherLeaving") // by which that has started before
    SmartLifecycle bellwetherStanding(Candidacies candidacies, ApplicationContext context) {
        return new CandidacyLifecycle(
                SmartLifecycle.DEFAULT_PHASE,
                () -> {
                    refuseTwice(candidacies, context.getParent());
                    candidacies.start();
                },
                candidacies::closing);
    }

    /** Two candidacies of one process would take the seat from each other: what asks the other never runs. */
    private static void refuseTwice(Candidacies candidacies, @Nullable ApplicationContext parent) {
        var ofParent = parent == null
                ? null
                : parent.getBeanProvider(Candidacies.class).getIfUnique();
        if (ofParent != null) {
            var both = new TreeSet<>(candidacies.expected());
            both.retainAll(ofParent.expected());
            if (!both.isEmpty()) {
                throw new IllegalStateException("this context and its parent would both stand in " + both
                        + ", and only one of them can lead: set bellwether.enabled=false for one of the two, or name"
                        + " an election in one only");
            }
        }
    }

    /** Starts first, stops last: gives up the seats when nothing else runs. */
    @Bean
    SmartLifecycle bellwetherReleasing(Candidacies candidacies) {
        return new CandidacyLifecycle(LAST_TO_STOP, candidacies::starting, candidacies::close);
    }
}
