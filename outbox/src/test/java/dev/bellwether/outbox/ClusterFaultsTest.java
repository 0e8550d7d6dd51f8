package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.kafka.Broker;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.utils.Utils;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three brokers, of which one is always alive and one may not be, while applications write. */
@Tag("full") // three brokers come and go for minutes
class ClusterFaultsTest {
    private static final int ROUNDS = Integer.getInteger("bellwether.rounds", 1);
    private static final String TRANSACTIONS = "__transaction_state";
    private static final KafkaBrokers BROKERS = KafkaBrokers.start(3, 1, Servers.SETTINGS);

    @AfterAll
    static void close() {
        BROKERS.close();
    }

    @AfterEach
    void heal() {
        BROKERS.link(0).heal();
    }

    /** Somebody who writes until he is told to stop, and what two kinds of readers have read meanwhile. */
    private static final class Traffic implements AutoCloseable {
        private final RelayStage stage;
        private final Reader committed;
        private final Reader uncommitted;
        private final Writers writers;
        private final CompletableFuture<Map<String, Integer>> writing;

        Traffic(RelayStage stage, long seed) throws Exception {
            this.stage = stage;
            committed = stage.reader(true);
            uncommitted = stage.reader(false);
            writers = new Writers(stage.database, stage.table, stage.topic, 12).pausing(15);
            writing = writers.begin(2, Integer.MAX_VALUE, seed);
        }

        void awaitMore(int records) {
            var soFar = committed.poll().ledger().records();
            Eventually.eventually(
                    records + " more are read",
                    RelayStage.PATIENCE,
                    () -> committed.poll().ledger().records() >= soFar + records);
        }

        void check() {
            writers.stop();
            var written = writing.join();
            stage.awaitEmpty();
            for (var reader : List.of(committed, uncommitted)) {
                Eventually.eventually(
                        "all is read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(written));
                assertThat(reader.faults(written)).isEmpty();
                assertThat(reader.deduped().faults(written)).isEmpty();
                assertThat(reader.deduped().repeats()).isZero();
            }
        }

        @Override
        public void close() {
            writers.stop();
            committed.close();
            uncommitted.close();
        }
    }

    @Test
    void deathOfABrokerThatLeadsAPartitionLosesAndReordersNothing() throws Exception {
        try (var stage = new RelayStage(BROKERS.bootstrap());
                var traffic = new Traffic(stage, 31)) {
            stage.relay(more -> more.maxTransactionRecords(100));
            for (var round = 0; round < ROUNDS; round++) {
                killed(stage, traffic, leader(stage.topic, round % 3));
            }
            traffic.check();
        }
    }

    @Test
    void deathOfTheCoordinatorOfTransactionsLosesAndReordersNothing() throws Exception {
        try (var stage = new RelayStage(BROKERS.bootstrap());
                var traffic = new Traffic(stage, 32)) {
            stage.relay(more -> more.maxTransactionRecords(50));
            traffic.awaitMore(1);
            for (var round = 0; round < ROUNDS; round++) {
                killed(stage, traffic, leader(TRANSACTIONS, 0));
            }
            traffic.check();
        }
    }

    @Test
    @Tag("cluster") // each round takes half a minute, until another coordinator is found
    void coordinatorThatIsFrozenWhileItCommitsLosesAndReordersNothing() throws Exception {
        try (var stage = new RelayStage(BROKERS.bootstrap());
                var traffic = new Traffic(stage, 33)) {
            stage.relay(more -> more.maxTransactionRecords(50));
            for (var round = 0; round < ROUNDS; round++) {
                traffic.awaitMore(100);
                var coordinator = leader(TRANSACTIONS, 0);
                coordinator.pause();
                try {
                    // another is made coordinator, and the relay finds it
                    traffic.awaitMore(100);
                } finally {
                    coordinator.resume();
                }
                awaitInSync(stage.topic);
            }
            traffic.check();
        }
    }

    private static void killed(RelayStage stage, Traffic traffic, Broker victim) throws Exception {
        traffic.awaitMore(100);
        victim.kill();
        try {
            traffic.awaitMore(300);
        } finally {
            victim.start();
        }
        awaitInSync(stage.topic);
        awaitInSync(TRANSACTIONS);
        traffic.awaitMore(100);
    }

    @Test
    void deliveriesThatTimeOutAreSentAgainInOrder() throws Exception {
        var link = BROKERS.link(0);
        try (var stage = new RelayStage(BROKERS.bootstrap());
                var traffic = new Traffic(stage, 34)) {
            stage.relay(more -> more.maxTransactionRecords(200)
                    .producer(Map.of(
                            "bootstrap.servers", BROKERS.bootstrap(0),
                            "delivery.timeout.ms", 1_500,
                            "request.timeout.ms", 1_000,
                            "linger.ms", 0,
                            "max.block.ms", 3_000)));
            for (var round = 0; round < ROUNDS; round++) {
                for (var way : Link.Way.values()) {
                    traffic.awaitMore(50);
                    stage.events.clear();
                    link.cut(way);
                    Eventually.eventually(
                            "a time-out with " + way + " cut",
                            RelayStage.PATIENCE,
                            () -> stage.events.stream().anyMatch(ClusterFaultsTest::timedOut));
                    link.heal();
                }
            }
            traffic.awaitMore(50);
            traffic.check();
        }
    }

