package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.RosterConfig;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.testkit.Eventually;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Clients that cannot be made for a while, as while the names of the brokers are not known, or that cannot join: that
 * is told once, and so is each other reason that comes meanwhile.
 */
@Timeout(120)
class UnmadeClientsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final AtomicInteger TRIES = new AtomicInteger();
    private static volatile boolean fails;
    private static volatile boolean failsOtherwise;

    private final String name = "unmade-" + UUID.randomUUID();
    private final LogSaid log = new LogSaid(); // before there is anything to say

    /** Keeps clients from being made. */
    public static final class Keeper implements MetricsReporter {
        /** Made by the client. */
        public Keeper() {}

        @Override
        public void configure(Map<String, ?> properties) {
            if (fails) {
                TRIES.incrementAndGet();
                throw failsOtherwise ? new IllegalStateException("planted") : new ConfigException("planted");
            }
        }

        @Override
        public void init(List<KafkaMetric> metrics) {}

        @Override
        public void metricChange(KafkaMetric metric) {}

        @Override
        public void metricRemoval(KafkaMetric metric) {}

        @Override
        public void close() {}
    }

    /** Keeps the group from being joined. */
    public static final class Assignor extends RangeAssignor {
        /** Made by the client. */
        public Assignor() {}

        @Override
        public String name() {
            return "keeper";
        }

        @Override
        public ByteBuffer subscriptionUserData(Set<String> topics) {
            TRIES.incrementAndGet();
            throw new IllegalStateException("planted");
        }
    }

    @AfterEach
    void recover() {
        fails = false;
        failsOtherwise = false;
        log.close();
    }

    private static Elections connect() {
        var elections = Elections.connect(SharedBroker.uri() + "?metric.reporters="
                + Keeper.class.getName().replace("$", "%24"));
        assertThat(elections.list()).as("what its reader knows").isNotNull();
        TRIES.set(0);
        fails = true;
        return elections;
    }

    private void isToldOnce() {
        triedAgainAndAgain();
        assertThat(told(log, ConfigException.class)).isEqualTo(1);
        failsOtherwise = true; // it was a line at DEBUG
        triedAgainAndAgain();
        assertThat(told(log, ConfigException.class)).isEqualTo(1);
        assertThat(told(log, IllegalStateException.class)).isEqualTo(1);
        fails = false;
    }

    private static long told(LogSaid log, Class<?> reason) {
        return log.text()
                .lines()
                .filter(line -> line.contains(reason.getName() + ": planted"))
                .count();
    }

    private static void triedAgainAndAgain() {
        TRIES.set(0);
        Eventually.eventually("it is tried again and again", PATIENCE, () -> TRIES.get() >= 10);
    }

    /** Whatever the candidate was woken for counted as if all went well, and each beat of a leader wakes it. */
    @Test
    void aCandidateThatCannotJoinSaysSoOnceThoughALeaderBeats() throws InterruptedException {
        var config = CandidacyConfig.builder()
                .lease(Duration.ofSeconds(6))
                .renewInterval(Duration.ofMillis(500))
                .retryInterval(Duration.ofMillis(100));
        try (var others = Elections.connect(SharedBroker.uri());
                var leader = others.stand(name, config.build());
                var elections = Elections.connect(SharedBroker.uri() + "?assignors="
                        + Assignor.class.getName().replace("$", "%24"))) {
            assertThat(leader.await(PATIENCE)).isPresent();
            try (var log = new LogSaid();
                    var candidacy = elections.stand(name, config.build())) {
                triedAgainAndAgain();
                triedAgainAndAgain();
                triedAgainAndAgain();
                assertThat(candidacy.failure()).isEmpty();
                assertThat(log.warnings("the client of", name)).hasSize(1);
            }
        }
    }

    @Test
    void aCandidateSaysSoOnceAndLeadsThen() throws InterruptedException {
        try (var elections = connect();
                var candidacy = elections.stand(
                        name,
                        CandidacyConfig.builder()
                                .lease(Duration.ofSeconds(6))
                                .retryInterval(Duration.ofMillis(100))
                                .build())) {
            isToldOnce();
            assertThat(candidacy.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void soDoesAMemberOfARoster() throws InterruptedException {
        try (var elections = connect()) {
            fails = false; // the topic is looked at first
            var member = elections.roster(
                    name,
                    RosterConfig.builder()
                            .roles(4)
                            .partitions(2)
                            .lease(Duration.ofSeconds(6))
                            .build());
            assertThat(member.await(4, PATIENCE)).isTrue();
            fails = true;
            interrupt("bellwether-kafka-roster-" + name); // so that it needs another client
            isToldOnce();
            Eventually.eventually(
                    "it leads again", PATIENCE, () -> member.roles().size() == 4);
        }
    }

    private static void interrupt(String thread) {
        Thread.getAllStackTraces().keySet().stream()
                .filter(one -> one.getName().equals(thread))
                .forEach(Thread::interrupt);
    }
}
