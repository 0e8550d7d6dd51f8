package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.kafka.ElectionState.Author;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.journal.JournalSeat;
import dev.bellwether.spi.journal.SeatClaim;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What the journal's records, read in order, make of one election. {@link JournalSeat} decides who leads; here
 * are its orders, and what the records say of its claimants. The topic is compacted: each record of a claim says by
 * itself whose it is.
 *
 * <p>Confined to the thread of the journal, but for {@link #known}.
 */
final class JournalRules {
    private static final long LONGEST_LEASE_NANOS = TimeUnit.DAYS.toNanos(366);

    private final String election;
    private final JournalSeat seat = new JournalSeat();
    private @Nullable Author author;
    private long base;
    private long longestLeaseNanos;
    private long standDownToken;
    private boolean ended;
    private boolean listed;
    private long era;
    private List<Candidate> candidates = List.of();
    private boolean stood;

    /** For any thread. */
    private volatile ElectionState known;

    JournalRules(String election, long nanos) {
        this.election = election;
        known = ElectionState.blank(election, nanos);
    }

    ElectionState known() {
        return known;
    }

    void read(Entry entry, long offset, Instant at, long nowNanos) {
        var fields = entry.fields();
        switch (entry.what()) {
            case CLAIM, BEAT, CONCEDE, RELEASE -> {
                if (isWhole(fields)) {
                    readClaim(entry, offset, at, nowNanos);
                }
            }
            case CANDIDATES -> candidates = PresenceTracker.parse(fields);
            case STAND_DOWN -> standDownToken = fields.number("token");
            case END -> {
                if (fields.number("era") >= era) { // else it was of the election that has been deleted since
                    ended = true;
                    listed = true;
                    era = fields.number("era");
                }
            }
            case DELETE -> {
                if (fields.number("era") > era) { // else it is the same order once more
                    ended = false;
                    listed = fields.number("listed") > 0; // if it was reopened
                    era = fields.number("era");
                }
            }
        }
        stood = seat.state().holderAt(nowNanos).isPresent();
        publish(nowNanos);
    }

    /** Others can write to the topic too: what no candidate of ours would write is no claim, and bars nobody. */
    private static boolean isWhole(Fields fields) {
        var lease = fields.number("lease");
        return !fields.text("nonce").isEmpty() && lease > 0 && lease <= LONGEST_LEASE_NANOS;
    }

    private void readClaim(Entry entry, long offset, Instant at, long nowNanos) {
        var fields = entry.fields();
        var claims = entry.what() == Entry.What.CLAIM;
        var nonce = fields.text("nonce");
        var lease = fields.number("lease");
        var told = fields.number("token"); // in a claim, unless the offset makes it
        var token = claims && told == 0 ? fields.number("base") + offset + 1 : told;
        var claim = new SeatClaim(nonce, fields.text("instance"), token, nowNanos + lease, false);
        switch (entry.what()) {
            case CLAIM -> seat.claimed(claim, nowNanos);
            case BEAT -> seat.held(claim, nowNanos);
            case CONCEDE -> seat.conceded(claim, nowNanos);
            default -> seat.released(claim, nowNanos);
        }
        longestLeaseNanos = Math.max(longestLeaseNanos, lease);
        if (seat.state().isTakenUnder(nonce)
                && (author == null || !author.nonce().equals(nonce))) {
            var since = claims ? at : Instant.ofEpochMilli(fields.number("since"));
            author = new Author(nonce, fields.text("candidate"), since, Duration.ofNanos(lease), fields.metadata());
            listed = true;
        }
        listed |= era == 0; // compaction may have left nothing but the release of a claim that was never read
        base = Math.max(base, fields.number("base")); // of all: compaction may have taken the last of another base
        if (fields.number("era") > era) { // the order is gone, with a topic that was deleted and created again
            era = fields.number("era");
            ended = false;
        }
    }

    /** Returns whether the lease of the last claimant has run out, but once only for each time that it does. */
    boolean expiredSinceAsked(long nowNanos) {
        var expired = stood && known.state().holderAt(nowNanos).isEmpty();
        stood = stood && !expired;
        return expired;
    }

    /** There is a gap in what we read. */
    void beginAgain(long nowNanos) {
        seat.beganAgain(nowNanos, nowNanos + longestLeaseNanos);
        author = null;
        stood = false;
        candidates = List.of();
        publish(nowNanos);
    }

    private void publish(long nowNanos) {
        known = new ElectionState(
                election, seat.state(), author, base, standDownToken, ended, listed, era, candidates, nowNanos);
    }
}
