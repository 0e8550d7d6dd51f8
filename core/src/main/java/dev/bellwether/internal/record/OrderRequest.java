package dev.bellwether.internal.record;

import dev.bellwether.ElectionException;
import dev.bellwether.internal.record.SeatRecord.Kind;
import dev.bellwether.spi.Order;
import java.time.Duration;
import java.util.function.Supplier;

/** Writes an operator's order into the record of a seat. Confined to anybody who holds the lock of the memory. */
final class OrderRequest extends SeatRequest<Boolean> {
    /** For so long a seat is left alone of which an order found nothing that it could read. */
    private static final Duration AFTER_UNCLEAR = Duration.ofMinutes(1);

    private final Order order;
    private boolean named;
    private long token; // whose holder it is for
    private long era; // in which it is given
    private String candidate = ""; // of a record that is not ours

    OrderRequest(SeatMemory memory, Supplier<String> stamps, Order order) {
        super(memory, stamps);
        this.order = order;
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
        if (!named) {
            if (order == Order.STAND_DOWN && (record.kind() == Kind.PENDING || !memory.isHeld(known, nowNanos))) {
                return SeatStep.done(false); // whose claim is to be confirmed does not lead, and will by another token
            }
            if (order == Order.REOPEN && !known.lastReadable().ended()) {
                return SeatStep.done(false);
            }
            named = true;
            token = known.token();
            era = known.lastReadable().era();
            candidate = record.candidate();
        }
        if (isDone(known)) {
            return SeatStep.done(true);
        }
        if (record.kind() == Kind.FOREIGN && memory.traits().others().apply()) {
            return SeatStep.failed(new ElectionException("\"" + memory.election() + "\" is led by \"" + candidate
                    + "\", which is not a candidate of Bellwether's and obeys no orders. Stop it where it runs"));
        }
        if (order == Order.STAND_DOWN && record.kind() == Kind.FOREIGN) {
            return write(known.revision(), SeatRecord.bare(Kind.DELETED, "")); // as Choria evicts its leaders
        }
        var over = record.isReadable() ? record : inPlaceOfUnclear(known);
        var origin = record.isReadable() ? known.stored().origin() : 0;
        var orders = over.orders().over(origin);
        var next = switch (order) {
            case STAND_DOWN -> orders.standDown(known.token());
            case END -> orders.end();
            case DELETE -> orders.delete();
            case REOPEN -> orders.reopen();
        };
        return write(known.revision(), memory.rules().ordered(over, known, next, stamp()));
    }

    /** Returns whether there is nothing left to do: it was written, or the holder that it was for is gone. */
    private boolean isDone(ObservedRecord known) {
        var record = known.record();
        return switch (order) {
            case STAND_DOWN ->
                record.kind() == Kind.FOREIGN
                        ? !record.candidate().equals(candidate)
                        : !record.isHeld()
                                || !memory.rules().isFor(token, known.token())
                                || record.orders().standDown() == known.token();
            case END -> !isForEra(known) || (record.isReadable() && record.ended());
            case DELETE, REOPEN -> !isForEra(known);
        };
    }

    private boolean isForEra(ObservedRecord known) {
        return memory.rules().isFor(era, known.lastReadable().era());
    }

    @Override
    SeatStep<Boolean> carriedOut(ObservedRecord known, long nowNanos) {
        return SeatStep.done(true);
    }

    @Override
    SeatStep<Boolean> unanswered(RuntimeException error, long nowNanos) {
        return named ? askInDoubt(error, nowNanos) : SeatStep.failed(error); // nothing was written before it is named
    }

    /**
     * Returns a vacant seat in place of what told nothing; if somebody may have led, it is to be left alone for a
     * while.
     */
    private SeatRecord inPlaceOfUnclear(ObservedRecord known) {
        var before = known.lastReadable();
        var lease = known.record().isUnclear() || known.suspect() ? memory.watchedFor(AFTER_UNCLEAR) : Duration.ZERO;
        return before.nobodys(memory.highestToken(), memory.baseOfMark(before, known.revision()), lease, stamp());
    }
}
