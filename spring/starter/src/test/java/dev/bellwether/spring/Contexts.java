package dev.bellwether.spring;

import dev.bellwether.Elections;
import dev.bellwether.testkit.ControlledElections;
import java.time.Duration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.util.ClassUtils;

/** Applications for tests. */
final class Contexts {
    static final Duration PATIENCE = Duration.ofSeconds(30);

    private Contexts() {}

    /** One with all that the starter brings, and nothing to hold elections on. */
    static ApplicationContextRunner plain() {
        var loader = Contexts.class.getClassLoader();
        var ours = ImportCandidates.load(AutoConfiguration.class, loader).getCandidates().stream()
                .filter(name -> name.startsWith("dev.bellwether.spring.") && !name.contains(".test."))
                .map(name -> ClassUtils.resolveClassName(name, loader))
                .toArray(Class<?>[]::new);
        return new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(ours));
    }

    /** One whose elections the test controls. */
    static ApplicationContextRunner controlled(ControlledElections controlled) {
        return plain().withBean(Elections.class, controlled::elections);
    }

    /** One with a client that somebody else made and closes. */
    static ApplicationContextRunner having(Object client) {
        return plain().withInitializer(
                        context -> context.getBeanFactory().registerSingleton("client", client)); // no destruction
    }
}
