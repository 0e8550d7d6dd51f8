package dev.bellwether.spi.journal;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;

/**
 * How far our claim for a seat has come: from standing by to holding the seat and letting go of it.
 *
 * <p>Confined to one thread. Time is an argument. Anybody who owns it says what the journal and the group say: when to
 * claim, and when to prove it again, is decided there.
 */
public final class SeatHold {
    /*
     *                    claim written                claim read back, nobody earlier may lead
     *   STANDING ------------------------> CLAIMING ------------------------------------------> HOLDING
     *      ^                                  | read back, but an earlier leader may not have stopped |
     *      |                                  v                                                       |
     *      |                               BARRED -- it has released, or its lease is over; a beat ---+
     *      |                                                                                          |
     *      +---- release ---- ENDING <---- concede; the group took the seat away; a later claim ------+
     *
     * In CLAIMING and BARRED a later claim, or the seat taken away, leads back to STANDING at once.
     *
     * A mandate counts from before the commit that went before the claim or the beat that proves it. A claim that was
     * read too late, or that had to wait, is no proof: then a beat must be read back, behind the wait.
     */
    /** How far it has come. */
    public enum Phase {
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

    /** What it does. */
    public interface Effects {
        /**
         * Returns for how long, in nanoseconds, somebody else may still lead on an earlier claim; zero or less if
         * nobody.
         */
        long barredNanosAt(long nanos);

        /** The seat is ours. */
        void granted(long token, Proof proof);

        /** The seat is still ours. */
        void proven(long token, Proof proof);

        /** The seat is no longer ours; the work may not know yet. */
        void lost(long token, Cause cause);

        /** To be written: the mandate is over, and the work will be within this time. */
        void concede(long token, Duration within);

        /** To be written: the claim of this token is of no use any more; whether it led. */
        void release(long token, boolean led);

        /** The claim was given up: what is read of it from now on is of no use. */
        void dropped();
    }

    private final Effects effects;
    private final Duration lease;
    private final long renewNanos;
    private final long retryNanos;
    private Phase phase = Phase.STANDING;
    private long token;
    private Moment sent;
    private Moment provenAt;
    private long waitUntilNanos;
    private long endAtNanos;

    /** Stands by. */
    public SeatHold(CandidacyConfig config, Moment now, Effects effects) {
        this.effects = effects;
        lease = config.lease();
        renewNanos = config.renewInterval().toNanos();
        retryNanos = config.retryInterval().toNanos();
        sent = now;
        provenAt = now;
        waitUntilNanos = now.nanos();
    }

    /** Returns how far it has come. */
    public Phase phase() {
        return phase;
    }

    /** Returns whether the mandate has begun, and the work may not have ended. */
    public boolean hasLed() {
        return phase == Phase.HOLDING || phase == Phase.ENDING;
    }

    /** Returns the token of our claim; 0 until it has been read, and when it was given up. */
    public long token() {
        return token;
    }

    /** Returns when the commit before the claim was sent. */
    public Moment sent() {
        return sent;
    }

    /** Returns when the commit was sent that proved it last. */
    public Moment provenAt() {
        return provenAt;
    }

    // ---------------------------------------------------------------- time

    /**
     * Returns until when it waits before it is claimed, or proven for the first time, unless somebody bars it for
     * longer.
     */
    public long waitUntilNanos() {
        return waitUntilNanos;
    }

    /** Waits before it is claimed, or proven for the first time. */
    public void waitUntil(long nanos) {
        waitUntilNanos = nanos;
    }

    /** Returns when a beat can make a claim that was barred a mandate. */
    public long barredUntilNanos(long nowNanos) {
        var barred = nowNanos + Math.max(0, effects.barredNanosAt(nowNanos));
        return barred - waitUntilNanos > 0 ? barred : waitUntilNanos;
    }

    /** Returns when a claim that was written and not read is taken for lost. */
    public long unreadAtNanos() {
        return sent.nanos() + lease.toNanos() / 2 + 1;
    }

    /** Returns when the work has overrun, if it has not ended. */
    public long endAtNanos() {
        return endAtNanos;
    }

    /**
     * Stands by again if the work has overrun its end, which anybody who comes next does not wait for, either. Returns
     * whether it had.
     */
    public boolean endOverrun(long nowNanos) {
        var overran = phase == Phase.ENDING && nowNanos - endAtNanos >= 0;
        if (overran) {
            abandon();
        }
        return overran;
    }

    // ---------------------------------------------------------------- claiming and proving

    /** A claim is written, behind a commit that was sent at that time. */
    public void claiming(Moment commitSent) {
        phase = Phase.CLAIMING;
        token = 0;
        sent = commitSent;
    }

    /** The claim was read. It counts if it is the last one, and its token has risen. */
    public void claimRead(long claimToken, boolean counts, long nowNanos) {
        if (phase != Phase.CLAIMING) {
            return;
        }
        if (!counts) {
            effects.release(claimToken, false); // anybody who knows less than we do would wait for it
            drop(nowNanos);
            return;
        }
        token = claimToken;
        phase = Phase.BARRED;
        waitUntilNanos = nowNanos;
        if (nowNanos - sent.nanos() < renewNanos && effects.barredNanosAt(nowNanos) <= 0) {
            hold(sent);
        }
    }

    /** A beat of the claim was read, which counts still; the commit before the beat was sent at that time. */
    public void beatRead(Moment commitSent, long nowNanos) {
        if (phase == Phase.HOLDING) {
            provenAt = commitSent;
            effects.proven(token, new Proof(commitSent, lease));
        } else if (phase == Phase.BARRED && effects.barredNanosAt(nowNanos) <= 0) {
            // else somebody claimed before this beat
            hold(commitSent);
        }
    }

    private void hold(Moment since) {
        phase = Phase.HOLDING;
        provenAt = since;
        effects.granted(token, new Proof(since, lease));
    }

    // ---------------------------------------------------------------- letting go

    /** The mandate has ended, the work will within this time; zero if it is not known when. */
    public void concede(Duration within, long nowNanos) {
        if (!hasLed()) {
            return;
        }
        phase = Phase.ENDING;
        endAtNanos = provenAt.nanos() + lease.toNanos();
        var sooner = nowNanos + within.toNanos();
        if (!within.isZero() && sooner - endAtNanos < 0) {
            endAtNanos = sooner;
            effects.concede(token, within);
        }
    }

    /** The seat is no longer ours. The work may not know yet: only when it has ended is the claim released. */
    public void lose(Cause cause, long nowNanos) {
        switch (phase) {
            case HOLDING -> {
                phase = Phase.ENDING;
                endAtNanos = provenAt.nanos() + lease.toNanos();
                effects.lost(token, cause);
            }
            case CLAIMING, BARRED -> {
                drop(nowNanos);
                waitUntilNanos = nowNanos + retryNanos;
            }
            case STANDING, ENDING -> {}
        }
    }

    /** The work has ended, or a claim is of no use: gives it up, and says so. */
    public void drop(long nowNanos) {
        if (phase != Phase.STANDING && token > 0) {
            effects.release(token, hasLed());
        }
        phase = Phase.STANDING;
        token = 0;
        waitUntilNanos = nowNanos;
        effects.dropped();
    }

    /** Stands by again silently: nobody waits for us any more. */
    public void abandon() {
        phase = Phase.STANDING;
    }
}
