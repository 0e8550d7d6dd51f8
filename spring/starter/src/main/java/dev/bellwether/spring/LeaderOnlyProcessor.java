package dev.bellwether.spring;

import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.Ordered;

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
    private final transient BeanFactory beans;

    LeaderOnlyProcessor(NamedElections named, Supplier<@Nullable Candidacies> candidacies, BeanFactory beans) {
        this.named = named;
        this.beans = beans;
        advisor = new DefaultPointcutAdvisor(new LedMethods(), new LeaderOnlyInterceptor(candidacies, beans));
        setBeforeExistingAdvisors(true);
        setOrder(Ordered.LOWEST_PRECEDENCE - 100); // before those of @Async and @Scheduled
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        MethodIntrospector.selectMethods(
                        AopUtils.getTargetClass(bean), (Method method) -> ElectionNames.of(method, beans))
                .forEach((method, election) -> {
                    LeaderOnlyChecks.check(method, name);
                    named.add(election);
                });
        return super.postProcessAfterInitialization(bean, name);
    }

    private static final class LedMethods extends StaticMethodMatcherPointcut {
        @Override
        public boolean matches(Method method, Class<?> target) {
            return ElectionNames.isNamedBy(AopUtils.getMostSpecificMethod(method, target))
                    || ElectionNames.isNamedBy(method);
        }
    }
}
