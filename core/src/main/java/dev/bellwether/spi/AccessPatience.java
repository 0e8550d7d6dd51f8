package dev.bellwether.spi;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides which errors end a candidacy, and which are merely no answer.
 *
 * <p>Confined to one thread. Time is a parameter: the monotonic clock of the caller.
 */
public final class AccessPatience {
    /*
     * A refusal of access means two different things. Before anything was ever answered it is a wrong password or a
     * missing right: to say so at once is a help. After that, somebody changed something, and it may be changed back: a
     * leader whose refusals last runs out of its lease in order, and stands again when they are over.
     */
    private static final Logger log = LoggerFactory.getLogger(AccessPatience.class);

    private final Duration patience;
    private boolean everAnswered;
    private boolean refused;
    private long refusedSinceNanos;

    /** Bears refusals that last no longer than this. */
    public AccessPatience(Duration patience) {
        this.patience = patience;
    }

    /** Notes an answer that only those get who have access, whatever it says: earlier refusals have passed. */
    public void answered() {
        everAnswered = true;
        if (refused) {
            refused = false;
            quietly(() -> log.info("access is granted again"));
        }
    }

    /**
     * Returns whether this error ends the candidacy. An {@link AccessRefusedException} does if nothing was ever
     * answered, or if refusals have lasted for the patience without an answer between. An {@link UnavailableException}
     * never does, nor does anything that is no {@link ElectionException}. All other election exceptions do.
     */
    public boolean ends(@Nullable Throwable error, long nowNanos) {
        var unwrapped = error == null ? null : Causes.unwrapped(error);
        if (unwrapped instanceof AccessRefusedException refusal) {
            return refused(refusal, nowNanos);
        }
        return unwrapped instanceof ElectionException && !(unwrapped instanceof UnavailableException);
    }

    private boolean refused(AccessRefusedException refusal, long nowNanos) {
        if (!everAnswered) {
            return true;
        }
        if (!refused) {
            refused = true;
            refusedSinceNanos = nowNanos;
            quietly(() -> log.warn(
                    "Access is refused: {}. A leader here leads until its mandate ends, and nobody here can be"
                            + " elected until access is granted again. Trying again for {}; then the candidacy ends",
                    refusal.getMessage(),
                    Durations.show(patience)));
        }
        return nowNanos - refusedSinceNanos >= patience.toNanos();
    }

    /** A log that throws must cost nobody the candidacy. */
    private static void quietly(Runnable told) {
        try {
            told.run();
        } catch (Throwable e) {
            return;
        }
    }
}
