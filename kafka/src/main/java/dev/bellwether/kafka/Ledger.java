package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.kafka.Page.Taken;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The rules of the journal: what its records, read in order, make of one election.
 *
 * <p>Confined to the thread of the journal, but for {@link #page}.
 */
final class Ledger {
    /*
     * The order of the log decides, not the group and no clock:
     *
     * 1. A claim ends all earlier ones. A beat counts only if no other claim lies between it and its own: so a claimant that reads
     *    its own beat back, and no foreign claim before it, knows that all who claim later will have read that beat.
     * 2. A claimant waits until every earlier claimant has said that its work has ended, or until the lease of that one's last beat
     *    has passed, counted from when the beat was read here. It was written before that, and sent before that: the earlier
     *    claimant's own count ends first.
     * 3. A claim whose token would not rise is void here. That can be after the topic was deleted and created again; the claimant
     *    then adds more.
     *
     * A reader can miss a part of the log: retention went past it, or the topic is another one. It knows neither the claims of
     * that part nor who is bound by them:
     *
     * 4. A claim that was known before the gap stands again as soon as one of its records is read behind the gap, if nothing higher
     *    was read: its holder never noticed the gap.
     * 5. A record below the highest token can be of somebody who leads: of one that does not know the highest token, since it began
     *    to read later than we did. So it bars its successors for its lease, unless we have read that a later claim, or its own
     *    release, has ended it.
     */
    private static final int ENDED_CLAIMS = 256;
    private static final long LONGEST_LEASE_NANOS = TimeUnit.DAYS.toNanos(366);

    private final String election;
    private long highest;
    private String highestNonce = "";
    private long base;
    private @Nullable Taken seat;
    private final List<Taken> earlier = new ArrayList<>();

    /** The nonces of claims that can prove nothing any more; the oldest are forgotten, which bars more, not less. */
    private final Set<String> endedClaims = new LinkedHashSet<>();

    private long standDownToken;
    private boolean ended;
    private boolean listed;
    private long era;
    private List<Candidate> candidates = List.of();
    private boolean stood;

    /** For any thread. */
    private volatile Page page;

    Ledger(String election, long nanos) {
        this.election = election;
        page = Page.blank(election, nanos);
    }

    Page page() {
        return page;
    }

    void read(Entry entry, long offset, Instant at, long nowNanos) {
        earlier.removeIf(taken -> !taken.standsAt(nowNanos));
        var fields = entry.fields();
        switch (entry.what()) {
            case CLAIM -> {
                if (isWhole(fields)) {
                    claimed(fields, fields.number("base") + offset + 1, at, nowNanos);
                }
            }
            case BEAT -> {
                if (isWhole(fields)) {
                    held(fields, nowNanos);
                }
            }
            case CONCEDE -> {
                if (isWhole(fields)) {
                    conceded(fields, nowNanos);
                }
            }
            case RELEASE -> {
                if (isWhole(fields)) {
                    released(fields, nowNanos);
                }
            }
            case CANDIDATES -> candidates = Roll.parse(fields);
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
        stood = seat != null && seat.standsAt(nowNanos);
        publish(nowNanos);
    }

    /** Others can write to the topic too: what no candidate of ours would write is no claim, and bars nobody. */
    private static boolean isWhole(Fields fields) {
        var lease = fields.number("lease");
        return !fields.text("nonce").isEmpty() && lease > 0 && lease <= LONGEST_LEASE_NANOS;
    }

    private void held(Fields fields, long nowNanos) {
        var held = seatOf(fields);
        if (held != null) {
            seat = held.until(nowNanos + lease(fields).toNanos());
        } else {
            begunBefore(fields, nowNanos);
        }
    }

    private void conceded(Fields fields, long nowNanos) {
        var nonce = fields.text("nonce");
        var until = nowNanos + lease(fields).toNanos();
        var held = seatOf(fields);
        if (held != null) {
            seat = held.sooner(until);
        } else if (earlier.stream().noneMatch(taken -> taken.nonce().equals(nonce))) {
            begunBefore(fields, nowNanos);
        }
        earlier.replaceAll(taken -> taken.nonce().equals(nonce) ? taken.sooner(until) : taken);
    }

    private void released(Fields fields, long nowNanos) {
        var nonce = fields.text("nonce");
        if (seatOf(fields) == null) {
            begunBefore(fields, nowNanos);
        }
        var held = seatOf(fields);
        if (held != null) {
            seat = held.releasedNow();
        } else {
            end(nonce); // what comes of it later was written before
        }
        earlier.removeIf(taken -> taken.nonce().equals(nonce));
    }

    /** Returns the last claim, if the record is of that one: nonces tell claims apart, whatever their tokens. */
    private @Nullable Taken seatOf(Fields fields) {
        return seat != null && seat.nonce().equals(fields.text("nonce")) ? seat : null;
    }

    /** Whether this is the claim with the highest token, which was known before the log began anew. */
    private boolean isHighest(long token, String nonce) {
        return seat == null && token == highest && nonce.equals(highestNonce);
    }

    /** Returns whether the lease of the last claimant has run out, but once only for each time that it does. */
    boolean expiredSinceAsked(long nowNanos) {
        var expired = stood && seat != null && !seat.standsAt(nowNanos);
        stood = stood && !expired;
        return expired;
    }

    /** There is a gap in what we read. What we know stays: a holder from before may lead until its lease is over. */
    void beginAnew(long nowNanos) {
        if (seat != null && seat.released()) {
            end(seat.nonce());
        } else if (seat != null && seat.standsAt(nowNanos)) {
            earlier.add(seat);
        }
        seat = null;
        stood = false;
        candidates = List.of();
        publish(nowNanos);
    }

    private void claimed(Fields fields, long token, Instant at, long nowNanos) {
        var nonce = fields.text("nonce");
        if (seatOf(fields) != null || endedClaims.contains(nonce)) {
            return; // the same record once more
        }
        if (token <= highest && !isHighest(token, nonce)) {
            bar(fields, token, nowNanos);
            return;
        }
        if (seat != null) {
            end(seat.nonce());
            if (seat.standsAt(nowNanos)) {
                earlier.add(seat);
            }
        }
        endEarlierThan(token);
        earlier.removeIf(taken -> taken.nonce().equals(nonce));
        highest = token;
        highestNonce = nonce;
        base = fields.number("base");
        seat = taken(fields, token, at, nowNanos);
        listed = true;
    }

    /** Its claim is not in what we have read. */
    private void begunBefore(Fields fields, long nowNanos) {
        claimed(fields, fields.number("token"), Instant.ofEpochMilli(fields.number("since")), nowNanos);
    }

    /** Somebody may lead under a token that is not the highest. */
    private void bar(Fields fields, long token, long nowNanos) {
        var nonce = fields.text("nonce");
        endEarlierThan(token);
        earlier.removeIf(taken -> taken.nonce().equals(nonce));
        earlier.add(taken(fields, token, Instant.ofEpochMilli(fields.number("since")), nowNanos));
    }

    /** A claim of this token ends those of lower ones, for their claimants too; their leases bar on. */
    private void endEarlierThan(long token) {
        earlier.stream()
                .filter(taken -> taken.token() < token)
                .map(Taken::nonce)
                .forEach(this::end);
    }

    private void end(String nonce) {
        endedClaims.remove(nonce);
        endedClaims.add(nonce);
        if (endedClaims.size() > ENDED_CLAIMS) {
            endedClaims.remove(endedClaims.iterator().next());
        }
    }

    private static Taken taken(Fields fields, long token, Instant since, long nowNanos) {
        var lease = lease(fields);
        return new Taken(
                token,
                fields.text("nonce"),
                fields.text("instance"),
                fields.text("candidate"),
                since,
                lease,
                fields.metadata(),
                false,
                nowNanos + lease.toNanos());
    }

    private static Duration lease(Fields fields) {
        return Duration.ofNanos(fields.number("lease"));
    }

    private void publish(long nowNanos) {
        page = new Page(
                election,
                highest,
                base,
                seat,
                List.copyOf(earlier),
                standDownToken,
                ended,
                listed,
                era,
                candidates,
                nowNanos);
    }
}
