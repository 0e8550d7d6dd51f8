package dev.bellwether.spring;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/** What keeps {@link LeaderOnly} methods from running where nobody leads: with candidacies, and without any. */
@Configuration(proxyBeanMethods = false)
class LeaderOnlyConfiguration {
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static NamedElections bellwetherNamedElections() {
        return new NamedElections();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LeaderOnlyProcessor bellwetherLeaderOnlyProcessor(
            NamedElections named,
            ObjectProvider<Candidacies> candidacies,
            ListableBeanFactory beans,
            Environment environment) {
        var standing = beans.getBeanNamesForType(Candidacies.class, true, false).length > 0; // and not only its parent
        var processor = new LeaderOnlyProcessor(named, standing ? candidacies::getIfAvailable : () -> null, beans);
        processor.setProxyTargetClass(environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true));
        return processor;
    }

    /** When all beans have been made, and none has been started. */
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static SmartInitializingSingleton bellwetherLedBeansCheck(ConfigurableListableBeanFactory beans) {
        return () -> LedBeans.requireStartedByNoOther(beans);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static MandateScheduling bellwetherMandateScheduling() {
        return new MandateScheduling();
    }
}
