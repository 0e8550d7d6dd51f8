package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.kafka.LogEntry.Attempt;
import dev.bellwether.kafka.LogEntry.How;
import dev.bellwether.kafka.LogEntry.Reset;
import dev.bellwether.kafka.LogEntry.Settled;
import dev.bellwether.kafka.LogEntry.Wanted;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.WakeupException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Histories that broke elections by a log, or could have: each failed before its mend. */
class LogHistoriesTest {
    private static final Duration LONGEST = Duration.ofSeconds(1);
    private static final long SECOND = 1_000_000_000L;
    private static final String SEAT = "seats/billing";

    private static final class Reader implements LogMachine.Witness {
        final LogMachine machine = new LogMachine(this);
        final LogKeeper keeper;
        final Map<String, Boolean> judged = new HashMap<>();
        final Map<String, Long> at = new HashMap<>();
        long millis = 1;

        Reader(String name) {
            var ids = new AtomicInteger();
            keeper = new LogKeeper(LogKeeper.Rules.TRUE, LONGEST, () -> 0.5, () -> name + ids.incrementAndGet());
        }

        @Override
        public void judged(Attempt attempt, boolean done, long revision) {
            judged.put(attempt.id(), done);
            at.put(attempt.id(), revision);
        }

        @Override
        public void changed(String name, LogMachine.@Nullable Kept kept) {}

        void read(List<LogEntry> log, int until) {
            while (machine.next() < until) {
                var offset = (int) machine.next();
                machine.read(offset, millis, log.get(offset));
            }
        }
    }

    private static Attempt write(String epoch, String id, long expected) {
        return new Attempt(How.WRITE, SEAT, epoch, id, expected, 0, 0, id);
    }

    /** Carried out twice, a longest lease apart. */
    @Test
    void aResetThatIsCarriedOutTwiceIsOne() {
        var log = new ArrayList<LogEntry>();
        var reset = new Reset("R", 0, 0, LONGEST);
        log.add(reset);
        var a = new Reader("a");
        var b = new Reader("b");
        a.read(log, 1);
        b.read(log, 1);
        var plan = b.keeper.due(b.machine, true, 0);
        b.keeper.knows(plan.reset(), 0);
        var settled = b.keeper.due(b.machine, true, 4 * SECOND).entries();
        assertThat(settled).isNotEmpty();
        log.addAll(settled);
        a.read(log, 2);
        b.read(log, 2);
        log.add(write("R@0", "A leads", a.machine.settledRevision()));
        log.add(reset); // once more
        a.read(log, 3);
        assertThat(a.judged).containsEntry("A leads", true);
        b.read(log, 4);
        assertThat(b.judged).containsEntry("A leads", true);
        assertThat(b.machine.isSettled()).as("the double is void").isTrue();
    }

    /** It would never be void for its place alone, as often as it is carried out. */
    @Test
    void aResetWhoseAuthorHadReadALongerLogIsVoid() {
        var a = new Reader("a");
        a.read(List.of(new Reset("R", 1_000, 0, LONGEST)), 1);
        assertThat(a.machine.isBased()).isFalse();
    }

    /** The same, with nobody's help but that of SETTLED, carried out twice. */
    @Test
    void aResetAndWhatSettlesItCarriedOutTwiceAreOne() {
        var reset = new Reset("R", 0, 0, LONGEST);
        var settled = new Settled("R@0", LONGEST);
        var log = List.<LogEntry>of(
                reset, settled, write("R@0", "A leads", 2), reset, settled, write("R@0", "B leads", 5));
        var b = new Reader("b");
        b.read(log, log.size());
        assertThat(b.judged).containsEntry("A leads", true);
        assertThat(b.judged).as("right behind A").containsEntry("B leads", false);
    }

