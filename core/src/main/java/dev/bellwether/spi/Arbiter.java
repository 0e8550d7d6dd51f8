package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * A backend that decides by itself who gets a seat, and tells us: a Kafka group, a queue of ZooKeeper nodes. It drives
 * a {@link Seat} per candidacy and reports to its {@link Claimant}.
 */
public non-sealed interface Arbiter extends Backend {

    /** Makes the seat of one candidacy. Nothing is done or asked before {@link Seat#claim}. */
    Seat seat(Standing standing, Claimant claimant, Loop loop);

    /** Reads the seat, with its candidates. */
    CompletionStage<View> read(String election, Loop loop);

    /** Tells the watcher of changes, vacancies too, beginning with what is the case now; on any thread. */
    Watch watch(String election, Consumer<View> watcher, Loop loop);

    /**
     * Returns whether a watch tells nothing that is older than what it told before. If it may, that shows by a lower
     * token, and is dropped.
     */
    default boolean watchesInOrder() {
        return false;
    }

    /** Carries out an operator's order, on whatever thread it likes. Returns false if there was nobody to order. */
    CompletionStage<Boolean> order(String election, Order order);

    /**
     * Replaces the note over a seat that is held under this token, as {@link LeaseStore#note} does; on whatever thread
     * it likes. One that cannot says so by {@link #handOverObjection}.
     */
    default CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return CompletableFuture.failedStage(
                new ElectionException(handOverObjection().orElse("no notes are kept") + ": " + describe()));
    }

    /** Returns the names of all elections that were not deleted. */
    CompletionStage<List<String>> list();
}
