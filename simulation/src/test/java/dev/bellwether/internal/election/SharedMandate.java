package dev.bellwether.internal.election;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;

/**
 * A mandate as the loop writes it and anybody reads it, for Lincheck: whatever its readers see must be explained by some
 * order of the calls.
 */
public final class SharedMandate {
    /** Passes only when the loop says so. */
    private final AtomicLong seconds = new AtomicLong(1);

    private final LocalMandate mandate = new LocalMandate("bell", "ann", 7, validity(1), new Clock() {
        @Override
        public long nanos() {
            return seconds.get() * 1_000_000_000L;
        }

        @Override
        public long wallMillis() {
            return seconds.get() * 1_000L;
        }
    });

    private static Validity validity(int seconds) {
        return Validity.of(
                new Proof(new Moment(1_000_000_000L, 1_000L), Duration.ofSeconds(seconds)), Duration.ZERO, 0);
    }

    /** By anybody. */
    @Operation
    public boolean isValid() {
        return mandate.isValid();
    }

    /** By anybody. How long is no order of the calls: the validity of before and the time of after tell less. */
    @Operation
    public boolean lasts() {
        return !mandate.remaining().isZero();
    }

    /** By the loop. */
    @Operation(nonParallelGroup = "loop")
    public boolean extend(@Param(gen = IntGen.class, conf = "2:3") int seconds) {
        return mandate.extend(validity(seconds));
    }

    /** By the loop: so much later, it is over if it was not extended. */
    @Operation(nonParallelGroup = "loop")
    public void pass() {
        seconds.incrementAndGet();
    }

    /** By the loop. */
    @Operation(nonParallelGroup = "loop")
    public void end() {
        mandate.end();
    }
}
