package dev.bellwether.spring;

import dev.bellwether.Mandate;
import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.scheduling.SchedulingAwareRunnable;
import org.springframework.scheduling.annotation.ScheduledAnnotationBeanPostProcessor;
import org.springframework.util.ReflectionUtils;

/**
 * Lets a {@code @Scheduled} method have a {@link Mandate} as its parameter, where Spring would refuse it: by a
 * processor of our own, which differs from Spring's in nothing else, and takes its place if scheduling is enabled.
 */
final class MandateScheduling implements BeanDefinitionRegistryPostProcessor {
    /** The bean's name, whose package is another in Spring 7: a constant would be that which we were compiled with. */
    private static final String NAME = ".internalScheduledAnnotationProcessor";

    @Override
    public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
        for (var name : registry.getBeanDefinitionNames()) {
            var present = registry.getBeanDefinition(name);
            if (name.endsWith(NAME) && !Processor.class.getName().equals(present.getBeanClassName())) {
                var definition = new RootBeanDefinition(Processor.class); // no supplier: code can be generated of this
                definition.setRole(present.getRole());
                registry.removeBeanDefinition(name);
                registry.registerBeanDefinition(name, definition);
            }
        }
    }

    static final class Processor extends ScheduledAnnotationBeanPostProcessor {
        @Override
        protected Runnable createRunnable(Object target, Method method, @Nullable String qualifier) {
            if (method.getParameterCount() == 1
                    && method.getParameterTypes()[0] == Mandate.class
                    && ElectionNames.isNamedBy(method)) {
                return new LedMethod(target, AopUtils.selectInvocableMethod(method, target.getClass()), qualifier);
            }
            return super.createRunnable(target, method, qualifier);
        }
    }

    /** Calls a method whose one argument the interceptor puts in. */
    private record LedMethod(
            Object target, Method method, @Nullable String qualifier) implements SchedulingAwareRunnable {
        @Override
        public void run() {
            ReflectionUtils.makeAccessible(method);
            ReflectionUtils.invokeMethod(method, target, new Object[] {null});
        }

        @Override
        public @Nullable String getQualifier() {
            return qualifier;
        }

        @Override
        public String toString() {
            return method.getDeclaringClass().getName() + '.' + method.getName();
        }
    }
}
