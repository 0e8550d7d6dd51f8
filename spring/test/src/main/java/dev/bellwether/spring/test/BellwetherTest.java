package dev.bellwether.spring.test;

import dev.bellwether.spring.BellwetherAutoConfiguration;
import dev.bellwether.spring.NoElectionsAutoConfiguration;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTestContextBootstrapper;
import org.springframework.test.context.BootstrapWith;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/**
 * A test of what an application does while it leads: only its components with {@link dev.bellwether.spring.LeaderOnly}
 * on them or on one of their methods are there, and what the test imports; no server, no database, nothing else that
 * would be configured by itself.
 *
 * <p>{@link dev.bellwether.testkit.ControlledElections}, a bean, says who leads: nobody, until the test lets {@code
 * controlled.election("billing").acquire()}; then {@code revoke()}, {@code fence()}. When these return, all that they
 * entail has happened: methods have been interrupted and have ended, beans have stopped. After each test, anybody who
 * leads is fenced, locks too.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@BootstrapWith(SpringBootTestContextBootstrapper.class)
@ExtendWith(SpringExtension.class)
@AutoConfigureControlledElections
@ImportAutoConfiguration({BellwetherAutoConfiguration.class, NoElectionsAutoConfiguration.class})
public @interface BellwetherTest {}
