package dev.bellwether.spring;

import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;

/**
 * Puts {@link LeaderOnlyInterceptor} before the beans that have {@link LeaderOnly} methods, and notes the elections
 * that they name.
 *
 * <p>Outside of what other proxies do: a transaction has ended when the call has. Inside of {@code @Async}, whose
 * processor comes later.
 */
final class LeaderOnlyProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {
    private static final long serialVersionUID = 1;

    private final transient NamedElections named;

    LeaderOnlyProcessor(NamedElections named, ObjectProvider<Candidacies> candidacies) {
        this.named = named;
        advisor = new DefaultPointcutAdvisor(new LedMethods(), new LeaderOnlyInterceptor(candidacies));
        setBeforeExistingAdvisors(true);
        setOrder(Ordered.LOWEST_PRECEDENCE - 100); // before those of @Async and @Scheduled
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        MethodIntrospector.selectMethods(AopUtils.getTargetClass(bean), LeaderOnlyProcessor::election)
                .forEach((method, election) -> {
                    LeaderOnlyChecks.check(method, name);
                    named.add(election);
                });
        return super.postProcessAfterInitialization(bean, name);
    }

    /** Returns the election under whose mandate a method runs, or null if it is none of ours. */
    static @Nullable String election(Method method) {
        var annotation = AnnotatedElementUtils.findMergedAnnotation(method, LeaderOnly.class);
        return annotation == null || AnnotatedElementUtils.hasAnnotation(method, Bean.class)
                ? null
                : annotation.value();
    }

    private static final class LedMethods extends StaticMethodMatcherPointcut {
        @Override
        public boolean matches(Method method, Class<?> target) {
            return election(AopUtils.getMostSpecificMethod(method, target)) != null || election(method) != null;
        }
    }
}
