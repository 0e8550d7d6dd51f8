package dev.bellwether.spring;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Metrics;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
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

    private static final String ELECTIONS = "bellwetherElections";

    /**
     * An application that has its own would be at step 1 of a move, and be taken for one at step 2; but in a test, or
     * where a parent context has made them for the same move.
     */
    @Bean
    @Lazy(false)
    @ConditionalOnProperty("bellwether.moving-to")
    @ConditionalOnBean(Elections.class)
    @ConditionalOnMissingBean(name = "bellwetherControlledElections")
    Object bellwetherRefusedMove(ApplicationContext context, BellwetherProperties properties) {
        var owner = owner(context);
        var ofParent = !owner.equals(context);
        if (ofParent && owner.containsLocalBean(ELECTIONS) && movesTo(owner, properties.getMovingTo())) {
            return false;
        }
        throw new ElectionException("bellwether.moving-to is set, and "
                + (ofParent ? "a parent of this context" : "the application")
                + " has an Elections bean of its own, which would stay where it is: make that bean by"
                + " Elections.jointly(old, next), and remove bellwether.moving-to; or remove the bean"
                + (ofParent ? "; or set the same bellwether.moving-to for the parent" : ""));
    }

    /** Returns the nearest context that has elections. */
    private static ApplicationContext owner(ApplicationContext context) {
        var parent = context.getParent();
        return parent == null || context.getBeanNamesForType(Elections.class, true, false).length > 0
                ? context
                : owner(parent);
    }

    private static boolean movesTo(ApplicationContext owner, @Nullable String uri) {
        var properties = owner.getBeanProvider(BellwetherProperties.class).getIfAvailable();
        return properties != null && Objects.equals(properties.getMovingTo(), uri);
    }

    @Bean(ELECTIONS)
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
                above(context),
                election -> observers.orderedStream().forEach(observer -> observer.standing(election)));
    }

    private static Optional<Candidacies> above(ApplicationContext context) {
        return Optional.ofNullable(context.getParent())
                .map(parent -> parent.getBeanProvider(Candidacies.class).getIfUnique());
    }

    @Bean
    Locks bellwetherLocks(Elections elections, BellwetherProperties properties) {
        return new Locks(elections, properties);
    }

    /** Before the context closes: hands over, if so configured, and leaves where it does not lead. */
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
    SmartLifecycle bellwetherStanding(Candidacies candidacies) {
        return new CandidacyLifecycle(SmartLifecycle.DEFAULT_PHASE, candidacies::start, candidacies::closing);
    }

    /** Starts first, stops last: gives up the seats when nothing else runs. */
    @Bean
    SmartLifecycle bellwetherReleasing(Candidacies candidacies) {
        return new CandidacyLifecycle(LAST_TO_STOP, candidacies::starting, candidacies::close);
    }
}
