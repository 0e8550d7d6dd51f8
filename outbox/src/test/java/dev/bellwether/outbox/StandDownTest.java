package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link.Way;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StandDownTest {

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void leaderThatCannotReachItsDatabaseStandsDownAndAHealthyStandbyTakesOver(boolean silently) throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", PostgresServer.shared().port());
                var stage = new RelayStage();
                var reader = stage.reader(false)) {
            var cut = Servers.dataSource(PostgresServer.uri(link.port()));
            var first = stage.relay(
                    more -> more.candidate("cut-off")
                            .lease(Duration.ofSeconds(5))
                            .databaseTimeout(Duration.ofMillis(500))
                            .standDownAfter(Duration.ofSeconds(2)),
                    cut,
                    KafkaProducer::new);
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            stage.awaitEmpty();
            var second = stage.relay(more -> more.candidate("healthy").lease(Duration.ofSeconds(5)));
            if (silently) {
                link.cut(Way.BOTH);
            } else {
                link.refuse();
                link.reset();
            }
            stage.stash(Writers.numbered(stage.topic, "k", 10, 20));
            stage.awaitEmpty();
            assertThat(stage.await(RelayEvent.StoodDown.class).shard()).isZero();
            Eventually.eventually("the healthy one leads", RelayStage.PATIENCE, second::isLeader);
            assertThat(first.isLeader()).isFalse();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 20)));
            assertThat(reader.faults(Map.of("k", 20)))
                    .as("NEVER: out of order or lost")
                    .isEmpty();
            assertThat(Reader.faultsOfCommitted(stage.bootstrap, Map.of("k", 20), stage.topic))
                    .isEmpty();
            link.heal();
        }
    }

    @Test
    void leaderWithoutAStandbyKeepsTryingAndGoesOn() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", PostgresServer.shared().port());
                var stage = new RelayStage()) {
            stage.relay(
                    more -> more.standDownAfter(Duration.ofMillis(200)).maxBackoff(Duration.ofMillis(100)),
                    Servers.dataSource(PostgresServer.uri(link.port())),
                    KafkaProducer::new);
            stage.await(RelayEvent.LeaderRefreshed.class);
            link.refuse();
            link.reset();
            Eventually.eventually(
                    "it has failed a while",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream()
                                    .filter(RelayEvent.Faulted.class::isInstance)
                                    .count()
                            > 10);
            link.heal();
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
            assertThat(stage.events)
                    .noneMatch(RelayEvent.StoodDown.class::isInstance)
                    .noneMatch(RelayEvent.LeaderRevoked.class::isInstance);
        }
    }

    @Test
    void endOfTheElectionIsTold() throws Exception {
        try (var stage = new RelayStage()) {
            stage.relay();
            stage.await(RelayEvent.LeaderRefreshed.class);
            stage.elections().election(stage.config(more -> more).seat(0)).end();
            assertThat(stage.await(RelayEvent.ElectionEnded.class).shard()).isZero();
        }
    }

    @Test
    void standbyKnowsWhetherSomebodyLeads() throws Exception {
        var config = RelayConfig.named("x").build();
        var shard = withoutADatabase(0, config);
        assertThat(shard.stats().led()).as("before anything is heard").isFalse();
        shard.heard(new LeadershipEvent.Following("x", Optional.of("other"), Optional.empty()));
        assertThat(shard.stats().led()).isTrue();
        shard.heard(new LeadershipEvent.Following("x", Optional.empty(), Optional.of("other")));
        assertThat(shard.stats().led()).isFalse();
    }

    /** The thread for events is interrupted half-way through the budget, as the work is. */
    @Test
    void orderlyEndIsToldThoughTheWorkTakesMostOfItsBudget() throws Exception {
        var told = new CopyOnWriteArrayList<RelayEvent>();
        var begun = new CountDownLatch(1);
        var done = new CountDownLatch(1);
        var config = RelayConfig.named("x")
                .listener(event -> {
                    told.add(event);
                    if (event instanceof RelayEvent.LeaderAcquired) {
                        begun.countDown();
                        awaitWhateverComes(done); // the work, which leads until then
                    }
                })
                .build();
        var shard = withoutADatabase(0, config);
        var mandate = ShardMandate.past();
        var work = new Thread(() -> shard.lead(mandate));
        work.start();
        begun.await();
        var interrupted = new AtomicBoolean();
        var events = new Thread(() -> {
            shard.heard(new LeadershipEvent.Revoked(mandate, Cause.STOOD_DOWN));
            interrupted.set(Thread.currentThread().isInterrupted());
        });
        events.start();
        events.interrupt();
        Eventually.throughout("it waits for the work", Duration.ofMillis(300), events::isAlive);
        assertThat(told).noneMatch(RelayEvent.LeaderRevoked.class::isInstance);
        done.countDown();
        work.join();
        events.join();
        assertThat(told).last().isEqualTo(new RelayEvent.LeaderRevoked(0));
        assertThat(interrupted).isTrue();
    }

    private static void awaitWhateverComes(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            awaitWhateverComes(latch);
        }
    }

    /** Who listens would take this relay for halted while another leads. */
    @Test
    void nothingIsToldOfAHaltWhenTheMandateIsOver() throws Exception {
        var asked = new CountDownLatch(1);
        var answer = new CountDownLatch(1);
        var brokers = new PoisonDetector.Topics() {
            @Override
            public Optional<String> fault(String topic, int partition) {
                return Optional.empty();
            }

            @Override
            public Map<String, String> missing(Set<String> topics) {
                asked.countDown();
                awaitWhateverComes(answer);
                return Map.of(topics.iterator().next(), "it is missing");
            }
        };
        try (var stage = new RelayStage()) {
            var config =
                    stage.config(more -> more.once(false).poison(Poison.HALT).wakeUp(false));
            var shard = new Shard(
                    0,
                    config,
                    stage.database,
                    properties -> new MockProducer<>(true, null, new ByteArraySerializer(), new ByteArraySerializer()),
                    new PoisonDetector(brokers, TimeUnit.HOURS.toNanos(1), System::nanoTime),
                    new WakeUpListener(stage.database, config),
                    "relay");
            stage.stash(Message.of(stage.topic, "k", "0"));
            var mandate = new ShardMandate();
            var work = new Thread(() -> shard.lead(mandate));
            work.start();
            asked.await();
            mandate.end();
            shard.heard(new LeadershipEvent.Fenced(mandate, Cause.EXPIRED));
            answer.countDown();
            work.join();
            assertThat(stage.events).last().isEqualTo(new RelayEvent.LeaderFenced(0));
        }
    }

    @Test
    void failureOfTheCandidacyIsToldWithItsCause() throws Exception {
        var told = new ArrayList<RelayEvent>();
        var config = RelayConfig.named("x").listener(told::add).build();
        var cause = new ElectionException("access was withdrawn");
        var shard = withoutADatabase(3, config);
        shard.heard(new LeadershipEvent.Failed("x", cause));
        assertThat(told).isEqualTo(java.util.List.of(new RelayEvent.CandidacyFailed(3, cause)));
    }

    /** Returns a shard that only tells what it hears. */
    static Shard withoutADatabase(int number, RelayConfig config) {
        var database = Servers.dataSource("jdbc:none");
        return new Shard(
                number,
                config,
                database,
                KafkaProducer::new,
                new PoisonDetector((topic, partition) -> Optional.empty(), 1, System::nanoTime),
                new WakeUpListener(database, config),
                "relay");
    }
}
