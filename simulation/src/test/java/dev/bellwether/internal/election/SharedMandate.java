package dev.bellwether.internal.election;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;

/**
 * A mandate as the loop writes it and anybody reads it, for Lincheck: whatever its readers see must be explained by some
 * order of the calls.
 */
public final class SharedMandate {
    /** A clock that stands still: what changes is what the loop writes. */
    private static final Clock CLOCK = new Clock() {
        @Override
        public long nanos() {
            return 1_000_000_000L;
        }

        @Override
        public long wallMillis() {
            return 1_000L;
        }
    };

    private final LocalMandate mandate = new LocalMandate("bell", "ann", 7, validity(1), CLOCK);

    private static Validity validity(int seconds) {
        return Validity.of(
                new Proof(new Moment(1_000_000_000L, 1_000L), Duration.ofSeconds(seconds)), Duration.ZERO, 0);
    }

    /** By anybody. */
    @Operation
    public boolean isValid() {
        return mandate.isValid();
    }

    /** By anybody. */
    @Operation
    public long remaining() {
        return mandate.remaining().toNanos();
    }

    /** By the loop. */
    @Operation(nonParallelGroup = "loop")
    public void extend(@Param(gen = IntGen.class, conf = "2:3") int seconds) {
        mandate.extend(validity(seconds));
    }

    /** By the loop. */
    @Operation(nonParallelGroup = "loop")
    public void end() {
        mandate.end();
    }
}
