package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two producers in turn keep the order of one. */
class AlternatingSendersTest {
    private final MockProducer<byte[], byte[]> one = producer();
    private final MockProducer<byte[], byte[]> other = producer();
    private final CountDownLatch committing = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);
    private final AlternatingSenders tandem = new AlternatingSenders(
            "tandem",
            new TransactionalSender(
                    FaultyProducer.of(one, new FaultyProducer.Fault() {
                        @Override
                        public void before(String method) {
                            if (method.equals("commitTransaction")) {
                                committing.countDown();
                                await(goOn);
                            }
                        }
                    }),
                    "event-id"),
            new TransactionalSender(other, "event-id"));

    private static MockProducer<byte[], byte[]> producer() {
        return new MockProducer<>(true, null, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static List<Row> row(long id) {
        return List.of(new Row(id, "event-" + id, "topic", null, new byte[0], null, 0, -1, 0, false));
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @BeforeEach
    void open() {
        tandem.open();
    }

    @AfterEach
    void close() {
        goOn.countDown();
        tandem.close(true, TimeUnit.SECONDS.toNanos(30));
        assertThat(one.closed()).isTrue();
        assertThat(other.closed()).isTrue();
    }

    /** A former leader that is fenced on one only could commit more on the other, if that were the first. */
    @Test
    void theOneThatSendsFirstIsFencedFirst() {
        var fenced = new ArrayList<String>();
        var both = new AlternatingSenders("both", noting("first", fenced), noting("second", fenced));
        both.open();
        both.close(true, 0);
        assertThat(fenced).containsExactly("first", "second");
    }

    private static TransactionalSender noting(String name, List<String> fenced) {
        return new TransactionalSender(
                FaultyProducer.of(producer(), new FaultyProducer.Fault() {
                    @Override
                    public void before(String method) {
                        if (method.equals("initTransactions")) {
                            fenced.add(name);
                        }
                    }
                }),
                "event-id");
    }

    @Test
    void oneAppendsWhileTheOtherCommits() throws Exception {
        tandem.append(row(1), null);
        tandem.commit(null, () -> {}, () -> {});
        await(committing);
        tandem.append(row(2), null);
        assertThat(other.uncommittedRecords()).hasSize(1);
        goOn.countDown();
        assertThat(tandem.settle()).isTrue();
        assertThat(one.history()).hasSize(1);
        assertThat(other.history()).isEmpty();
        tandem.commit(null, () -> {}, () -> {});
        assertThat(tandem.settle()).isTrue();
        assertThat(other.history()).hasSize(1);
        assertThat(tandem.settle()).isFalse();
    }

    @Test
    void nothingIsCommittedBeforeWhatWasAppendedBeforeIt() throws Exception {
        tandem.append(row(1), null);
        tandem.commit(null, () -> {}, () -> {});
        await(committing);
        tandem.append(row(2), null);
        assertThatThrownBy(() -> tandem.commit(null, () -> {}, () -> {})).isInstanceOf(IllegalStateException.class);
        assertThat(other.history()).isEmpty();
    }

    @Test
    void aRowThatFailsBesideItsProgressMayBeInnocent() {
        var progress = new ProducerRecord<byte[], byte[]>("progress", new byte[0]);
        assertThat(failed(null).inDoubt()).isFalse();
        assertThat(failed(progress).inDoubt()).isTrue();
    }

    private static LineStoppedException failed(@Nullable ProducerRecord<byte[], byte[]> progress) {
        var failing = new MockProducer<>(false, null, new ByteArraySerializer(), new ByteArraySerializer());
        var sender = new TransactionalSender(
                FaultyProducer.of(failing, new FaultyProducer.Fault() {
                    @Override
                    public void before(String method) {
                        if (method.equals("flush")) {
                            failing.errorNext(new TopicAuthorizationException("planted"));
                        }
                    }
                }),
                "event-id");
        sender.open();
        return catchThrowableOfType(
                LineStoppedException.class, () -> sender.append(row(1), progress == null ? null : () -> progress));
    }

    @Test
    void nothingIsCommittedBehindACommitThatFailed() throws Exception {
        one.commitTransactionException = new TimeoutException("planted");
        tandem.append(row(1), null);
        goOn.countDown();
        var confirmed = new CountDownLatch(1);
        var ended = new CountDownLatch(1);
        tandem.commit(null, confirmed::countDown, ended::countDown);
        tandem.append(row(2), null);
        assertThatThrownBy(tandem::settle).hasMessage("planted");
        assertThatThrownBy(tandem::settle).hasMessage("planted");
        assertThatThrownBy(() -> tandem.commit(null, () -> {}, () -> {})).isInstanceOf(IllegalStateException.class);
        await(ended);
        assertThat(confirmed.getCount()).isEqualTo(1);
        assertThat(other.history()).isEmpty();
    }

    @Test
    void closeAwaitsACommitThatIsUnderWay() throws Exception {
        tandem.append(row(1), null);
        var confirmed = new CountDownLatch(1);
        tandem.commit(null, confirmed::countDown, () -> {});
        await(committing);
        var closing = new Thread(() -> tandem.close(true, TimeUnit.SECONDS.toNanos(30)));
        closing.start();
        goOn.countDown();
        closing.join();
        assertThat(confirmed.getCount()).isZero();
        assertThat(one.history()).hasSize(1);
    }
}
