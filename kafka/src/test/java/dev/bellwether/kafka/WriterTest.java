package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.spi.Fields;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RoundRobinPartitioner;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.NotEnoughReplicasException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.SslAuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Which errors have another producer made, and so hurt all whose records are under way. */
class WriterTest {
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration BETWEEN = Duration.ofMillis(500);

    private final List<MockProducer<byte[], byte[]>> made = new ArrayList<>();
    private final AtomicInteger missed = new AtomicInteger();
    private final HandClock clock = new HandClock();
    private final Writer writer = new Writer(
            this::make,
            new TopicPartition("leaders", 0),
            Duration.ofSeconds(3),
            error -> missed.incrementAndGet(),
            clock);

    private boolean cannotMake;
    private boolean tellsWhileClosing;

    private Producer<byte[], byte[]> make() {
        if (cannotMake) {
            throw new KafkaException("Failed to load SSL keystore");
        }
        var producer =
                new MockProducer<>(
                        false, new RoundRobinPartitioner(), new ByteArraySerializer(), new ByteArraySerializer()) {
                    @Override
                    public void close(Duration timeout) {
                        if (tellsWhileClosing) {
                            tellOfAll(this);
                        }
                        super.close(timeout);
                    }
                };
        made.add(producer);
        return producer;
    }

