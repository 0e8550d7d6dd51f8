package dev.bellwether.nats;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Order;
import io.nats.client.impl.Headers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Writes operators' orders into the records of seats. Thread-safe; nothing here waits. */
final class Orders {
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration AFTER_A_RIDDLE = Duration.ofMinutes(1);
    private static final int TRIES = 4;

    private final Wire wire;
    private final Register register;
    private final boolean choria;

    Orders(Wire wire, Register register, boolean choria) {
        this.wire = wire;
        this.register = register;
        this.choria = choria;
    }

    CompletableFuture<Boolean> order(String election, Order order) {
        if (register.isWriteOnly()) {
            return CompletableFuture.failedFuture(new ElectionException(register.cannotRead()));
        }
        if (choria && order != Order.STAND_DOWN) {
            return CompletableFuture.failedFuture(new ElectionException(
                    "Choria's elections neither end nor are they forgotten: \"" + election + "\" on " + wire));
        }
        return register.look(election, PATIENCE).thenCompose(sighting -> carryOut(sighting, order, TRIES));
    }

    private CompletableFuture<Boolean> carryOut(Sighting known, Order order, int tries) {
        var seat = known.seat();
        if (order == Order.STAND_DOWN && !known.isHeld(System.nanoTime())) {
            return CompletableFuture.completedFuture(false);
        }
        CompletableFuture<?> written;
        if (order == Order.STAND_DOWN && seat.kind() == Seat.Kind.FOREIGN) {
            var headers = new Headers();
            headers.put("KV-Operation", "DEL"); // as Choria evicts its leaders
            written = wire.write(register.key(known.election()), headers, new byte[0], known.revision(), PATIENCE);
        } else {
            // the token is that of the grant, not of the order
            var base = seat.isHeld()
                    ? seat.renewed(known.token(), known.since(), seat.lease())
                    : seat.isReadable() ? seat : riddle(known);
            written = register.write(
                    known.election(),
                    known.revision(),
                    switch (order) {
                        case STAND_DOWN -> base.ordered(true, base.ended(), base.era(), base.listed());
                        case END -> base.ordered(base.standDown(), true, base.era(), true);
                        case DELETE -> base.ordered(base.standDown(), false, base.era() + 1, false);
                    },
                    PATIENCE);
        }
        return Register.recovering(
                written.thenApply(done -> true),
                outdated -> register.lookAgain(known.election(), known.revision(), PATIENCE, tries, outdated)
                        .thenCompose(sighting -> carryOut(sighting, order, tries - 1)));
    }

    /** Returns a vacant seat in place of what told nothing; if somebody may have led, it is to be left alone for a while. */
    private static Seat riddle(Sighting known) {
        var vacant = known.former().vacated(known.token());
        return known.blind() ? vacant.renewed(known.token(), null, AFTER_A_RIDDLE) : vacant;
    }
}
