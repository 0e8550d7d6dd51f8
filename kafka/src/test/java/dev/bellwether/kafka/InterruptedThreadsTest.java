package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.RosterConfig;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Stage;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.InterruptException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Somebody who interrupts all threads of a process, as some do to end their own, does not silence ours. */
@Timeout(120)
class InterruptedThreadsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String NAME = "interrupted-" + UUID.randomUUID();

    private final AtomicInteger polls = new AtomicInteger();
    private final AtomicInteger reads = new AtomicInteger();

    private static void interrupt(String name) {
        var threads = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(name))
                .toList();
        assertThat(threads).isNotEmpty();
        threads.forEach(Thread::interrupt);
    }

    @Test
    void aReaderReadsOn() {
        try (var tail = new LogTail(new TopicPartition(NAME, 0), this::consumer, new Follower())) {
            tail.start();
            Eventually.eventually("it was interrupted", PATIENCE, () -> polls.get() >= 1);
            Eventually.eventually("it reads", PATIENCE, () -> reads.get() > 3);
        }
    }

    /** The thread of the seat, or the one of its client that beats. */
    @ParameterizedTest
    @ValueSource(strings = {"bellwether-kafka-%s", "kafka-coordinator-heartbeat-thread | %2$s.%1$s"})
    void aCandidateLeadsAgain(String thread) {
        try (var stage = new Stage(new KafkaInfrastructure(SharedBroker.get(), "?topic=" + NAME), "interrupted")) {
            var events = new EventLog();
            var candidate = stage.stand(stage.client(), events, settings -> settings.lease(Duration.ofSeconds(6)));
            var first = candidate.awaitLeads();
            interrupt(thread.formatted(first.election(), NAME));
            Eventually.eventually("the seat was lost", PATIENCE, () -> !first.isValid());
            assertThat(candidate.awaitLeads().token()).isGreaterThan(first.token());
        }
    }

    /** What it waits in returns at once from then on: it kept a processor busy until the process ended. */
    @ParameterizedTest
    @ValueSource(strings = {"kafka-producer-network-thread", "kafka-admin-client-thread"})
    void aThreadOfAClientThatNobodyNeedsNowRestsAgain(String kind) {
        var uri = SharedBroker.uri();
        var others = threads(kind);
        try (var elections = Elections.connect(uri)) {
            assertThat(elections.list()).isNotNull();
            var ours = new ArrayList<>(threads(kind));
            ours.removeAll(others);
            assertThat(ours).hasSize(1);
            ours.get(0).interrupt();
            Eventually.eventually(
                    "it is interrupted no more", PATIENCE, () -> !ours.get(0).isInterrupted());
            assertThat(ours.get(0).isAlive()).isTrue();
        }
    }

    /** Its admin client was left open. */
    @Test
    void aLogThatIsClosedByAnInterruptedThreadLeavesNoClient() {
        var settings = Settings.of(
                Map.of("bootstrap.servers", SharedBroker.get().bootstrap(), "topic", NAME + "-log", "by", "log"));
        var others = threads("kafka-");
        var store = LogRecordStore.open(settings);
        var ours = threads("kafka-");
        ours.removeAll(others);
        assertThat(ours).isNotEmpty();
        try {
            Thread.currentThread().interrupt();
            store.close();
        } finally {
            assertThat(Thread.interrupted()).as("still interrupted").isTrue();
        }
        Eventually.eventually(
                "its threads have ended", PATIENCE, () -> ours.stream().noneMatch(Thread::isAlive));
    }

    private static Set<Thread> threads(String kind) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(kind))
                .collect(Collectors.toSet());
    }

    @Test
    void aMemberOfARosterLeadsAgain() throws InterruptedException {
        try (var elections = Elections.connect(SharedBroker.uri())) {
            var member = elections.roster(
                    NAME,
                    RosterConfig.builder()
                            .roles(4)
                            .partitions(2)
                            .lease(Duration.ofSeconds(6))
                            .build());
            assertThat(member.await(4, PATIENCE)).isTrue();
            interrupt("bellwether-kafka-roster-" + NAME);
            Eventually.eventually(
                    "its roles were lost", PATIENCE, () -> member.roles().isEmpty());
            assertThat(member.await(4, PATIENCE)).isTrue();
        }
    }

    // ---------------------------------------------------------------- a reader

    private final class Follower implements LogTail.Follower {
        @Override
        public void read(List<ConsumerRecord<byte[], byte[]>> records) {
            reads.incrementAndGet();
        }

        @Override
        public void reached(long offset) {}

        @Override
        public void beganAgain(long offset) {}

        @Override
        public void failed(ApiException error) {}

        @Override
        public Duration patience() {
            return Duration.ofMillis(10);
        }
    }

    @SuppressWarnings("unchecked")
    private Consumer<byte[], byte[]> consumer() {
        return (Consumer<byte[], byte[]>) Proxy.newProxyInstance(
                Consumer.class.getClassLoader(),
                new Class<?>[] {Consumer.class},
                (self, method, arguments) -> switch (method.getName()) {
                    case "poll" -> poll();
                    case "position" -> 0L;
                    case "beginningOffsets" -> Map.of(new TopicPartition(NAME, 0), 0L);
                    default -> null;
                });
    }

    private ConsumerRecords<byte[], byte[]> poll() throws InterruptedException {
        if (polls.incrementAndGet() == 1) {
            throw new InterruptException("planted"); // which sets the flag, as the client's own does
        }
        TimeUnit.MILLISECONDS.sleep(10);
        return ConsumerRecords.empty();
    }
}
