package dev.bellwether.spring.test;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.test.context.TestContextAnnotationUtils;

/**
 * Cuts an application down to the slice of {@link BellwetherTest}. By what is the same in all versions of Spring Boot:
 * its own slices are made with classes that have moved.
 */
final class SliceCustomizerFactory implements ContextCustomizerFactory {
    @Override
    public @Nullable ContextCustomizer createContextCustomizer(
            Class<?> test, List<ContextConfigurationAttributes> attributes) {
        return TestContextAnnotationUtils.hasAnnotation(test, BellwetherTest.class) ? new Slice() : null;
    }

    /** All are equal, so that tests may share a context. */
    private record Slice() implements ContextCustomizer {
        @Override
        public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration test) {
            TestPropertyValues.of("spring.boot.enableautoconfiguration=false").applyTo(context);
            context.getBeanFactory()
                    .registerSingleton(TypeExcludeFilter.class.getName() + ".bellwether", new OnlyLeaders());
        }
    }
}
