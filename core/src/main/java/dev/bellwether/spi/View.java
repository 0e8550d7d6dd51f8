package dev.bellwether.spi;

import dev.bellwether.Candidate;
import dev.bellwether.Leader;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The seat of an election, as a backend saw it.
 *
 * @param token the highest token that was ever granted; 0 if none was
 * @param holder who holds the seat; empty if it is vacant or its lease has run out
 * @param remaining how much of the holder's lease is left by the backend's clock; zero if unknown or vacant
 * @param standDown whether the holder was ordered to stand down
 * @param ended whether the election has ended
 * @param era how many times the election was deleted
 * @param topPriority the highest priority among the candidates that the backend knows; the asker's own if it knows none
 * @param candidates who stands, if that was asked and is known
 * @param note what was laid over the seat by {@link LeaseStore#note}, of a vacant one over its last holder's; empty if
 *     nothing was; {@link #UNREAD} if it is only known that something was
 * @param allListed whether who is not among the candidates does not stand; false if there was no answer to that, or it
 *     was not asked because many requests wait
 */
public record View(
        String election,
        long token,
        Optional<Holder> holder,
        Duration remaining,
        boolean standDown,
        boolean ended,
        long era,
        int topPriority,
        List<Candidate> candidates,
        String note,
        boolean allListed) {

    /** Stands for a note that is there, but was not read: in what watchers are told. */
    public static final String UNREAD = "unread";

    /** Returns the view of a seat that was never held. */
    public static View unheld(String election) {
        return of(election, 0);
    }

    /**
     * Returns the view of a vacant seat in its first era, of whose candidates nothing is known; the methods below add
     * to it.
     */
    public static View of(String election, long token) {
        return new View(
                election,
                token,
                Optional.empty(),
                Duration.ZERO,
                false,
                false,
                0,
                Integer.MIN_VALUE,
                List.of(),
                "",
                true);
    }

    /** Returns the same, with this holder. */
    public View heldBy(Optional<Holder> holder, Duration remaining) {
        return new View(
                election, token, holder, remaining, standDown, ended, era, topPriority, candidates, note, allListed);
    }

    /** Returns the same, with the holder ordered to stand down or not. */
    public View orderedToStandDown(boolean standDown) {
        return new View(
                election, token, holder, remaining, standDown, ended, era, topPriority, candidates, note, allListed);
    }

    /** Returns the same, of an election that has ended or not, in this era. */
    public View inEra(long era, boolean ended) {
        return new View(
                election, token, holder, remaining, standDown, ended, era, topPriority, candidates, note, allListed);
    }

    /** Returns the same, with those who stand. */
    public View among(int topPriority, List<Candidate> candidates) {
        return new View(
                election, token, holder, remaining, standDown, ended, era, topPriority, candidates, note, allListed);
    }

    /** Returns the same, with all of the candidates, or without some. */
    public View listingAll(boolean allListed) {
        return new View(
                election, token, holder, remaining, standDown, ended, era, topPriority, candidates, note, allListed);
    }

    /** Returns the same, with this note, or {@link #UNREAD}. */
    public View noted(String note) {
        return new View(
                election, token, holder, remaining, standDown, ended, era, topPriority, candidates, note, allListed);
    }

    /** Returns the hand-over that is under way; empty if none is, or only one of a mandate before this. */
    public Optional<HandOverNote> handOver() {
        return note.isEmpty() ? Optional.empty() : HandOverNote.parse(note).filter(one -> one.token() == token);
    }

    /** Returns whether the seat is held under this nonce. */
    public boolean heldUnder(String nonce) {
        return holder.isPresent() && holder.get().nonce().equals(nonce);
    }

    /** Returns the holder as observers see it. */
    public Optional<Leader> leader() {
        return holder.map(h -> new Leader(h.candidate(), token, h.since(), h.metadata()));
    }

    /**
     * Who holds a seat.
     *
     * @param nonce the nonce of the claim that was granted
     * @param since when that was, by the backend's clock
     */
    public record Holder(String candidate, String nonce, Instant since, Map<String, String> metadata) {}
}
