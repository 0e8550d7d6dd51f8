package dev.bellwether.spring;

import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import dev.bellwether.spi.Interrupts;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;

/** Lets a call through under the mandate of its election, or not at all. Thread-safe. */
final class LeaderOnlyInterceptor implements MethodInterceptor {
    private static final Logger log = LoggerFactory.getLogger(LeaderOnly.class);

    private static final String NOWHERE =
            ": we stand in no election (bellwether.enabled=false, or a configuration that is left out)";

    private final Supplier<@Nullable Candidacies> candidacies;
    private final BeanFactory beans;
    private final Map<Method, Led> known = new ConcurrentHashMap<>();

    /** What a method is marked with. */
    private record Led(String election, boolean scheduled) {}

    LeaderOnlyInterceptor(Supplier<@Nullable Candidacies> candidacies, BeanFactory beans) {
        this.candidacies = candidacies;
        this.beans = beans;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        var led = led(call);
        var standing = Optional.ofNullable(candidacies.get());
        var leadership = standing.flatMap(all -> all.leadership(led.election));
        var mandate = leadership.flatMap(leading -> leading.calls().begin());
        if (leadership.isEmpty() || mandate.isEmpty()) {
            if (endsSilently(call.getMethod(), led, leadership)) {
                return null;
            }
            throw new NotLeaderException(call.getMethod() + " runs only while leading \"" + led.election
                    + "\", which we do not" + (standing.isPresent() ? "" : NOWHERE));
        }
        try {
            hand(mandate.get(), call);
            return call.proceed();
        } catch (Exception e) {
            if (!mandate.get().isValid() && endsSilently(call.getMethod(), led, leadership)) {
                endedLate(call.getMethod(), mandate.get(), e);
                return null;
            }
            throw e;
        } finally {
            leadership.get().calls().end();
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

    /**
     * Whether who has called is not told that nothing was done. A container of messages must be: it would acknowledge
     * the message. It runs as long as beans of the election may. A scheduler need not be.
     */
    private static boolean endsSilently(Method method, Led led, Optional<Leadership> leadership) {
        return method.getReturnType() == void.class
                && (led.scheduled
                        || !leadership.map(Leadership::mayBeCalledByBeans).orElse(false));
    }

    /** Remembered, so that it stays the same whatever becomes of the properties that it is made of. */
    private Led led(MethodInvocation call) {
        var method = call.getMethod();
        var target = call.getThis();
        var specific = target == null ? method : AopUtils.getMostSpecificMethod(method, target.getClass());
        return known.computeIfAbsent(specific, one -> {
            var election = ElectionNames.of(one, beans);
            return new Led(
                    Objects.requireNonNull(election == null ? ElectionNames.of(method, beans) : election),
                    AnnotatedElementUtils.hasAnnotation(one, Scheduled.class)
                            || AnnotatedElementUtils.hasAnnotation(one, Schedules.class));
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
}
