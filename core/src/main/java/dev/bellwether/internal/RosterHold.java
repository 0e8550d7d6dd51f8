package dev.bellwether.internal;

import dev.bellwether.Cause;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.Seat;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** One partition of an exclusive roster: how far our claim for it has come. Confined to the loop. */
final class RosterHold implements Seat {
    /*
     *              ours, commit accepted              claim read back, nobody earlier may lead
     *   STANDING ------------------------> CLAIMING ------------------------------------------> HOLDING
     *      ^                                  | read back, but an earlier leader may not have stopped |
     *      |                                  v                                                       |
     *      |                               BARRED ---- he has released it, or his lease is over ------+
     *      |                                                                                          |
     *      +---- release ---- ENDING <---- concede; partition lost; a claim after ours ---------------+
     */
    enum Phase {
        /** Without a claim. */
        STANDING,
        /** The claim was written, and not yet read. */
        CLAIMING,
        /** The claim stands; an earlier leader may not have stopped yet, or the claim is too old to be a proof. */
        BARRED,
        /** Granted. */
        HOLDING,
        /** The mandate is over, the work may not be. */
        ENDING
    }

    /** What the holds of one member share. */
    interface Desk {
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
    private final Desk desk;
    private final long leaseNanos;
    private final long renewNanos;
    private final long retryNanos;
    private Phase phase = Phase.STANDING;
    private boolean owned;
    private boolean wanted;
    private boolean revoking;
    private boolean hasLeft;
    private long claim;
    private long knownAtClaim;
    private long token;
    private Moment sent;
    private long provenNanos;
    private long waitUntilNanos;
    private long endAtNanos;

    RosterHold(int partition, Desk desk) {
        this.partition = partition;
        this.desk = desk;
        var tenure = desk.standing().config().tenure();
        leaseNanos = tenure.lease().toNanos();
        renewNanos = tenure.renewInterval().toNanos();
        retryNanos = tenure.retryInterval().toNanos();
        sent = desk.now();
        waitUntilNanos = sent.nanos();
    }

    // ---------------------------------------------------------------- what is due

    int partition() {
        return partition;
    }

    Phase phase() {
        return phase;
    }

    long token() {
        return token;
    }

    boolean claimable() {
        return phase == Phase.STANDING && owned && wanted;
    }

    boolean claimableAt(long nanos) {
        return claimable() && nanos - waitUntilNanos >= 0;
    }

    /** Returns whether a claim that was written should have been read long ago. */
    boolean unreadAt(long nanos) {
        return phase == Phase.CLAIMING && nanos - sent.nanos() > leaseNanos / 2;
    }

    /** Returns when it may need something, if nothing else happens; the given time if it does not. */
    long dueNanos(long nowNanos, long otherwise, long beatAtNanos) {
        return switch (phase) {
            case STANDING -> claimable() ? waitUntilNanos : otherwise;
            case CLAIMING -> sent.nanos() + leaseNanos / 2 + 1;
            case BARRED -> barredUntil(nowNanos);
            case HOLDING -> beatAtNanos;
            case ENDING -> endAtNanos;
        };
    }

    long barredUntil(long nowNanos) {
        var instance = desk.standing().instance();
        var barred = nowNanos + Math.max(0, desk.ledger().barredNanosAt(nowNanos, instance, partition));
        return barred - waitUntilNanos > 0 ? barred : waitUntilNanos;
    }

    /** The claim did not come through, or it is too late for it: another is due a little later. */
    void unread() {
        drop();
        waitUntilNanos = desk.now().nanos() + retryNanos;
    }

    /** A record that was written later has been read: a claim that was not is lost. */
    void wroteLater(long number) {
        if (phase == Phase.CLAIMING && claim < number) {
            unread();
        }
    }

    void waitUntil(long nanos) {
        waitUntilNanos = nanos;
    }

    /** The work overran: whoever comes next need not wait for it any more. */
    void endOverrunAt(long nanos) {
        if (phase == Phase.ENDING && nanos - endAtNanos >= 0) {
            phase = Phase.STANDING;
            giveBack();
        }
    }

    /** A claim is written under this number, after a commit that was sent at that time. */
    void claiming(long number, Moment commitSent) {
        phase = Phase.CLAIMING;
        claim = number;
        knownAtClaim = desk.ledger().highest();
        sent = commitSent;
    }

    // ---------------------------------------------------------------- asked by its tenure

    @Override
    public void claim() {
        wanted = true;
        desk.writer().flushSoon();
    }

