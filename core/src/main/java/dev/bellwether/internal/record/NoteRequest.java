package dev.bellwether.internal.record;

import dev.bellwether.internal.record.SeatRecord.Kind;
import java.util.function.Supplier;

/**
 * Replaces the note over a seat that is held, if it is the expected one. Confined to anybody who holds the lock of the
 * memory.
 */
final class NoteRequest extends SeatRequest<Boolean> {
    private final long token;
    private final String expected;
    private final String note;

    NoteRequest(SeatMemory memory, Supplier<String> stamps, long token, String expected, String note) {
        super(memory, stamps);
        this.token = token;
        this.expected = expected;
        this.note = note;
    }

    @Override
    int tries() {
        return TRIES_OF_AN_ORDER;
    }

    @Override
    SeatStep<Boolean> begin(long nowNanos) {
        return ask(false, nowNanos);
    }

    @Override
    SeatStep<Boolean> looked(ObservedRecord known, long nowNanos) {
        var record = known.record();
        if (mustSettle(known, nowNanos)) {
            return SeatStep.settle(record.session(), false);
        }
        if (record.kind() != Kind.HELD
                || !memory.isHeld(known, nowNanos)
                || !memory.rules().isFor(token, known.token())) {
            return SeatStep.done(false);
        }
        var present = record.orders().note();
        if (isInDoubt() && present.equals(note)) {
            return SeatStep.done(true); // it was carried out: its answer was lost, or what was sent twice was refused
        }
        if (!present.equals(expected)) {
            return SeatStep.done(false);
        }
        var orders = record.orders().over(known.stored().origin()).noted(note);
        return write(known.revision(), memory.rules().ordered(record, known, orders, stamp()));
    }

    @Override
    SeatStep<Boolean> carriedOut(ObservedRecord known, long nowNanos) {
        return SeatStep.done(true);
    }

    @Override
    SeatStep<Boolean> unanswered(RuntimeException error, long nowNanos) {
        return askInDoubt(error, nowNanos);
    }
}