    /** As LogRecordStore does it: what was read in one piece is learnt when all of it has been read. */
    @Test
    void tokensDoNotFallIfARevisionAndAResetAreReadInOnePiece() {
        var log = new ArrayList<LogEntry>();
        log.add(new Reset("R", 0, 10_000, LONGEST));
        log.add(new Settled("R@0", LONGEST));
        var a = new Reader("a");
        a.read(log, 2);
        a.keeper.learn(a.machine);
        // a pause; then one piece
        for (var i = 0; i < 20; i++) {
            log.add(new Attempt(How.WRITE, SEAT + i, "R@0", "claim" + i, a.machine.settledRevision(), 0, 0, "x"));
        }
        log.add(new Wanted());
        log.add(new Reset("R2", log.size(), 0, LONGEST));
        a.read(log, log.size());
        assertThat(a.judged).containsEntry("claim19", true);
        var held = a.at.get("claim19");
        a.keeper.learn(a.machine);
        var raise = a.keeper.due(a.machine, true, SECOND).entries();
        assertThat(raise).hasSize(1);
        log.addAll(raise);
        log.add(new Settled(a.machine.epoch(), LONGEST));
        a.read(log, log.size());
        log.add(new Attempt(How.WRITE, SEAT + 19, a.machine.epoch(), "next", a.machine.settledRevision(), 0, 0, "x"));
        a.read(log, log.size());
        assertThat(a.judged).containsEntry("next", true);
        assertThat(a.at.get("next")).as("the token of the successor of claim19").isGreaterThan(held);
    }

    /** All was read again, but from a broker that did not know yet that the topic is another one. */
    @Test
    void whoReadsOnInAnotherTopicBehindTheSameIdHasDoubts() {
        var first = Uuid.randomUuid();
        var second = Uuid.randomUuid();
        var times = new AtomicInteger();
        var found = new Uuid[] {first};
        var identity = new LogIdentity(
                first, () -> CompletableFuture.completedFuture(found[0]), times::get, () -> times.incrementAndGet());
        var old = List.<LogEntry>of(new Reset("R1", 0, 0, LONGEST), new Settled("R1@0", LONGEST));
        var a = new Reader("a");
        a.read(old, 2);
        found[0] = second; // says one broker
        assertThat(identity.isSame().toCompletableFuture().join()).isFalse();
        a.machine.beginAt(0);
        a.read(old, 2); // says the other, which leads the partition of the old topic
        // now that broker knows, too
        var log = new ArrayList<LogEntry>();
        log.add(new Wanted());
        log.add(new Reset("R2", 1, 0, LONGEST));
        log.add(new Settled("R2@1", LONGEST));
        log.add(write("R1@0", "A leads", 2));
        log.add(write("R2@1", "B leads", 3));
        var b = new Reader("b");
        b.read(log, log.size());
        a.read(log, log.size());
        assertThat(identity.isSame().toCompletableFuture().join()).isTrue();
        assertThat(a.machine.isInDoubt()).as("reads all once more").isTrue();
        assertThat(a.machine.isInDoubt()).as("once").isFalse();
        assertThat(b.machine.isInDoubt()).as("may not know that it is late").isTrue();
        a.machine.beginAt(0);
        a.read(log, log.size());
        assertThat(a.machine.epoch()).isEqualTo(b.machine.epoch());
        assertThat(a.machine.isInDoubt()).isFalse();
    }

    /** A checkpoint of the topic that was deleted comes to stand in the next: its author must not say that it belongs there. */
    @Test
    void aCheckpointThatWasBegunInAnotherTopicIsNotCompleted() {
        var first = List.<LogEntry>of(new Reset("R1", 0, 0, LONGEST), new Settled("R1@0", LONGEST));
        var a = new Reader("a");
        a.read(first, 2);
        a.keeper.due(a.machine, true, 0);
        var parts = a.keeper.due(a.machine, true, SECOND).entries();
        assertThat(parts).hasSize(1);
        a.keeper.learn(a.machine);
        a.keeper.forgets();
        a.machine.beginAt(0);
        var second = List.of(new Reset("R2", 0, 100, LONGEST), parts.get(0), new Settled("R2@0", LONGEST));
        a.read(second, 3);
        assertThat(a.keeper.due(a.machine, true, 2 * SECOND).entries())
                .noneMatch(entry -> entry instanceof LogEntry.Complete);
    }

    private static final int MANY = 12;

    /** A log that knows so much that a checkpoint of it has two parts. */
    private static List<LogEntry> longLog() {
        var log = new ArrayList<LogEntry>(List.of(new Reset("R", 0, 0, LONGEST), new Settled("R@0", LONGEST)));
        for (var i = 0; i < 2; i++) {
            log.add(new Attempt(How.WRITE, SEAT + i, "R@0", "a" + i, 2, 0, 0, "x".repeat(150_000)));
        }
        return log;
    }

