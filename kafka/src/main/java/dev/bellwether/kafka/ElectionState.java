package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.spi.View;
import dev.bellwether.spi.journal.JournalSeat;
import dev.bellwether.spi.journal.SeatClaim;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What the journal says of one election, up to some record of it. Immutable. Times are on the monotonic clock of the
 * reader, and count from when the reader read.
 *
 * @param state who claimed
 * @param author whose the last claim is; null if nobody claimed
 * @param base the most that was ever added to the offset of a claim to make its token
 * @param standDownToken the mandate that was last ordered to stand down
 * @param readNanos when the last record was read
 */
record ElectionState(
        String election,
        JournalSeat.State state,
        @Nullable Author author,
        long base,
        long standDownToken,
        boolean ended,
        boolean listed,
        long era,
        List<Candidate> candidates,
        long readNanos) {

    /** Who made a claim. */
    record Author(String nonce, String candidate, Instant since, Duration lease, Map<String, String> metadata) {}

    static ElectionState blank(String election, long nanos) {
        return new ElectionState(election, JournalSeat.State.BLANK, null, 0, 0, false, false, 0, List.of(), nanos);
    }

    /** Returns the highest token that was ever granted; 0 if none was. */
    long highest() {
        return state.highest();
    }

    /** Returns who claimed last; null if nobody did. */
    @Nullable
    SeatClaim seat() {
        return state.last();
    }

    /** Returns the candidate that holds the seat. */
    Optional<Author> holderAt(long nanos) {
        return state.holderAt(nanos).isPresent() ? Optional.ofNullable(author) : Optional.empty();
    }

    View viewAt(long nanos) {
        var seat = seat();
        var holder = holderAt(nanos);
        var stale = seat == null || author == null || nanos - seat.untilNanos() > 2 * author.lease.toNanos();
        return View.of(election, highest())
                .heldBy(
                        holder.map(leader ->
                                new View.Holder(leader.candidate, leader.nonce, leader.since, leader.metadata)),
                        holder.isPresent() && seat != null
                                ? Duration.ofNanos(seat.untilNanos() - nanos)
                                : Duration.ZERO)
                .orderedToStandDown(holder.isPresent() && seat != null && standDownToken == seat.token())
                .inEra(era, ended)
                .among(
                        candidates.stream().mapToInt(Candidate::priority).max().orElse(Integer.MIN_VALUE),
                        stale && holder.isEmpty()
                                ? List.of()
                                : candidates.stream()
                                        .map(one -> new Candidate(
                                                one.id(),
                                                one.priority(),
                                                one.metadata(),
                                                holder.isPresent()
                                                        && holder.get()
                                                                .candidate
                                                                .equals(one.id())))
                                        .toList());
    }
}