    /** As a real one does when it is closed by another thread than its own, and waits for that. */
    private static void tellOfAll(MockProducer<byte[], byte[]> producer) {
        var own = new Thread(() -> {
            var more = true;
            while (more) {
                more = producer.errorNext(new KafkaException("Producer is closed forcefully."));
            }
        });
        own.setDaemon(true);
        own.start();
        try {
            own.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private final List<@Nullable Exception> told = new ArrayList<>();

    private void write(String election) {
        writer.write(
                new Entry(Entry.What.BEAT, election, Fields.with("token", 1).build()), told::add);
    }

    static List<RuntimeException> errorsOfOneRecord() {
        return List.of(new RecordTooLargeException("1 MB"), new TopicAuthorizationException("leaders"));
    }

    @ParameterizedTest
    @MethodSource("errorsOfOneRecord")
    void anErrorOfOneRecordHurtsItsOwnElectionOnly(RuntimeException error) {
        write("large");
        write("healthy");
        made.get(0).errorNext(error);
        made.get(0).completeNext();
        assertThat(told).containsExactly(error, null);
        assertThat(made).as("the producers that were made").hasSize(1);
        assertThat(missed).hasValue(1);
    }

    /** The producer is as it was, and with another one all that others have under way would fail. */
    @Test
    void anInterruptOfOneThatWritesHurtsItsOwnElectionOnly() {
        write("under way");
        made.get(0).sendException = new InterruptException("planted");
        write("interrupted");
        assertThat(Thread.interrupted()).as("still interrupted").isTrue();
        made.get(0).sendException = null;
        made.get(0).completeNext();
        assertThat(told).hasSize(2).last().isNull();
        assertThat(made).as("the producers that were made").hasSize(1);
    }

    @Test
    void anErrorThatLeavesTheProducerUnusableHasAnotherOneMade() {
        write("any");
        made.get(0).errorNext(new ClusterAuthorizationException("no"));
        assertThat(made).hasSize(2);
        assertThat(made.get(0).closed()).isTrue();
        write("any");
        made.get(1).errorNext(new OutOfOrderSequenceException("lost"));
        assertThat(made).as("at most one a second").hasSize(2);
    }

    /** While credentials are refused, for example: it was a stack trace a second. */
    @Test
    void thatAnotherOneIsOfNoUseIsToldOnceUntilSomethingIsWritten() {
        try (var log = new LogSaid()) {
            for (var i = 0; i < 5; i++) {
                writeRefused();
            }
            assertThat(made).hasSize(6);
            assertThat(log.warnings("cannot be written to")).hasSize(1);
            write("leaders", null);
            writeRefused();
            assertThat(log.warnings("cannot be written to")).hasSize(2);
        }
    }

    /** It was a line at DEBUG. */
    @Test
    void thatAnotherOneIsOfNoUseForAnotherReasonIsToldToo() {
        try (var log = new LogSaid()) {
            for (var i = 0; i < 3; i++) {
                writeRefused();
                clock.passes(Duration.ofSeconds(2));
                write("leaders", new OutOfOrderSequenceException("lost"));
            }
            assertThat(log.warnings("cannot be written to")).hasSize(2);
        }
    }

    private void writeRefused() {
        clock.passes(Duration.ofSeconds(2));
        write("leaders", new SaslAuthenticationException("no"));
    }

    @Test
    void oneThatTellsOfOthersWhileItIsClosedIsReplacedAllTheSame() {
        tellsWhileClosing = true;
        write("under way");
        var error = new KafkaException("it cannot be used any more");
        made.get(0).sendException = error;
        assertTimeoutPreemptively(PATIENCE, () -> write("refused at once"));
        assertThat(told).hasSize(2).last().isEqualTo(error);
        assertThat(made).as("the producers that were made").hasSize(2);
        assertThat(made.get(0).closed()).isTrue();
        assertTimeoutPreemptively(PATIENCE, () -> writer.close(Duration.ZERO));
    }

    /** Only one of the brokers may refuse its certificates, and of that no more is told. */
    @Test
    void oneThatIsAlwaysLateForOneOfItsPartitionsIsReplaced() {
        writeFor(Duration.ofSeconds(11), List.of("leaders"));
        assertThat(made).as("the producers that were made").hasSize(2);
        assertThat(made.get(0).closed()).isTrue();
        write("leaders", null);
        assertThat(told).last().isNull();
    }

    /** Each time, records of all others that are under way fail. */
    @Test
    void onePartitionThatNobodyLeadsHasFewOthersMadeHoweverLongThatLasts() {
        writeFor(Duration.ofMinutes(1), List.of("leaders"));
        assertThat(made).as("the producers of a minute").hasSizeLessThanOrEqualTo(3);
        writeFor(Duration.ofHours(1), List.of("leaders"));
        assertThat(made).as("the producers of an hour").hasSizeBetween(10, 40); // it may be refused from now on
    }

    @Test
    void soHaveManyThatNobodyLeads() {
        writeFor(Duration.ofMinutes(1), List.of("leaders", "many", "more", "most"));
        assertThat(made).as("the producers of a minute").hasSizeLessThanOrEqualTo(3);
    }

    @Test
    void onePartitionThatNobodyLedIsNoLessWatchedWhenItHasBeenWrittenTo() {
        writeFor(Duration.ofMinutes(5), List.of("leaders"));
        var before = made.size();
        write("leaders", null);
        writeFor(Duration.ofSeconds(11), List.of("leaders"));
        assertThat(made).hasSize(before + 1);
    }

    @Test
    void whatOthersMissDoesNotHideOnePartitionThatRefusesUs() {
        writeFor(Duration.ofMinutes(5), List.of("leaders"));
        var before = made.size();
        writeFor(Duration.ofSeconds(11), List.of("leaders", "refused"));
        assertThat(made).hasSizeBetween(before + 1, before + 2);
    }

    /** Records for these are late, for so long, and those for another are not. */
    private void writeFor(Duration time, List<String> late) {
        for (var passed = Duration.ZERO; passed.compareTo(time) < 0; passed = passed.plus(BETWEEN)) {
            clock.passes(BETWEEN);
            late.forEach(topic -> write(topic, new TimeoutException("3001 ms has passed since batch creation")));
            write("roster", null);
        }
    }

    private void write(String topic, @Nullable RuntimeException error) {
        writer.write(new ProducerRecord<>(topic, 0, null, new byte[0]), told::add);
        var producer = made.get(made.size() - 1);
        if (error == null) {
            producer.completeNext();
        } else {
            producer.errorNext(error);
        }
    }

    @Test
    void whatBrokersTakeNothingOfIsToldUntilTheyTakeOrWeReadSomething() {
        var longest = Duration.ofSeconds(2);
        write("any");
        clock.passes(longest);
        assertThat(writer.refusal("leaders", longest)).containsInstanceOf(TimeoutException.class);
        var error = new NotEnoughReplicasException("too few in-sync replicas");
        made.get(0).errorNext(error);
        write("any");
        assertThat(writer.refusal("leaders", longest)).contains(error);
        assertThat(writer.refusal("others", longest)).isEmpty();
        made.get(0).completeNext();
        assertThat(writer.refusal("leaders", longest)).isEmpty();
        write("any");
        clock.passes(longest);
        writer.forget("leaders");
        assertThat(writer.refusal("leaders", longest)).isEmpty();
    }

    @Test
    void aRecordThatNoBrokerWouldTakeSaysNothingOfThem() {
        write("any");
        made.get(0).errorNext(new RecordTooLargeException("too much"));
        clock.passes(Duration.ofSeconds(2));
        assertThat(writer.refusal("leaders", Duration.ofSeconds(2))).isEmpty();
    }

    /** As one does whose thread has died of an error: it was told nothing of, and records wait forever. */
    @Test
    void oneThatTellsNothingAtAllIsReplaced() {
        for (var passed = Duration.ZERO; passed.compareTo(Duration.ofSeconds(15)) < 0; passed = passed.plus(BETWEEN)) {
            clock.passes(BETWEEN);
            write("leaders");
        }
        assertThat(made).as("the producers that were made").hasSize(2);
        assertThat(made.get(0).closed()).isTrue();
    }

    /** A thread of Kafka's ends by any error, for example by one that a callback throws. */
    @Test
    void whatIsWrittenBehindAnErrorOnTheThreadOfARealOneIsWritten() {
        var settings =
                Settings.of(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()));
        var time = new HandClock();
        var real = new Writer(
                () -> settings.writer("dying"),
                new TopicPartition("dying-" + UUID.randomUUID(), 0),
                settings.delivery(),
                error -> {},
                time);
        var entry = new Entry(Entry.What.BEAT, "any", Fields.with("token", 1).build());
        var died = new CountDownLatch(1);
        real.write(entry, error -> {
            died.countDown();
            throw new NoClassDefFoundError("planted");
        });
        Eventually.eventually("it was told of the first", PATIENCE, () -> died.getCount() == 0);
        var written = new AtomicInteger();
        Eventually.eventually("another is written", Duration.ofSeconds(60), () -> {
            time.passes(settings.delivery());
            real.write(entry, error -> written.addAndGet(error == null ? 1 : 0));
            return written.get() > 0;
        });
        real.close(Duration.ZERO);
    }

    /** Somebody is writing the file of its certificates at this moment, for example. */
    @Test
    void whereNoOtherCanBeMadeTheAuthorIsToldAllTheSameAndTheFormerStays() {
        cannotMake = true;
        write("any");
        var error = new SslAuthenticationException("it has expired");
        made.get(0).errorNext(error);
        assertThat(told).containsExactly(error);
        assertThat(made.get(0).closed()).isFalse();
    }
}
