package dev.bellwether.spi.journal;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rules of a journal: what the records about one seat, read in order, make of it.
 *
 * <p>Confined to one thread; a {@link State} is for any. Time is an argument.
 */
public final class JournalSeat {
    /*
     * The order of the log decides, no group and no clock:
     *
     * 1. A claim ends all earlier ones. A beat counts only if no other claim lies between it and its own: a claimant
     *    that reads its own beat, and no foreign claim before it, knows that all who claim later will have read that
     *    beat.
     * 2. A claimant waits until every earlier claimant has said that its work has ended, or until the lease of that
     *    one's last beat has passed, counted from when the beat was read here. It was sent before that: the earlier
     *    claimant's own count ends first.
     * 3. A claim whose token would not rise has no effect here. That happens after the log was deleted and created
     *    again. Its author may know less than we do, and lead by it: it bars its successors anyway.
     *
     * A reader can miss a part of the log: records were deleted, or the log is another one. It knows neither the claims
     * of that part nor who is bound by them:
     *
     * 4. A claim that was known before the gap stands again as soon as one of its records is read behind the gap, if
     *    nothing higher was read: its holder never noticed the gap. If its claim is one of the records that are gone,
     *    any record tells of it.
     * 5. A record below the highest token can be of somebody who leads: of one that does not know the highest token,
     *    since it began to read later than we did. So it bars its successors for its lease, unless we have read that a
     *    later claim, or its own release, has ended it.
     * 6. A candidate of which nothing was read may lead until a lease after the gap: nobody else leads before that. Not
     *    so if somebody has said since that it led and has ended, and had read all that we have not: it had waited for
     *    all before it, and would have known of one after it.
     */
    private static final int MOST_ENDED = 32;
    private static final Object UNSEEN = new Object();

    private @Nullable SeatClaim last;
    private final List<SeatClaim> earlier = new ArrayList<>(1);
    private long highest;
    private @Nullable Object highestId;

    /** The ids of claims that can prove nothing any more; the oldest are forgotten, which bars more, not less. */
    private final List<Object> ended = new ArrayList<>(1);

    /**
     * What a journal says of a seat, up to some record. Immutable.
     *
     * @param highest the highest token that was ever claimed; 0 if none was
     * @param last who claimed last; null if nobody did
     * @param earlier who claimed before that, or under a lower token, and may not have stopped yet
     */
    public record State(long highest, @Nullable SeatClaim last, List<SeatClaim> earlier) {
        /** Nobody has claimed. */
        public static final State BLANK = new State(0, null, List.of());

        /** Checks. */
        public State {
            earlier = List.copyOf(earlier);
        }

        /** Returns whether the last claim is this one. */
        public boolean isTakenUnder(Object id) {
            return last != null && last.id().equals(id);
        }

        /** Returns who holds the seat. */
        public Optional<SeatClaim> holderAt(long nanos) {
            return Optional.ofNullable(last).filter(claim -> claim.standsAt(nanos));
        }

        /**
         * Returns for how long somebody other than this instance may still lead on an earlier claim; zero if nobody.
         */
        public long barredNanosAt(long nanos, String instance) {
            var barred = 0L;
            for (var claim : earlier) {
                if (!claim.instance().equals(instance)) {
                    barred = Math.max(barred, claim.untilNanos() - nanos);
                }
            }
            return barred;
        }
    }

    /** Nobody has claimed. */
    public JournalSeat() {}

    /** Returns what the journal says now. */
    public State state() {
        return new State(highest, last, earlier);
    }

    /** Returns who claimed last; null if nobody did. */
    public @Nullable SeatClaim last() {
        return last;
    }

    /** Returns the highest token that was ever claimed; 0 if none was. */
    public long highest() {
        return highest;
    }

    // ---------------------------------------------------------------- records

    /** A claim was read. */
    public void claimed(SeatClaim claim, long nowNanos) {
        earlier.removeIf(other -> !other.standsAt(nowNanos));
        if (isLast(claim) || ended.contains(claim.id())) {
            return; // the same record once more
        }
        endEarlierThan(claim.token());
        earlier.removeIf(claim::is);
        if (claim.token() <= highest && !standsAgain(claim)) {
            earlier.add(claim); // its author may lead, though its token is not the highest
            return;
        }
        endLast(nowNanos);
        highest = claim.token();
        highestId = claim.id();
        last = claim;
    }

    /** A beat was read: its writer leads until its lease is over, if its claim is the last. */
    public void held(SeatClaim claim, long nowNanos) {
        if (last != null && isLast(claim)) {
            last = last.until(claim.untilNanos());
        } else {
            claimed(claim, nowNanos); // its claim is not in what we have read
        }
    }

    /** A concession was read: its writer leads no more, and its work ends by then. */
    public void conceded(SeatClaim claim, long nowNanos) {
        if (last != null && isLast(claim)) {
            last = last.sooner(claim.untilNanos());
        } else if (earlier.stream().noneMatch(claim::is)) {
            claimed(claim, nowNanos);
        }
        earlier.replaceAll(other -> other.is(claim) ? other.sooner(claim.untilNanos()) : other);
    }

    /** A release was read: the work of its writer has ended. */
    public void released(SeatClaim claim, long nowNanos) {
        if (!isLast(claim)) {
            claimed(claim, nowNanos);
        }
        if (last != null && isLast(claim)) {
            last = last.releasedNow();
        } else {
            end(claim); // what comes of it later was written before
        }
        earlier.removeIf(claim::is);
    }

    // ---------------------------------------------------------------- what no record of this seat says

    /** Somebody has claimed more than this seat, under this token: all who claimed before have lost it. */
    public void overruled(long token, long nowNanos) {
        endLast(nowNanos);
        endEarlierThan(token);
        last = null;
        highest = Math.max(highest, token);
    }

    /**
     * There is a gap in what we read. What we know stays: a holder from before may lead until its lease is over, and
     * one that we have not read of until the given time.
     */
    public void beganAgain(long nowNanos, long unseenUntilNanos) {
        ended.clear(); // who has missed what ended it leads on
        if (last != null && last.released()) {
            end(last);
        } else if (last != null && last.standsAt(nowNanos)) {
            earlier.add(last);
        }
        last = null;
        nobodyUnseen();
        earlier.add(new SeatClaim(UNSEEN, "", 0, unseenUntilNanos, false));
    }

    /** One who has led and released had read all that we missed: nobody leads that we have not read of. */
    public void nobodyUnseen() {
        earlier.removeIf(claim -> claim.id() == UNSEEN);
    }

    // ---------------------------------------------------------------- small things

    private boolean isLast(SeatClaim claim) {
        return last != null && last.is(claim);
    }

    /** Whether this is the claim with the highest token, which was known before the log began again. */
    private boolean standsAgain(SeatClaim claim) {
        return last == null && claim.token() == highest && claim.id().equals(highestId);
    }

    private void endLast(long nowNanos) {
        if (last != null) {
            end(last);
            if (last.standsAt(nowNanos)) {
                earlier.add(last);
            }
        }
    }

    /** A claim of this token ends those of lower ones, for their claimants too; their leases bar on. */
    private void endEarlierThan(long token) {
        for (var claim : earlier) {
            if (claim.token() < token) {
                end(claim);
            }
        }
    }

    private void end(SeatClaim claim) {
        ended.remove(claim.id());
        ended.add(claim.id());
        if (ended.size() > MOST_ENDED) {
            ended.remove(0);
        }
    }
}
