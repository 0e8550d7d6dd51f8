package dev.bellwether.spi;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Watch;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * A store that keeps a text under each key, and replaces it only if it is still at the revision that the writer names.
 * It knows nothing of leases, claims or leaders: core makes elections of it. To implement it is to translate.
 *
 * <p>Methods may be called on any thread, also on the loop, and must not block. A stage that completes exceptionally,
 * or a method that throws, means <em>unknown</em>: a write may or may not have been carried out, now or later. Only a
 * {@linkplain dev.bellwether.ElectionException fatal} exception, other than
 * {@link dev.bellwether.UnavailableException}, says that trying again is pointless.
 *
 * <p>Safety requires that the store carries out at most one write per revision of a key, and that a read which is sent
 * after a write was acknowledged returns that write or a later one. What happens when it breaks the second is in
 * {@code docs/guarantees.md}.
 */
public interface RecordStore extends AutoCloseable {

    /** What is stored under a key. */
    enum What {
        /** A text. */
        TEXT,
        /** The name of a leader, written by others who hold elections by other rules. */
        NAME,
        /** A marker: somebody deleted the record. */
        DELETED,
        /** A marker: the store dropped the record because its time was over. */
        EXPIRED,
        /** Nothing. */
        NOTHING
    }

    /**
     * What is stored under a key.
     *
     * @param revision where it was written: each write has a higher one; 0 for nothing
     * @param written when it was written, by the store's clock; {@link Instant#EPOCH} if that is unknown
     * @param text what was written; empty in a marker
     * @param lease of a name, where records say that: for how long it keeps others away; zero if it was released
     */
    record Found(What what, long revision, Instant written, String text, Duration lease) {
        /** Nothing. */
        public static final Found NOTHING = new Found(What.NOTHING, 0, Instant.EPOCH, "");

        /** Returns what says nothing of a lease by itself. */
        public Found(What what, long revision, Instant written, String text) {
            this(what, revision, written, text, Duration.ZERO);
        }
    }

    /**
     * What to write.
     *
     * @param text the record; empty to leave a marker that it was deleted
     * @param leader who leads according to it, for others who look; empty if nobody does
     */
    record Draft(String text, String leader) {}

    /**
     * The definite answer to a write.
     *
     * @param done whether it was carried out; if not, the key was not at the revision named, or the store says so
     *     although it was: a write may have been carried out twice
     * @param revision the revision of what is there now; negative if that is unknown
     * @param written when it was carried out, as a reading would tell; {@link Instant#EPOCH} if that is unknown, which
     *     costs the first renewal of a leader a reading
     */
    record Written(boolean done, long revision, Instant written) {
        /** Returns that it was carried out, at this revision and this time. */
        public static Written at(long revision, Instant written) {
            return new Written(true, revision, written);
        }

        /** Returns that the key is at another revision, 0 for nothing there; negative if unknown. */
        public static Written outdated(long revision) {
            return new Written(false, revision, Instant.EPOCH);
        }
    }

    /**
     * Keys that are there.
     *
     * @param now the store's clock; empty if it does not tell
     * @param isWhole whether these are all, and not only the first of very many
     */
    record Listing(List<RecordKey> keys, Optional<Instant> now, boolean isWhole) {}

    /** Returns what kind of infrastructure this is, and where, without secrets: for logs and messages. */
    String describe();

    /** Returns what the store is like. It does not change. */
    RecordTraits traits();

    /**
     * Reads a key, from whichever server decides about writes.
     *
     * @param urgency what goes first where requests wait for their turn, as in a {@link RequestLimiter}
     */
    CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout);

    /**
     * Writes a key if it is at this revision; 0 if nothing must be there.
     *
     * @param urgency what goes first where requests wait for their turn, as in a {@link RequestLimiter}
     */
    CompletionStage<Written> write(RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout);

    /** Lists the keys that have this many parts and begin with these. */
    CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout);

    /**
     * Tells of writes of this key by others and by us. It is a hint: they may come late, doubled, out of order or not
     * at all, on any thread. By default, and where the store cannot, nothing is told.
     */
    default Watch watch(RecordKey key, Consumer<Found> heard) {
        return Watch.NONE;
    }

    /**
     * Writes a key, whatever is there, and has the store drop it after this time if it can. For what is only displayed:
     * called if {@link RecordTraits#listsStandbys}.
     */
    default CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        return CompletableFuture.failedStage(new UnsupportedOperationException("put"));
    }

    /**
     * Removes a key, whatever is there. For what nobody needs any more: called if {@link RecordTraits#listsStandbys},
     * or if {@linkplain RecordTraits#sharing one record keeps many leases}.
     */
    default CompletionStage<?> remove(RecordKey key, Duration timeout) {
        return CompletableFuture.failedStage(new UnsupportedOperationException("remove"));
    }

    /**
     * Returns up to which revision the store has given any, for this key at least; 0 if it cannot tell. Asked when a
     * revision was seen to fall. Fails with an {@link dev.bellwether.ElectionException} if the store is not the one
     * that it was.
     */
    default CompletionStage<Long> reached(RecordKey key, Duration timeout) {
        return CompletableFuture.completedStage(0L);
    }

    /**
     * Returns what tells the present connection from the ones before. A holder reads its record again after a change,
     * because a store may lose acknowledged writes when it is restarted, and give their revisions to others.
     */
    default String session() {
        return "";
    }

    /** Returns what keeps the records of this store apart from others, in its own word; by default a prefix. */
    default String scope() {
        return "prefix";
    }

    /** Returns whether so many requests wait that what is only displayed is left out for now. */
    default boolean isCrowded() {
        return false;
    }

    /**
     * Returns what is dangerous about a lease of this length that this election holds now, or would hold; by default
     * nothing is.
     */
    default Optional<Finding> objection(String election, Duration lease) {
        return Optional.empty();
    }

    /** See {@link Backend#check}. */
    default void check(String election, CandidacyConfig config) {}

    /** See {@link Backend#completed}. */
    default CandidacyConfig completed(CandidacyConfig config) {
        return config;
    }

    /**
     * Returns what an operator should know of this store, beyond what follows from its {@linkplain RecordTraits traits}
     * and from the settings: see {@link Backend#findings}.
     */
    default List<Finding> findings(CandidacyConfig config) {
        return List.of();
    }

    /** Lets go of what the store holds; of a client that the user passed in, nothing. Idempotent. */
    @Override
    void close();
}
