package dev.bellwether.spi;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Seat} reports to. Thread-safe: reports are carried to the loop, in order per calling thread. A report
 * about a token other than that of the present mandate is ignored.
 */
public interface Claimant {

    /** The seat is ours, under a token higher than any before. */
    void granted(long token, Proof proof);

    /** The seat is still ours. */
    void proven(long token, Proof proof);

    /**
     * We are to give the seat up, within this time: an operator ordered it, the election ends, or the arbiter moves it.
     */
    void asked(long token, Cause cause, Duration within);

    /** The seat is definitely no longer ours. */
    void lost(long token, Cause cause);

    /** We are asked to get ready for the seat of this leader. If we do, {@link Seat#ready} is called. */
    default void prepare(HandOverNote order, String leader) {}

    /** We wait for this one; for nobody, if empty. */
    void following(Optional<String> leader);

    /** The election has ended while we stood by. */
    void ended();

    /** An error that no retry can fix. */
    void failed(ElectionException error);

    /** We have left: nothing of this candidacy remains with the backend. */
    void left();

    /**
     * The infrastructure has answered, as it answers only candidates that may stand: told by all that ask, standbys
     * included. For the log, which tells of outages.
     */
    default void answered() {}

    /**
     * The infrastructure did not answer within this time, for this reason if one is known. What asks rarely should see
     * to it that it notices within a lease. For the log.
     */
    default void unanswered(Duration waited, @Nullable Throwable why) {}

    /** We have left, without an answer that says so: what we held runs out by itself. */
    default void leftUnconfirmed() {
        left();
    }

    /** For the metrics: an attempt and what came of it. */
    void attempted(Metrics.Attempt attempt, Duration latency);
}