    @Test
    void manyCheckpointsAtOnceAreNotAllInVain() {
        var log = longLog();
        var all = new ArrayList<Reader>();
        var plans = new ArrayList<List<LogEntry>>();
        for (var i = 0; i < MANY; i++) {
            var one = new Reader("reader" + i + '-');
            all.add(one);
            one.read(log, log.size());
            one.keeper.due(one.machine, true, 0);
            plans.add(one.keeper.due(one.machine, true, SECOND).entries());
            assertThat(plans.get(i)).hasSize(2);
        }
        for (var part = 0; part < 2; part++) {
            for (var plan : plans) {
                log.add(plan.get(part));
            }
        }
        var completed = new ArrayList<LogEntry>();
        for (var one : all) {
            one.read(log, log.size());
            completed.addAll(one.keeper.due(one.machine, true, 2 * SECOND).entries());
        }
        assertThat(completed).isNotEmpty().allMatch(entry -> entry instanceof LogEntry.Complete);
        log.addAll(completed);
        var newcomer = new Reader("newcomer");
        newcomer.machine.beginAt(4);
        newcomer.read(log, log.size());
        assertThat(newcomer.machine.isSettled()).isTrue();
        var old = all.get(0);
        old.read(log, log.size());
        assertThat(old.machine.reach()).isEqualTo(4);
    }

    @Test
    void checkpointsWhoseAuthorsDiedAreNotInTheWayOfOthers() {
        var log = longLog();
        for (var i = 0; i < MANY; i++) {
            var one = new Reader("dead" + i + '-');
            one.read(log, 4);
            one.keeper.due(one.machine, true, 0);
            log.add(one.keeper.due(one.machine, true, SECOND).entries().get(0));
        }
        var author = new Reader("author");
        author.read(log, log.size());
        author.millis += 60_000;
        author.keeper.due(author.machine, true, 0);
        var parts = author.keeper.due(author.machine, true, 4 * SECOND).entries();
        assertThat(parts).hasSize(2);
        log.addAll(parts);
        author.read(log, log.size());
        assertThat(author.keeper.due(author.machine, true, 5 * SECOND).entries())
                .singleElement()
                .isInstanceOf(LogEntry.Complete.class);
    }

    private static class Watcher implements LogTail.Follower {
        final AtomicInteger begun = new AtomicInteger();

        @Override
        public void read(List<ConsumerRecord<byte[], byte[]>> records) {}

        @Override
        public void reached(long offset) {}

        @Override
        public void beganAgain(long offset) {
            begun.incrementAndGet();
        }

        @Override
        public void failed(ApiException error) {}

        @Override
        public Duration patience() {
            return Duration.ofMillis(20);
        }
    }

    private static final TopicPartition PARTITION = new TopicPartition("t", 0);

    private static class Broker extends MockConsumer<byte[], byte[]> {
        private final AtomicBoolean failing;

        Broker(AtomicBoolean failing) {
            super("none");
            this.failing = failing;
            updateBeginningOffsets(Map.of(PARTITION, 0L));
            updateEndOffsets(Map.of(PARTITION, 100L));
        }

        @Override
        public synchronized Map<TopicPartition, Long> beginningOffsets(
                Collection<TopicPartition> partitions, Duration timeout) {
            if (failing.getAndSet(false)) {
                throw new TimeoutException("no leader yet");
            }
            return super.beginningOffsets(partitions, timeout);
        }
    }

