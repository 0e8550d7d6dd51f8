package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.internal.record.RecordLeases;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A store with compare-and-set that keeps a seat per election: who holds it, under which token and nonce, and until
 * when by the store's own clock.
 *
 * <p>The store translates and does not decide: when to ask, how long to wait and what to believe is written once, in
 * the lease seat of core. It is called on the loop and must not block there. A stage that completes exceptionally, or
 * a method that throws, means <em>unknown</em>: the request may or may not have been carried out; only a
 * {@linkplain dev.bellwether.ElectionException fatal} exception, other than
 * {@link dev.bellwether.UnavailableException}, says that trying again is pointless.
 */
public non-sealed interface LeaseStore extends Backend {
    /** The most characters that a note has. */
    int LONGEST_NOTE = 400;

    /**
     * Takes the seat if it is vacant, never held, or its lease has run out: records the claim with a token higher than
     * any before it in this election ({@link Claim#tokenAfter}, where the store {@link #setsTokens}), and a lease that
     * runs from now. Refuses if somebody holds it, the same candidate under another nonce included, or if the election
     * has ended; and leaves everything as it is if the claim {@linkplain Claim#isBefore is of an era before}: an
     * election that was deleted stays so.
     *
     * <p>Otherwise, refused or not, the claimant counts as a candidate for the observers until the claim's patience is
     * over, where the store can keep track.
     */
    CompletionStage<Answer> acquire(Claim claim);

    /**
     * Extends leases: each is granted, its term running from now again, if and only if the seat is held under its token
     * and nonce <em>and its lease has not run out</em>. A term may end sooner than the lease did before: then those who
     * watch are told, since they need not wait as long as they believe. One call carries whatever is due, so that a
     * store may send it at once; the answers come in the order of the leases. A seat may occur twice, and is then dealt
     * with in that order.
     *
     * <p>The seat shows the metadata of the lease's claim from then on. If that is another than before, those who watch
     * are told.
     */
    List<CompletionStage<Answer>> renew(List<Lease> leases);

    /**
     * Vacates the seat if it is held under this claim's nonce, and forgets the claimant as a candidate. Granted if the
     * seat was vacated, refused if it was not held under that nonce. Wakes those who watch. A {@link #note} stays with
     * the vacant seat until it is granted again.
     */
    CompletionStage<Answer> release(Claim claim);

    /** Reads the seat, with its candidates; a seat that was never held is vacant with token 0. */
    CompletionStage<View> read(String election);

    /**
     * Tells the watcher of changes: acquired, released, cut short, ordered to stand down, noted, ended. Views may come
     * late, doubled, out of order, or not at all, on any thread; renewals need not be told. A store that cannot tell
     * returns {@link Watch#NONE}.
     */
    Watch watch(String election, Consumer<View> watcher);

    /**
     * Carries out an operator's order, and wakes those who watch. Returns false if there was nobody to order.
     */
    CompletionStage<Boolean> order(String election, Order order);

    /**
     * Replaces the note over a seat that is held under this token, if it is the expected one, and wakes those who
     * watch; returns false, having done nothing, if it is another or the seat is not so held. A note is one line of at
     * most {@link #LONGEST_NOTE} characters, and empty if there is none. It changes nothing else: neither who holds the
     * seat, nor for how long, nor who waits. {@link View#note} shows it, and the next grant drops it.
     *
     * <p>A store that does not implement this says so by {@link #handOverObjection}.
     */
    default CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return CompletableFuture.failedStage(
                new ElectionException(handOverObjection().orElse("no notes are kept") + ": " + describe()));
    }

    @Override
    default Optional<String> handOverObjection() {
        return Optional.of("this store keeps no note over a seat, by which it could be handed over");
    }

    @Override
    default Optional<String> proclaimObjection() {
        return Optional.empty();
    }

    /** Returns the names of all elections that were not deleted. */
    CompletionStage<List<String>> list();

    /** Returns leases made of records; the record store is closed with them. A backend of such a store returns this. */
    static LeaseStore over(RecordStore records) {
        return new RecordLeases(records);
    }

    /**
     * Returns leases made of records, under a clock and a source of chance of a simulation.
     *
     * @param stamps gives a text that nobody else is ever given
     */
    static LeaseStore over(RecordStore records, Clock clock, Supplier<String> stamps) {
        return new RecordLeases(records, clock, stamps);
    }
}
