package dev.bellwether.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Cause;
import dev.bellwether.Metrics;
import dev.bellwether.internal.lock.LockMetrics;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is passed on by way of {@link ForwardingMetrics} is all that there is to tell. */
class ForwardingMetricsTest {
    private static final Map<Class<?>, Object> SAMPLES = Map.of(
            String.class,
            "billing",
            long.class,
            7L,
            Cause.class,
            Cause.RESIGNED,
            Duration.class,
            Duration.ofMillis(3),
            Throwable.class,
            new IllegalStateException(),
            Metrics.Attempt.class,
            Metrics.Attempt.WON);

    static Stream<Method> all() {
        return Arrays.stream(Metrics.class.getMethods()).filter(method -> !Modifier.isStatic(method.getModifiers()));
    }

    @ParameterizedTest
    @MethodSource("all")
    void eachIsPassedOnAsItIs(Method method) throws Exception {
        assertThat(passedOn(method, heard -> new AllMetrics(List.of(heard))))
                .isEqualTo(method.getName() + Arrays.toString(samples(method)));
    }

    @ParameterizedTest
    @MethodSource("all")
    void eachIsPassedOnUnderTheNameOfALock(Method method) throws Exception {
        assertThat(passedOn(method, LockMetrics::new)).startsWith(method.getName());
    }

    private static String passedOn(Method method, UnaryOperator<Metrics> forwarding) throws Exception {
        var heard = new ArrayList<String>();
        var end = (Metrics) Proxy.newProxyInstance(
                Metrics.class.getClassLoader(), new Class<?>[] {Metrics.class}, (self, told, arguments) -> {
                    heard.add(told.getName() + Arrays.toString(arguments));
                    return null;
                });
        method.invoke(forwarding.apply(end), samples(method));
        assertThat(heard).hasSize(1);
        return heard.get(0);
    }

    private static Object[] samples(Method method) {
        return Arrays.stream(method.getParameterTypes()).map(SAMPLES::get).toArray();
    }
}