    @Test
    void partitionWithoutALeaderHoldsUpWhatGoesThereAndNothingElse() throws Exception {
        try (var stage = new RelayStage(BROKERS.bootstrap())) {
            awaitInSync(stage.topic);
            var topic = Servers.fresh("alone");
            var victim = leader(stage.topic, 0).id();
            var other = victim % 3 + 1;
            try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", stage.bootstrap))) {
                admin.createTopics(List.of(new NewTopic(topic, Map.of(0, List.of(victim), 1, List.of(other)))
                                .configs(Map.of("min.insync.replicas", "1"))))
                        .all()
                        .get();
            }
            BROKERS.broker(victim).kill();
            var relay = stage.relay(more -> more.haltRetry(Duration.ofSeconds(1))
                    .producer(Map.of(
                            "bootstrap.servers", stage.bootstrap,
                            "delivery.timeout.ms", 3_000,
                            "request.timeout.ms", 2_000,
                            "linger.ms", 0)));
            try (var reader = new Reader(stage.bootstrap, false, stage.topic)) {
                var there = 0;
                var elsewhere = new HashMap<String, Integer>();
                for (var number = 0; number < 20; number++) {
                    for (var key = 0; key < 10; key++) {
                        var name = "k" + key;
                        stage.stash(Message.of(topic, name, Integer.toString(number)));
                        var partition = Utils.toPositive(Utils.murmur2(name.getBytes(StandardCharsets.UTF_8))) % 2;
                        there += partition == 0 ? 1 : 0;
                        stage.stash(Message.of(stage.topic, name, Integer.toString(number)));
                        elsewhere.merge(name, 1, Integer::sum);
                    }
                }
                var waiting = there;
                assertThat(waiting).isBetween(1, 199);
                Eventually.eventually("all others are gone", RelayStage.PATIENCE, () -> stage.left() == waiting);
                Eventually.eventually(
                        "and read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(elsewhere));
                assertThat(stage.await(RelayEvent.KeyBlocked.class).reason()).contains("no leader");
                var sessions = refreshed(stage);
                stage.stash(Writers.numbered(stage.topic, "later", 0, 50));
                Eventually.eventually("later ones flow", RelayStage.PATIENCE, () -> stage.left() == waiting);
                Eventually.throughout(
                        "no session is spent on it", Duration.ofSeconds(4), () -> refreshed(stage) == sessions);
                elsewhere.put("later", 50);
                assertThat(Reader.faultsOfCommitted(stage.bootstrap, elsewhere, stage.topic))
                        .isEmpty();
            } finally {
                BROKERS.broker(victim).start();
            }
            stage.awaitEmpty();
            try (var reader = new Reader(stage.bootstrap, false, topic)) {
                var all = new HashMap<String, Integer>();
                for (var key = 0; key < 10; key++) {
                    all.put("k" + key, 20);
                }
                Eventually.eventually(
                        "those that waited are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(all));
                assertThat(reader.faults(all)).as("NEVER: out of order or lost").isEmpty();
                assertThat(Reader.faultsOfCommitted(stage.bootstrap, all, topic))
                        .isEmpty();
            }
            assertThat(relay.stats().get(0).parked()).isZero();
            awaitInSync(TRANSACTIONS);
        }
    }

    private static long refreshed(RelayStage stage) {
        return stage.events.stream()
                .filter(RelayEvent.LeaderRefreshed.class::isInstance)
                .count();
    }

    private static boolean timedOut(RelayEvent event) {
        return event instanceof RelayEvent.Faulted faulted
                && (faulted.cause() instanceof TimeoutException
                        || (faulted.cause() instanceof LineStoppedException stopped
                                && stopped.failure() instanceof TimeoutException));
    }

    private static Broker leader(String topic, int partition) throws Exception {
        return BROKERS.broker(
                describe(topic).partitions().get(partition).leader().id());
    }

    private static void awaitInSync(String topic) {
        Eventually.eventually(topic + " is in sync", RelayStage.PATIENCE, () -> {
            try {
                return describe(topic).partitions().stream()
                        .allMatch(partition -> partition.isr().size() == 3);
            } catch (ExecutionException e) {
                return false; // while brokers come and go
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private static TopicDescription describe(String topic) throws ExecutionException, InterruptedException {
        try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", BROKERS.bootstrap()))) {
            return admin.describeTopics(List.of(topic))
                    .allTopicNames()
                    .get()
                    .values()
                    .iterator()
                    .next();
        }
    }
}
