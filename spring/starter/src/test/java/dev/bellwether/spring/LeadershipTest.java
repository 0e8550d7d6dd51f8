package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.context.Lifecycle;

class LeadershipTest {
    @LeaderOnly("billing")
    private static final class NeverStarted implements Lifecycle {
        @Override
        public void start() {
            throw new OutOfMemoryError("planted: unable to create native thread");
        }

        @Override
        public void stop() {}

        @Override
        public boolean isRunning() {
            return false;
        }
    }

    /** One that is asked for its election for the name of a thread, which cannot be made. */
    private record Threadless(String candidate, long token) implements Mandate {
        @Override
        public String election() {
            throw new OutOfMemoryError("planted: unable to create native thread");
        }

        @Override
        public boolean isValid() {
            return true;
        }

        @Override
        public Duration remaining() {
            return Duration.ofMinutes(1);
        }

        @Override
        public void ensure(Duration atLeast) {}
    }

    /** Else it would lead without its bean, however many threads there are later. */
    @Test
    void aProcessThatHasNoThreadToStartABeanAgainStandsDown() {
        var beans = new DefaultListableBeanFactory();
        beans.registerSingleton("never", new NeverStarted());
        var leadership = new Leadership(event -> {}, LedBeans.of("billing", beans));
        List<String> asked = new CopyOnWriteArrayList<>();
        leadership.stands((Candidacy) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Candidacy.class}, (self, method, given) -> {
                    asked.add(method.getName());
                    return null;
                }));

        assertThatThrownBy(() -> leadership.onEvent(new LeadershipEvent.Acquired(new Threadless("ann", 1))))
                .isInstanceOf(OutOfMemoryError.class);

        assertThat(asked).containsExactly("standDown");
        assertThat(leadership.unstarted()).containsOnlyKeys("never");
    }
}
