package dev.bellwether.internal.joint;

import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;

/**
 * The decisions on which it rests that who leads by two seats leads alone: each in one place. Immutable. Open only so
 * that a simulation can show what becomes of an election in which one of them is made wrongly.
 */
class JointRules {
    /*
     * Why nobody leads beside another. There are three kinds of processes: those that elect by the old seat alone,
     * those that elect by both, and those that elect by the next seat alone; never the first and the third at once.
     * A candidate that elects by both leads only while it has both. So any two who could lead at once elect by a
     * seat that is the same, and one of them does not have it.
     *
     * Why nobody waits for another in a circle. The next seat is claimed only by who has the old one, or does not want
     * it.
     *
     * Why tokens rise. A mandate of both has a token that both seats were granted under. The next seat is claimed with
     * the token of the old one, and granted under just this if it is above all that the next seat ever had. If it is
     * not, we give both back, and claim the old seat with a token above that. So a mandate of both is in one order with
     * those of the processes that elect by the old seat alone, and in one with those that elect by the next alone. The
     * first of these have a higher token than the last of those, if somebody has led by both in between.
     *
     * Where tokens of the old seat cannot be chosen, they rise by themselves as it is claimed again. If that is not
     * enough, we lead under the higher one.
     */
    static final JointRules TRUE = new JointRules();

    private static final int MOST_TRIES = 10;

    /** Returns whether we may lead. */
    boolean mayLead(boolean hasOld, boolean hasNext) {
        return hasOld && hasNext;
    }

    /** Returns with which token to claim the next seat. */
    long least(long oldToken) {
        return oldToken;
    }

    /**
     * Returns whether to lead under the token of the next seat, or to claim the old one again.
     *
     * @param choosesOld whether the old seat can be claimed with a token above it
     * @param tries how often we have done so in vain
     */
    boolean isInOrder(long oldToken, long nextToken, boolean choosesOld, int tries) {
        return nextToken == oldToken || (!choosesOld && tries >= MOST_TRIES);
    }

    /** Returns the token of the mandate. */
    long token(long oldToken, long nextToken) {
        return nextToken;
    }

    /** Returns whether the seat of a mandate that has ended is kept until its work has ended, too. */
    boolean keepsUntilTheWorkHasEnded() {
        return true;
    }

    /**
     * Returns the proof of both seats: it lasts no longer than either, on neither clock.
     */
    Proof proof(Proof old, Proof next) {
        /*
         * It counts from the older of the two, so that every jump of a clock since then shows. The drift bound is taken
         * off the time since then, which is more than is taken off the younger one: so this ends before either does.
         */
        var since = old.since().nanosSince(next.since()) < 0 ? old.since() : next.since();
        var nanos = Math.min(nanosLeft(old, since), nanosLeft(next, since));
        var wallNanos = Math.min(wallNanosLeft(old, since), wallNanosLeft(next, since));
        return new Proof(since, Duration.ofNanos(Math.max(0, Math.min(nanos, wallNanos))));
    }

    private static long nanosLeft(Proof proof, Moment from) {
        return proof.since().nanosSince(from) + proof.guarantee().toNanos();
    }

    private static long wallNanosLeft(Proof proof, Moment from) {
        return (proof.since().wallMillis() - from.wallMillis()) * 1_000_000
                + proof.guarantee().toNanos();
    }
}