    @Override
    public void concede(Duration within) {
        wanted = false;
        if (phase == Phase.HOLDING || phase == Phase.ENDING) {
            phase = Phase.ENDING;
            endAtNanos = provenNanos + leaseNanos;
            var sooner = desk.now().nanos() + within.toNanos();
            if (!within.isZero() && sooner - endAtNanos < 0) {
                endAtNanos = sooner;
                desk.writer().concede(partition, token, within);
            }
            desk.writer().flushSoon();
        }
    }

    @Override
    public void release() {
        wanted = false;
        drop();
    }

    @Override
    public void leave() {
        wanted = false;
        drop();
        if (!hasLeft) {
            hasLeft = true;
            desk.left(partition);
        }
    }

    // ---------------------------------------------------------------- what becomes of it

    void assigned() {
        owned = true;
        waitUntilNanos = desk.now().nanos();
    }

    /** It is to move on: asks for the end of the work, if there is any. */
    void revoke() {
        owned = false;
        revoking = true;
        switch (phase) {
            case HOLDING -> desk.reports().asked(partition, token, Cause.REPLACED);
            case ENDING -> {}
            case STANDING, CLAIMING, BARRED -> drop();
        }
    }

    void lost() {
        owned = false;
        lose(Cause.EXPIRED);
    }

    /** The record is about this partition; before it, this was the highest token that we knew. */
    void heed(RosterRecord said, boolean ours, long claimToken, long known, @Nullable Moment beatSent) {
        var counts = desk.ledger().tokenOf(desk.standing().instance(), partition);
        if (ours && said.what() == RosterRecord.What.CLAIM) {
            claimRead(said.number(), claimToken, counts == claimToken && claimToken > known);
        } else if (token > 0 && phase != Phase.STANDING && counts != token) {
            lose(Cause.REPLACED);
        } else if (beatSent != null
                && token > 0
                && token == counts
                && Long.valueOf(token).equals(said.tokens().get(partition))) {
            if (phase == Phase.HOLDING) {
                provenNanos = beatSent.nanos();
                desk.reports().proven(partition, token, new Proof(beatSent, lease()));
            } else if (phase == Phase.BARRED && unbarred()) {
                hold(beatSent);
            }
        }
    }

    private void claimRead(long number, long claimToken, boolean counts) {
        if (!counts) {
            desk.writer().release(partition, claimToken); // whoever knows less than we do would wait for it
        }
        if (phase == Phase.CLAIMING && number == claim) {
            desk.ledger().ownClaimRead(claimToken > knownAtClaim);
            if (!counts) {
                phase = Phase.STANDING; // void, since its token would not have risen: we know better now
                return;
            }
            token = claimToken;
            phase = Phase.BARRED;
            waitUntilNanos = desk.now().nanos();
            if (unbarred() && waitUntilNanos - sent.nanos() < renewNanos) {
                hold(sent);
            }
        } else if (counts) { // we had given up on it, and it came through all the same
            desk.writer().release(partition, claimToken);
        }
    }

    private boolean unbarred() {
        return desk.ledger().barredNanosAt(desk.now().nanos(), desk.standing().instance(), partition) <= 0;
    }

    private void hold(Moment since) {
        desk.holding(since);
        phase = Phase.HOLDING;
        provenNanos = since.nanos();
        desk.reports().granted(partition, token, new Proof(since, lease()));
    }

    void lose(Cause cause) {
        switch (phase) {
            case HOLDING -> {
                phase = Phase.ENDING;
                endAtNanos = provenNanos + leaseNanos;
                desk.reports().lost(partition, token, cause);
            }
            case CLAIMING, BARRED -> {
                drop();
                waitUntilNanos = desk.now().nanos() + retryNanos;
            }
            case STANDING, ENDING -> {}
        }
    }

    void drop() {
        if (phase != Phase.STANDING && phase != Phase.CLAIMING && token > 0) {
            var led = phase == Phase.HOLDING || phase == Phase.ENDING;
            if (led && desk.ledger().tokenOf(desk.standing().instance(), partition) == token) {
                desk.writer().endReign(partition, token);
            } else {
                desk.writer().release(partition, token);
            }
        }
        phase = Phase.STANDING;
        claim = 0;
        token = 0;
        waitUntilNanos = desk.now().nanos();
        giveBack();
        desk.writer().flushSoon();
    }

    private void giveBack() {
        if (revoking) {
            revoking = false;
            desk.writer().giveBack(partition);
        }
    }

    private Duration lease() {
        return desk.standing().config().lease();
    }
}
