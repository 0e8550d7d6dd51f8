package dev.bellwether.spring.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;

/**
 * Puts {@link dev.bellwether.testkit.ControlledElections} in place of the elections of an application under test,
 * beside {@code @SpringBootTest} for instance. After each test, anybody who leads is fenced.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ImportAutoConfiguration(ControlledElectionsAutoConfiguration.class)
@ExtendWith(BackToStandby.class)
public @interface AutoConfigureControlledElections {}
