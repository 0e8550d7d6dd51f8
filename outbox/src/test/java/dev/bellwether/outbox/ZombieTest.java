package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.testkit.Eventually;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A leader that is held up at the worst moment, while another takes over; then it goes on, and still believes to lead.
 */
class ZombieTest {
    private static final int NUMBERS = 100;
    /** In a transaction of the zombie, which commits three of them. */
    private static final int BATCH = 20;

    @Test
    void whatAZombieHasSentIsNeverCommitted() throws Exception {
        assertThat(zombieCommitsLate(true, 0, properties -> properties)).isEmpty();
    }

    @Test
    void checkerCatchesAZombieThatNobodyHasFenced() throws Exception {
        // with progress the successor would wait until what the zombie has sent is decided
        assertThat(zombieCommitsLate(false, 3 * BATCH, properties -> {
                    var unfenced = new HashMap<>(properties);
                    unfenced.put("transactional.id", UUID.randomUUID().toString());
                    return unfenced;
                }))
                .anySatisfy(fault -> assertThat(fault).contains("stale tail"));
    }

    /**
     * Returns what a reader of committed records complains of.
     *
     * @param late how many records of the zombie are committed in the end
     */
    private static List<String> zombieCommitsLate(
            boolean once, int late, UnaryOperator<Map<String, Object>> producerProperties) throws Exception {
        var fault = new Zombie();
        try (var stage = new RelayStage();
                var reader = stage.reader(true);
                var elsewhere = Elections.connect("memory:" + stage.name + "-elsewhere")) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, NUMBERS));
            var config = stage.config(more -> more.once(once).maxTransactionRecords(BATCH));
            var zombie = OutboxRelay.start(
                    FaultyDatabase.of(stage.database, fault),
                    config,
                    elsewhere,
                    false,
                    properties -> FaultyProducer.of(producerProperties.apply(properties), fault));
            fault.held.reached.await();
            stage.relay(
                    more -> more.once(once), properties -> new KafkaProducer<>(producerProperties.apply(properties)));
            stage.awaitEmpty();
            fault.held.goOn.countDown();
            Eventually.eventually(
                    "the zombie notices",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream().anyMatch(RelayEvent.Faulted.class::isInstance));
            fault.isOver();
            zombie.close();
            stage.stash(Writers.numbered(stage.topic, "other", 0, 1));
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("other", 1))
                            && reader.ledger().records() == NUMBERS + late + 1);
            return reader.faults(Map.of("k", NUMBERS, "other", 1));
        }
    }

    /**
     * Is held up before its first commit, while it appends its second transaction; then it does one more, and dies
     * before it deletes anything. If it went on to the last, the topic would end as it should. It does not report
     * meanwhile, since it would learn from the database that it leads no more.
     */
    private static final class Zombie implements FaultyProducer.Fault {
        final Hold held = new Hold("commitTransaction", true);
        private final CountDownLatch committed = new CountDownLatch(3);
        private final AtomicInteger begun = new AtomicInteger();

        @Override
        public void before(String method) {
            held.before(method);
            if (method.equals("report") && held.reached.getCount() == 0) {
                await(committed);
            }
            if (method.equals("delete") || (method.equals("beginTransaction") && begun.incrementAndGet() == 4)) {
                await(committed);
                throw new KafkaException("planted");
            }
        }

        @Override
        public void after(String method) {
            if (method.equals("commitTransaction")) {
                committed.countDown();
            }
        }

        void isOver() {
            while (committed.getCount() > 0) {
                committed.countDown();
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void zombieDeletesNothingThatItsSuccessorHasBegunToSendAgain() throws Exception {
        // Without the epoch, the zombie would delete rows 20 to 99 while the topic ends with 19; the next leader would
        // find nothing.
        var zombieHeld = new Hold("commitTransaction", false);
        var successorHeld = new Hold("beginTransaction", true, 2);
        try (var stage = new RelayStage();
                var reader = stage.reader(true);
                var elsewhere = Elections.connect("memory:" + stage.name + "-elsewhere");
                var yetElsewhere = Elections.connect("memory:" + stage.name + "-yet-elsewhere")) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, NUMBERS));
            var relays = new ArrayList<OutboxRelay>();
            relays.add(OutboxRelay.start(
                    stage.database,
                    stage.config(more -> more.once(false)),
                    elsewhere,
                    false,
                    properties -> FaultyProducer.of(properties, zombieHeld)));
            zombieHeld.reached.await();
            relays.add(OutboxRelay.start(
                    stage.database,
                    stage.config(more -> more.once(false).maxTransactionRecords(20)),
                    yetElsewhere,
                    false,
                    properties -> FaultyProducer.of(properties, successorHeld)));
            successorHeld.reached.await();
            Eventually.eventually(
                    "the successor deletes what it sent", RelayStage.PATIENCE, () -> stage.left() == NUMBERS - 20);
            zombieHeld.goOn.countDown();
            Eventually.eventually(
                    "the zombie notices",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream()
                            .filter(RelayEvent.Faulted.class::isInstance)
                            .map(RelayEvent.Faulted.class::cast)
                            .anyMatch(event -> event.cause() instanceof DeposedException));
            relays.get(0).close();
            var closing = new Thread(relays.get(1)::close);
            closing.start();
            stage.relay(more -> more.once(false));
            stage.awaitEmpty();
            successorHeld.goOn.countDown();
            closing.join();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().records() >= 2 * NUMBERS);
            assertThat(reader.ledger().faults(Map.of("k", NUMBERS))).isEmpty();
        }
    }

    /** Else rows could go that it has read, and begun to send again. */
    @ParameterizedTest
    @EnumSource
    void successorWaitsForADeleteThatIsUnderWay(OutboxForm form) throws Exception {
        successorWaitsForADelete(new RelayStage(form));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void successorWaitsForADeleteThatIsUnderWayOnMariaDbAndMySql(Kind kind) throws Exception {
        successorWaitsForADelete(new RelayStage(
                Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER));
    }

    private static void successorWaitsForADelete(RelayStage stage) throws Exception {
        try (stage;
                var former = stage.connect();
                var next = stage.connect()) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 2));
            var store = Store.of(former, stage.table).asFound(former);
            store.prepare(former, true);
            store.prepare(next, true);
            var epoch = store.acquire(former, new Store.Claim("x", 0, 1, "former", true))
                    .epoch();
            former.setAutoCommit(false);
            assertThat(store.delete(former, 0, epoch, new long[] {1, 2})).isEqualTo(2);
            var acquiring = CompletableFuture.supplyAsync(
                    () -> {
                        try {
                            return store.acquire(next, new Store.Claim("x", 0, 1, "next", true));
                        } catch (SQLException e) {
                            throw new IllegalStateException(e);
                        }
                    },
                    task -> new Thread(task, "next").start());
            Eventually.eventually(
                    "it waits, or does not",
                    RelayStage.PATIENCE,
                    () -> acquiring.isDone() || DivideTest.waits(stage.database));
            assertThat(acquiring)
                    .as("NEVER: it reads the table while rows are being deleted")
                    .isNotDone();
            former.commit();
            assertThat(acquiring.join().epoch()).isEqualTo(epoch + 1);
        }
    }

    /** It holds the row of the shard meanwhile, for as long as the database lets it. */
    @Test
    void relayThatIsFrozenWhileItParksHoldsUpItsSuccessorForSecondsOnly() throws Exception {
        var held = new Hold("park", true);
        try (var stage = new RelayStage();
                var elsewhere = Elections.connect("memory:" + stage.name + "-elsewhere")) {
            var small = Servers.fresh("small");
            Servers.topic(stage.bootstrap, small, 1, Map.of("max.message.bytes", "3000"));
            stage.stash(Message.of(small, "bad", PoisonTest.TOO_LARGE));
            stage.stash(Writers.numbered(small, "k", 0, NUMBERS));
            var frozen = OutboxRelay.start(
                    FaultyDatabase.of(stage.database, held),
                    stage.config(more -> more.poison(Poison.PARK).databaseTimeout(Duration.ofMinutes(5))),
                    elsewhere,
                    false,
                    KafkaProducer::new);
            held.reached.await();
            stage.relay(more -> more.poison(Poison.PARK).databaseTimeout(Duration.ofMinutes(5)));
            stage.awaitEmpty();
            held.goOn.countDown();
            frozen.close();
            assertThat(OutboxAdmin.of(stage.database, stage.table).parked(10)).hasSize(1);
            assertThat(Reader.faultsOfCommitted(stage.bootstrap, Map.of("k", NUMBERS), small))
                    .isEmpty();
        }
    }

    /** Stops a producer at a call, once, until it may go on. */
    private static final class Hold implements FaultyProducer.Fault {
        final CountDownLatch reached = new CountDownLatch(1);
        final CountDownLatch goOn = new CountDownLatch(1);
        private final String method;
        private final boolean before;
        private int countdown;

        Hold(String method, boolean before) {
            this(method, before, 1);
        }

        Hold(String method, boolean before, int countdown) {
            this.method = method;
            this.before = before;
            this.countdown = countdown;
        }

        @Override
        public void before(String called) {
            if (before) {
                hold(called);
            }
        }

        @Override
        public void after(String called) {
            if (!before) {
                hold(called);
            }
        }

        private void hold(String called) {
            if (!called.equals(method) || --countdown != 0) {
                return;
            }
            reached.countDown();
            await(goOn);
        }
    }
}
