package dev.bellwether.spring;

import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import dev.bellwether.spi.Interrupts;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;

/** Lets a call through under the mandate of its election, or not at all. Thread-safe. */
final class LeaderOnlyInterceptor implements MethodInterceptor {
    private static final Logger log = LoggerFactory.getLogger(LeaderOnly.class);

    private static final String NOWHERE =
            ": we stand in no election (bellwether.enabled=false, or a configuration that is left out)";

    private final ObjectProvider<Candidacies> candidacies;
    private final BeanFactory beans;
    private final Map<Method, String> elections = new ConcurrentHashMap<>();

    LeaderOnlyInterceptor(ObjectProvider<Candidacies> candidacies, BeanFactory beans) {
        this.candidacies = candidacies;
        this.beans = beans;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        var election = election(call);
        var standing = Optional.ofNullable(candidacies.getIfAvailable());
        var calls = standing.flatMap(all -> all.leadership(election)).map(Leadership::calls);
        var mandate = calls.flatMap(Calls::begin);
        if (calls.isEmpty() || mandate.isEmpty()) {
            if (returnsNothing(call.getMethod())) {
                return null;
            }
            throw new NotLeaderException(call.getMethod() + " runs only while leading \"" + election
                    + "\", which we do not" + (standing.isPresent() ? "" : NOWHERE));
        }
        try {
            hand(mandate.get(), call);
            return call.proceed();
        } catch (Exception e) {
            if (returnsNothing(call.getMethod()) && !mandate.get().isValid()) {
                endedLate(call.getMethod(), mandate.get(), e);
                return null;
            }
            throw e;
        } finally {
            calls.get().end();
        }
    }

    private static void endedLate(Method method, Mandate mandate, Exception e) {
        if (e instanceof NotLeaderException || Interrupts.caused(e)) {
            log.debug("{} stopped with its {}", method, mandate, e);
        } else {
            log.warn(
                    "{} failed while its {} was ending; its caller is not told, and what it had begun may be half done",
                    method,
                    mandate,
                    e);
        }
    }

    /** Remembered, so that it stays the same whatever becomes of the properties that it is made of. */
    private String election(MethodInvocation call) {
        var method = call.getMethod();
        var target = call.getThis();
        var specific = target == null ? method : AopUtils.getMostSpecificMethod(method, target.getClass());
        return elections.computeIfAbsent(specific, one -> {
            var election = ElectionNames.of(one, beans);
            return Objects.requireNonNull(election == null ? ElectionNames.of(method, beans) : election);
        });
    }

    private static void hand(Mandate mandate, MethodInvocation call) {
        var types = call.getMethod().getParameterTypes();
        for (var i = 0; i < types.length; i++) {
            if (types[i] == Mandate.class) {
                call.getArguments()[i] = mandate; // the live array: what proceeds takes its arguments from it
            }
        }
    }

    private static boolean returnsNothing(Method method) {
        return method.getReturnType() == void.class;
    }
}
