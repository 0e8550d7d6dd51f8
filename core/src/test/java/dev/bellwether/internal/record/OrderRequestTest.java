package dev.bellwether.internal.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordTraits;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Orders of two operators, step by step, without a server. */
class OrderRequestTest {
    private static final long NOW = 1_000_000_000;

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

    @Test
    void anOrderToStandDownDoesNotHitTheNextHolder() {
        var request = order(Order.STAND_DOWN);
        request.begin(NOW);
        var written = request.read(new StoredRecord(5, Instant.EPOCH, heldBy("ann")), 0, NOW);
        assertThat(written.kind()).isEqualTo(SeatStep.Kind.WRITE);
        assertThat(request.outdated(6, NOW).kind()).isEqualTo(SeatStep.Kind.READ);
        var end = request.read(new StoredRecord(6, Instant.EPOCH, heldBy("bob")), 0, NOW);
        assertThat(end.kind()).isEqualTo(SeatStep.Kind.DONE);
        assertThat(end.value()).isEqualTo(true);
    }

    @Test
    void aNoteThatIsSentTwiceIsFoundInTheRecord() {
        var lease = Duration.ofSeconds(10);
        var claim = new Claim("billing", "ann", "n-1", lease, lease, 0, Map.of());
        var seat = SeatRecord.ABSENT.taken(claim, SeatRecord.Kind.HELD, "stamp", 0, 0);
        var request = new NoteRequest(memory(), () -> "stamp", 5, "", "a note");
        request.begin(NOW);
        var written = request.read(new StoredRecord(5, Instant.EPOCH, seat), 0, NOW);
        assertThat(written.kind()).isEqualTo(SeatStep.Kind.WRITE);
        assertThat(request.outdated(6, NOW).kind()).isEqualTo(SeatStep.Kind.READ);
        var end = request.read(new StoredRecord(6, Instant.EPOCH, written.next()), 0, NOW);
        assertThat(end.kind()).isEqualTo(SeatStep.Kind.DONE);
        assertThat(end.value()).isEqualTo(true);
    }

    /** It may also have looked meanwhile: then it is asked once more. */
    @Test
    void thatAHolderIsToLookIsFoundInItsSessionThoughTheAnswerIsLost() {
        var request = new NudgeRequest(memory(), () -> "stamp", "billing");
        request.begin(NOW);
        var session = SeatRecord.session("session", Duration.ofSeconds(10), 0, "stamp");
        var written = request.read(new StoredRecord(1, Instant.EPOCH, session), 0, NOW);
        assertThat(written.kind()).isEqualTo(SeatStep.Kind.WRITE);
        assertThat(request.unanswered(new UnavailableException("lost"), NOW).kind())
                .isEqualTo(SeatStep.Kind.READ);
        var end = request.read(new StoredRecord(2, Instant.EPOCH, written.next()), 0, NOW);
        assertThat(end.kind()).isEqualTo(SeatStep.Kind.DONE);
        assertThat(end.value()).isEqualTo(true);
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

    private static SeatRecord heldBy(String candidate) {
        var lease = Duration.ofSeconds(10);
        var claim = new Claim("billing", candidate, candidate + "-1", lease, lease, 0, Map.of());
        return SeatRecord.ABSENT.taken(claim, SeatRecord.Kind.HELD, "stamp of " + candidate, 0, 0);
    }

    private static SeatMemory memory() {
        return new SeatMemory("billing", RecordTraits.PLAIN, new SeatRules());
    }
}