    /** It asks where the log begins, which takes a while: before it reads, and when its place in the log is gone. */
    @Test
    void aTailThatIsWokenWhileItLooksForItsPlaceHasNotFailed() throws Exception {
        var asked = new AtomicInteger();
        var made = new AtomicInteger();
        var reached = new CompletableFuture<Boolean>();
        var watcher = new Watcher() {
            @Override
            public boolean looksForItsPlace() {
                return true;
            }

            @Override
            public void beganAgain(long offset) {
                reached.complete(true);
            }
        };
        Supplier<MockConsumer<byte[], byte[]>> connector = () -> {
            made.incrementAndGet();
            return new Broker(new AtomicBoolean()) {
                @Override
                public synchronized Map<TopicPartition, Long> beginningOffsets(
                        Collection<TopicPartition> partitions, Duration timeout) {
                    if (asked.incrementAndGet() % 2 == 1) {
                        throw new WakeupException();
                    }
                    return super.beginningOffsets(partitions, timeout);
                }

                @Override
                public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
                    if (!reached.isDone()) {
                        throw new OffsetOutOfRangeException(Map.of(PARTITION, 5L));
                    }
                    return super.poll(timeout);
                }
            };
        };
        try (var said = new LogSaid();
                var tail = new LogTail(PARTITION, connector, watcher)) {
            tail.start();
            reached.get(30, TimeUnit.SECONDS);
            assertThat(said.warnings("failed")).isEmpty();
            assertThat(made).as("the consumers that were made").hasValue(2);
        }
    }

    /** As when its jar was replaced under the running process: threads came and died as fast as they could. */
    @Test
    void aTailWhoseClientCannotBeLoadedTriesAgainNowAndThen() throws Exception {
        var tries = new CountDownLatch(4);
        var began = System.nanoTime();
        try (var tail = new LogTail(
                PARTITION,
                () -> {
                    tries.countDown();
                    throw new NoClassDefFoundError("pretended");
                },
                new Watcher())) {
            tail.start();
            assertThat(tries.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(Duration.ofMillis(500));
        }
    }

    /** As while the names of the brokers are not known, which may last: the log must not fill up with it. */
    @Test
    void aTailWhoseClientCannotBeMadeSaysSoOnce() {
        assertToldOnce(new KafkaException("pretended"), "reading " + PARTITION);
    }

    /** Who only watches an election hears nothing meanwhile, and would not know why. */
    @Test
    void aTailThatMayNotReadSaysSoOnce() {
        assertToldOnce(new TopicAuthorizationException("pretended"), PARTITION + " may not be read now");
    }

    /** It told at each try that all is read again. */
    @Test
    void aTailThatCannotGetBeyondAnErrorSaysSoOnce() {
        var reads = new AtomicInteger();
        var watcher = new Watcher() {
            @Override
            public void read(List<ConsumerRecord<byte[], byte[]>> records) {
                if (reads.incrementAndGet() < 5) {
                    throw new NoClassDefFoundError("pretended");
                }
            }
        };
        try (var said = new LogSaid();
                var tail = new LogTail(PARTITION, () -> new Broker(new AtomicBoolean()), watcher)) {
            tail.start();
            Eventually.eventually(
                    "it is read", Duration.ofSeconds(30), () -> said.text().contains(PARTITION + " can be read again"));
            assertThat(said.text().lines().filter(line -> line.contains("ERROR") && line.contains("beginning again")))
                    .hasSize(1);
            assertThat(said.warnings(PARTITION + " is read again")).isEmpty();
        }
    }

    /** The second one was a line at DEBUG. */
    @Test
    void aTailThatFailsForTwoReasonsTellsEachOnce() {
        var tries = new AtomicInteger();
        Supplier<MockConsumer<byte[], byte[]>> connector = () -> {
            var number = tries.incrementAndGet();
            if (number < 7) {
                throw number % 2 == 0 ? new KafkaException("pretended") : new TopicAuthorizationException("pretended");
            }
            return new Broker(new AtomicBoolean());
        };
        assertToldOnce(connector, PARTITION + " may not be read now", "reading " + PARTITION);
    }

    private static void assertToldOnce(KafkaException error, String warning) {
        var tries = new AtomicInteger();
        Supplier<MockConsumer<byte[], byte[]>> connector = () -> {
            if (tries.incrementAndGet() < 4) {
                throw error;
            }
            return new Broker(new AtomicBoolean());
        };
        assertToldOnce(connector, warning);
    }

    private static void assertToldOnce(Supplier<MockConsumer<byte[], byte[]>> connector, String... warnings) {
        try (var said = new LogSaid();
                var tail = new LogTail(PARTITION, connector, new Watcher())) {
            tail.start();
            Eventually.eventually(
                    "it is read", Duration.ofSeconds(30), () -> said.text().contains(PARTITION + " can be read again"));
            for (var warning : warnings) {
                assertThat(said.warnings(warning)).hasSize(1);
            }
        }
    }

    @Test
    void aTailThatWasToBeginAgainDoesSoThoughTheFirstAnswerIsATimeOut() {
        var failing = new AtomicBoolean();
        var watcher = new Watcher();
        try (var tail = new LogTail(PARTITION, () -> new Broker(failing), watcher)) {
            var found = new AtomicReference<>(Uuid.randomUuid());
            var identity = new LogIdentity(
                    found.get(), () -> CompletableFuture.completedFuture(found.get()), tail::rereads, tail::beginAgain);
            tail.start();
            assertThat(identity.isSame().toCompletableFuture().join()).isTrue();
            found.set(Uuid.randomUuid());
            failing.set(true);
            Eventually.eventually(
                    "all is read once more",
                    Duration.ofSeconds(30),
                    () -> identity.isSame().toCompletableFuture().join());
            assertThat(failing).isFalse();
            assertThat(watcher.begun).hasValue(1);
        }
    }
}
