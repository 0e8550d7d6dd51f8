package dev.bellwether.internal.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordTraits;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Orders of two operators, step by step, without a server. */
class OrderRequestTest {
    private static final long NOW = 1_000_000_000;
    private static final Duration LEASE = Duration.ofSeconds(10);

    @Test
    void deletionsThatAreOrderedAtTheSameTimeMakeOneEra() {
        var nothing = new StoredRecord(0, Instant.EPOCH, SeatRecord.ABSENT);
        var one = order(Order.DELETE);
        var other = order(Order.DELETE);
        one.begin(NOW);
        other.begin(NOW);
        var written = one.read(nothing, 0, NOW);
        var late = other.read(nothing, 0, NOW);
        assertThat(written.kind()).isEqualTo(SeatStep.Kind.WRITE);
        assertThat(late.kind()).isEqualTo(SeatStep.Kind.WRITE);

        assertThat(one.written(1, Instant.EPOCH, NOW).kind()).isEqualTo(SeatStep.Kind.DONE);
        assertThat(other.outdated(1, NOW).kind()).isEqualTo(SeatStep.Kind.READ);
        var end = other.read(new StoredRecord(1, Instant.EPOCH, written.next()), 0, NOW);

        assertThat(end.kind()).isEqualTo(SeatStep.Kind.DONE);
        assertThat(end.value()).isEqualTo(true);
        assertThat(written.next().era()).isEqualTo(1);
    }

    @Test
    void anOrderWhoseAnswerIsLostIsFoundInTheRecord() {
        var request = order(Order.END);
        var written = inDoubt(request);
        var end = request.read(new StoredRecord(1, Instant.EPOCH, written.next()), 0, NOW);
        assertThat(end.kind()).isEqualTo(SeatStep.Kind.DONE);
        assertThat(end.value()).isEqualTo(true);
    }

    @Test
    void anOrderThatWasLostIsWrittenAgain() {
        var request = order(Order.END);
        var written = inDoubt(request);
        var again = request.read(new StoredRecord(0, Instant.EPOCH, SeatRecord.ABSENT), 0, NOW);
        assertThat(again.kind()).isEqualTo(SeatStep.Kind.WRITE);
        assertThat(again.expected()).isEqualTo(written.expected());
    }

    @Test
    void anOrderWhoseAnswerIsLostIsLookedForOnce() {
        var request = order(Order.END);
        inDoubt(request);
        assertThat(request.unanswered(new UnavailableException("lost again"), NOW)
                        .kind())
                .isEqualTo(SeatStep.Kind.FAILED);
    }

    @Test
    void anOrderIsWrittenThoughCandidatesWriteAgainAndAgain() {
        var request = order(Order.END);
        request.begin(NOW);
        for (var revision = 0; revision < 10; revision++) {
            var found = new StoredRecord(revision, Instant.EPOCH, SeatRecord.ABSENT);
            assertThat(request.read(found, 0, NOW).kind()).isEqualTo(SeatStep.Kind.WRITE);
            assertThat(request.outdated(revision + 1, NOW).kind())
                    .as("refused %d times", revision + 1)
                    .isEqualTo(SeatStep.Kind.READ);
        }
    }

    /** A server of a cluster may answer with what another has overwritten since. */
    @Test
    void anOldAnswerDoesNotHideWhoLeads() {
        var memory = memory();
        var old = held(1, 7, "then");
        memory.note(old, NOW);
        var later = NOW + 3 * LEASE.toNanos();

        var request = new OrderRequest(memory, () -> "stamp", Order.STAND_DOWN);
        request.begin(later);
        assertThat(request.read(old, 0, later).kind())
                .as("the old answer is tried")
                .isEqualTo(SeatStep.Kind.WRITE);
        assertThat(request.outdated(5, later).kind()).isEqualTo(SeatStep.Kind.READ);
        var written = request.read(held(5, 9, "now"), 0, later);

        assertThat(written.kind()).isEqualTo(SeatStep.Kind.WRITE);
        assertThat(written.next().orders().standDown()).isEqualTo(9);
        assertThat(request.written(6, Instant.EPOCH, later).value()).isEqualTo(true);
    }

    @Test
    void aHolderWhoseLeaseIsOverIsToldOfAsNobody() {
        var memory = memory();
        memory.note(held(1, 7, "then"), NOW);
        var later = NOW + 3 * LEASE.toNanos();

        var request = new OrderRequest(memory, () -> "stamp", Order.STAND_DOWN);
        request.begin(later);
        assertThat(request.read(held(1, 7, "then"), 0, later).kind()).isEqualTo(SeatStep.Kind.WRITE);
        assertThat(request.written(2, Instant.EPOCH, later).value()).isEqualTo(false);
    }

    /** Its write would be refused, and tell nothing: the next one could hit a holder that it knows nothing of. */
    @Test
    void whoMayNotReadWritesNothingOverALeaseThatIsOver() {
        var traits = new RecordTraits(
                false, "we may not read", "", Duration.ZERO, LEASE, Duration.ZERO, Duration.ZERO, RecordTraits.MANY);
        var memory = new SeatMemory("billing", traits, new SeatRules());
        memory.note(held(1, 7, "then"), NOW);

        var answer = new OrderRequest(memory, () -> "stamp", Order.STAND_DOWN).begin(NOW + 3 * LEASE.toNanos());

        assertThat(answer.kind()).isEqualTo(SeatStep.Kind.DONE);
        assertThat(answer.value()).isEqualTo(false);
    }

    /** Has it write, and lose the answer. */
    private static SeatStep<Boolean> inDoubt(SeatRequest<Boolean> request) {
        request.begin(NOW);
        var written = request.read(new StoredRecord(0, Instant.EPOCH, SeatRecord.ABSENT), 0, NOW);
        assertThat(written.kind()).isEqualTo(SeatStep.Kind.WRITE);
        assertThat(request.unanswered(new UnavailableException("lost"), NOW).kind())
                .isEqualTo(SeatStep.Kind.READ);
        return written;
    }

    private static SeatRequest<Boolean> order(Order order) {
        return new OrderRequest(memory(), () -> "stamp", order);
    }

    private static SeatMemory memory() {
        return new SeatMemory("billing", RecordTraits.PLAIN, new SeatRules());
    }

    private static StoredRecord held(long revision, long token, String stamp) {
        var record = new SeatRecord(
                SeatRecord.Kind.HELD,
                "one",
                "claim",
                stamp,
                token,
                0,
                LEASE,
                Duration.ZERO,
                Instant.EPOCH,
                0,
                Map.of(),
                "",
                SeatRecord.Orders.NONE);
        return new StoredRecord(revision, Instant.EPOCH, record);
    }
}
