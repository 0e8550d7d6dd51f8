package dev.bellwether.spring;

import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/**
 * An application that stands in no election, because {@code bellwether.enabled} is false or our configuration is left
 * out: nothing of it runs that only a leader does.
 */
@AutoConfiguration(after = BellwetherAutoConfiguration.class)
@ConditionalOnMissingBean(value = Candidacies.class, search = SearchStrategy.CURRENT) // its parent may stand
@Import(LeaderOnlyConfiguration.class)
public class NoElectionsAutoConfiguration {
    private static final Logger log = LoggerFactory.getLogger(LeaderOnly.class);

    @Bean
    SmartInitializingSingleton bellwetherStandsNowhere(NamedElections named, ListableBeanFactory beans) {
        return () -> {
            var elections = new TreeSet<>(named.all());
            for (var bean : beans.getBeanNamesForAnnotation(LeaderOnly.class)) {
                var election = LedBeans.electionOf(bean, beans);
                LedBeans.of(election, beans); // refuses one that starts by itself
                elections.add(election);
            }
            log.info(
                    "This application stands in no election (bellwether.enabled=false, or a configuration that is"
                            + " left out). What is @LeaderOnly never runs"
                            + " here{}",
                    elections.isEmpty() ? "" : ": " + elections);
        };
    }
}
