package dev.bellwether.spring;

import dev.bellwether.Elections;
import dev.bellwether.shedlock.BellwetherLockProvider;
import net.javacrumbs.shedlock.core.LockProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** ShedLock's locks from the application's elections, if bellwether-shedlock is there and no other provider is. */
@AutoConfiguration(after = BellwetherAutoConfiguration.class)
@ConditionalOnClass(
        name = {"dev.bellwether.shedlock.BellwetherLockProvider", "net.javacrumbs.shedlock.core.LockProvider"})
@ConditionalOnBean(Candidacies.class) // not Elections: an application may have those and be switched off
public class ShedLockAutoConfiguration {
    @Bean
    @ConditionalOnMissingBean
    LockProvider bellwetherLockProvider(Elections elections, BellwetherProperties properties) {
        return new BellwetherLockProvider(
                elections, name -> properties.lock(name).candidacy());
    }
}
