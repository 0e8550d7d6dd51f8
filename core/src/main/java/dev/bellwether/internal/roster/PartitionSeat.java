package dev.bellwether.internal.roster;

import dev.bellwether.Cause;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.journal.SeatHold;
import dev.bellwether.spi.journal.SeatHold.Phase;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One partition of an exclusive roster: joins what its candidacy asks, what the group says and what the journal says.
 * Confined to the loop.
 */
final class PartitionSeat implements Seat, SeatHold.Effects {

    /** What the seats of one member share. */
    interface Shared {
        RosterStanding standing();

        RosterLedger ledger();

        RosterWriter writer();

        RosterDriver.Reports reports();

        Moment now();

        /** A partition is held from now on, proven since then. */
        void holding(Moment since);

        /** Tells that this partition has left, in a later turn. */
        void left(int partition);
    }

    private final int partition;
    private final Shared shared;
    private final SeatHold hold;
    private final long retryNanos;
    private boolean owned;
    private boolean wanted;
    private boolean revoking;
    private boolean hasLeft;
    private @Nullable Long overranNanos; // since then work of ours has overrun its end
    private long claim;
    private long knownAtClaim;

    PartitionSeat(int partition, Shared shared) {
        this.partition = partition;
        this.shared = shared;
        var candidacy = shared.standing().config().candidacy();
        hold = new SeatHold(candidacy, shared.now(), this);
        retryNanos = candidacy.retryInterval().toNanos();
    }

    // ---------------------------------------------------------------- what is due

    int partition() {
        return partition;
    }

    Phase phase() {
        return hold.phase();
    }

    long token() {
        return hold.token();
    }

    boolean claimable() {
        return hold.phase() == Phase.STANDING && owned && wanted;
    }

    boolean claimableAt(long nanos) {
        return claimable() && nanos - hold.waitUntilNanos() >= 0;
    }

    /** Returns when it may need something, if nothing else happens; the given time if it does not. */
    long dueNanos(long nowNanos, long otherwise, long beatAtNanos) {
        return switch (hold.phase()) {
            case STANDING -> claimable() ? hold.waitUntilNanos() : otherwise;
            case CLAIMING -> hold.unreadAtNanos();
            case BARRED -> hold.barredUntilNanos(nowNanos);
            case HOLDING -> beatAtNanos;
            case ENDING -> hold.endAtNanos();
        };
    }

    boolean beatDueAt(long nanos, long beatAtNanos) {
        return (hold.phase() == Phase.HOLDING && nanos - beatAtNanos >= 0)
                || (hold.phase() == Phase.BARRED && nanos - hold.barredUntilNanos(nanos) >= 0);
    }

    /** Time has passed: anybody who comes next need not wait for work that overran; a claim should have been read. */
    void act(long nowNanos) {
        if (hold.endOverrun(nowNanos)) {
            overranNanos = nowNanos;
            giveBack();
        }
        if (hold.phase() == Phase.CLAIMING && nowNanos - hold.unreadAtNanos() >= 0) {
            unread(nowNanos);
        }
    }

    /** The claim did not come through, or it is too late for it: another is due a little later. */
    private void unread(long nowNanos) {
        hold.drop(nowNanos);
        hold.waitUntil(nowNanos + retryNanos);
    }

    /** A record that was written later has been read: a claim that was not is lost. */
    void wroteLater(long number) {
        if (hold.phase() == Phase.CLAIMING && claim < number) {
            unread(nanos());
        }
    }

    /** Returns since when work of ours has overrun its end; null if none has. */
    @Nullable
    Long overranNanos() {
        return overranNanos;
    }

    boolean owned() {
        return owned;
    }

    void waitUntil(long nanos) {
        hold.waitUntil(nanos);
    }

    /** A claim is written under this number, after a commit that was sent at that time. */
    void claiming(long number, Moment commitSent) {
        claim = number;
        knownAtClaim = shared.ledger().highest();
        hold.claiming(commitSent);
    }

    // ---------------------------------------------------------------- asked by its candidacy

    @Override
    public void claim() {
        wanted = true;
        shared.writer().flushSoon();
    }

    @Override
    public void concede(Duration within) {
        wanted = false;
        if (hold.hasLed()) {
            hold.concede(within, nanos());
            shared.writer().flushSoon();
        }
    }

    @Override
    public void release() {
        wanted = false;
        overranNanos = null;
        hold.drop(nanos());
    }

    @Override
    public void leave() {
        release();
        if (!hasLeft) {
            hasLeft = true;
            shared.left(partition);
        }
    }

    // ---------------------------------------------------------------- what becomes of it

    void assigned() {
        owned = true;
        hold.waitUntil(nanos());
    }

    /** It is to move on: asks for the end of the work, if there is any. */
    void revoke() {
        owned = false;
        revoking = true;
        if (hold.phase() == Phase.HOLDING) {
            shared.reports().asked(partition, hold.token(), Cause.MOVED);
        } else if (hold.phase() != Phase.ENDING) {
            hold.drop(nanos());
        }
    }

    void lost() {
        owned = false;
        hold.lose(Cause.EXPIRED, nanos());
    }

    void lose(Cause cause) {
        hold.lose(cause, nanos());
    }

    void drop() {
        hold.drop(nanos());
    }

    /** The record is about this partition; before it, this was the highest token that we knew. */
    void apply(RosterRecord said, boolean ours, long claimToken, long known, @Nullable Moment beatSent) {
        var counts = shared.ledger().tokenOf(shared.standing().instance(), partition);
        var token = hold.token();
        if (ours && said.what() == RosterRecord.What.CLAIM) {
            claimRead(said.number(), claimToken, counts == claimToken && claimToken > known);
        } else if (token > 0 && counts != token) {
            hold.lose(Cause.REPLACED, nanos());
        } else if (beatSent != null
                && token > 0
                && Long.valueOf(token).equals(said.tokens().get(partition))) {
            hold.beatRead(beatSent, nanos());
        }
    }

    private void claimRead(long number, long claimToken, boolean counts) {
        if (hold.phase() == Phase.CLAIMING && number == claim) {
            shared.ledger().ownClaimRead(claimToken > knownAtClaim);
            hold.claimRead(claimToken, counts, nanos());
        } else { // we had given up on it, and it came through anyway
            shared.writer().release(partition, claimToken);
        }
    }

    // ---------------------------------------------------------------- what the hold does

    @Override
    public long barredNanosAt(long nanos) {
        return shared.ledger().barredNanosAt(nanos, shared.standing().instance(), partition);
    }

    @Override
    public void granted(long token, Proof proof) {
        shared.holding(proof.since());
        shared.reports().granted(partition, token, proof);
    }

    @Override
    public void proven(long token, Proof proof) {
        shared.reports().proven(partition, token, proof);
    }

    @Override
    public void lost(long token, Cause cause) {
        shared.reports().lost(partition, token, cause);
    }

    @Override
    public void concede(long token, Duration within) {
        shared.writer().concede(partition, token, within);
    }

    @Override
    public void release(long token, boolean led) {
        if (led && shared.ledger().tokenOf(shared.standing().instance(), partition) == token) {
            shared.writer().endTerm(partition, token);
        } else {
            shared.writer().release(partition, token);
        }
    }

    @Override
    public void dropped() {
        claim = 0;
        giveBack();
        shared.writer().flushSoon();
    }

    private long nanos() {
        return shared.now().nanos();
    }

    private void giveBack() {
        if (revoking) {
            revoking = false;
            shared.writer().giveBack(partition);
        }
    }
}
