package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.testkit.Eventually;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.junit.jupiter.api.Test;

/** When another client takes the place of one that is of no more use. */
class AdminConnectionTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration BETWEEN = Duration.ofMillis(500);

    private final HandClock clock = new HandClock();
    private final AtomicInteger made = new AtomicInteger();

    /** Throws an error on the thread of the client that has it, as soon as that connects to a broker. */
    public static final class Deadly implements MetricsReporter {
        /** Made by the client. */
        public Deadly() {}

        @Override
        public void init(List<KafkaMetric> metrics) {}

        @Override
        public void metricChange(KafkaMetric metric) {
            if (Thread.currentThread().getName().contains("kafka-admin-client-thread")) {
                throw new NoClassDefFoundError("planted");
            }
        }

        @Override
        public void metricRemoval(KafkaMetric metric) {}

        @Override
        public void close() {}

        @Override
        public void configure(Map<String, ?> properties) {}
    }

    private Admin deadlyAtFirst() {
        var properties = new HashMap<String, Object>(
                Map.of("bootstrap.servers", SharedBroker.get().bootstrap()));
        if (made.incrementAndGet() == 1) {
            properties.put("metric.reporters", Deadly.class.getName());
        }
        return Admin.create(properties);
    }

    @Test
    void oneWhoseThreadHasDiedOfAnErrorIsReplaced() {
        var connection = new AdminConnection(this::deadlyAtFirst, clock);
        Eventually.eventually("another one answers", PATIENCE, () -> isAnswered(connection));
        assertThat(made).hasValue(2);
        connection.close(Duration.ZERO);
    }

    private boolean isAnswered(AdminConnection connection) {
        clock.passes(BETWEEN);
        try {
            return !connection
                    .ask(client -> client.describeCluster().clusterId())
                    .get()
                    .isEmpty();
        } catch (ExecutionException e) {
            return false;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void whereNobodyAnswersFewAreMadeHoweverLongThatLasts() {
        var connection = new AdminConnection(this::counted, clock);
        for (var passed = Duration.ZERO; passed.compareTo(Duration.ofHours(1)) < 0; passed = passed.plus(BETWEEN)) {
            clock.passes(BETWEEN);
            var late = new KafkaFutureImpl<Boolean>();
            var unused = connection.ask(client -> late);
            late.completeExceptionally(new TimeoutException("planted"));
        }
        assertThat(made.get()).as("the clients of an hour").isBetween(10, 40);
    }

    /** Each try to connect left another one, with its thread. */
    @Test
    void oneWithoutAThreadToLookAfterItIsClosed() {
        var closed = new AtomicInteger();
        var admin = (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, (self, method, arguments) -> {
                    assertThat(method.getName()).isEqualTo("close");
                    return closed.incrementAndGet() > 1;
                });
        assertThatThrownBy(() -> new AdminConnection(() -> admin, clock, look -> {
                    throw new OutOfMemoryError("unable to create native thread");
                }))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(closed).hasValue(1);
    }

    private Admin counted() {
        made.incrementAndGet();
        return (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, (self, method, arguments) -> null);
    }
}
