package dev.bellwether.internal.lock;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.spi.Clock;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** What locks need of the elections that they belong to. Thread-safe. */
public interface LockHost {
    /**
     * Stands. What runs must not block.
     *
     * @param onInterrupt runs whenever the candidacy interrupts what works under its mandate
     * @param works whether anything works under its mandate: the seat is kept for that, too, until the budget is used
     *     up, and it is halted, if so configured, if it outlasts the lease
     * @param onEnd runs when the candidacy has ended and all its events have been heard
     */
    Candidacy stand(
            String election, CandidacyConfig config, Runnable onInterrupt, BooleanSupplier works, Runnable onEnd);

    /** Returns whether an answer has come to this candidacy, and by all that it knows nobody is in the seat. */
    boolean isVacant(Candidacy candidacy);

    /**
     * Keeps a candidacy that leads for so long from now, then resigns; at the end of the elections, lets it run out.
     */
    void keep(Candidacy candidacy, Duration time);

    /** The calling thread runs the task of a lock from now on: who closes the elections there is not waited for. */
    void taskBegins();

    /** It has returned from that. */
    void taskEnded();

    /** Returns how long to wait for a first answer. */
    Duration requestTimeout();

    /** Returns the clock of the loop. */
    Clock clock();

    /** Names the infrastructure in messages. */
    String describe();
}
