package dev.bellwether.testkit;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;

/**
 * One election under a test's control: see {@link ControlledElections}.
 *
 * <p>The methods without a candidate's name are for the usual case that one candidate stands here.
 */
public final class ControlledElection {
    private final String name;
    private final ControlledArbiter arbiter;
    private final ControlledLoop loop;

    ControlledElection(String name, ControlledArbiter arbiter, ControlledLoop loop) {
        this.name = name;
        this.arbiter = arbiter;
        this.loop = loop;
    }

    /**
     * Makes the candidate leader, under the next token, which it returns.
     *
     * @throws IllegalStateException if there is not exactly one candidate, it leads already, somebody else does, or it
     *     does not want the seat now, such as after an operator's order
     */
    public long acquire() {
        return loop.call(() -> arbiter.room(name).only()).acquire();
    }

    /**
     * Makes this candidate leader, under the next token, which it returns.
     *
     * @throws IllegalStateException if it does not stand, leads already, somebody else does, or it does not want the
     *     seat now
     */
    public long acquire(String candidate) {
        return loop.call(() -> arbiter.room(name).named(candidate)).acquire();
    }

    /**
     * Asks the leader for the seat, in order, as when it moves to somebody else: {@code Revoked} with the cause {@link
     * Cause#MOVED}. It stands by again at
     * once.
     *
     * @throws IllegalStateException if none of the candidates here leads
     */
    public void revoke() {
        revoke(Cause.MOVED);
    }

    /**
     * Asks the leader for the seat, in order, for this cause. After {@link Cause#REVOKED_BY_OPERATOR} it holds back for
     * a lease: let that pass before it can acquire again.
     *
     * @throws IllegalStateException if none of the candidates here leads
     */
    public void revoke(Cause cause) {
        loop.run(() -> arbiter.room(name).leader().revoke(cause));
    }

    /**
     * Takes the seat from the leader without asking, as when its lease is gone: {@code Fenced}. It stands by again at
     * once.
     *
     * @throws IllegalStateException if none of the candidates here leads
     */
    public void fence() {
        fence(Cause.EXPIRED);
    }

    /**
     * Takes the seat from the leader without asking, for this cause.
     *
     * @throws IllegalStateException if none of the candidates here leads
     */
    public void fence(Cause cause) {
        loop.run(() -> arbiter.room(name).leader().fence(cause));
    }

    /**
     * Fails the candidate permanently, leader or not: a leader is asked to stand down first; then its listener hears
     * {@code Failed} with this error, and {@link dev.bellwether.Candidacy#pulse} throws one whose cause it is.
     *
     * @throws IllegalStateException if there is not exactly one candidate
     */
    public void fail(ElectionException error) {
        loop.run(() -> arbiter.room(name).only().fail(error));
    }

    /**
     * Lets the candidates here follow somebody elsewhere, who leads from now on.
     *
     * @throws IllegalStateException if a candidate here leads: revoke or fence it first
     */
    public void leadsElsewhere(String candidate) {
        loop.run(() -> arbiter.room(name).elsewhere(candidate));
    }

    /** Lets the one elsewhere lead no more; does nothing if there is none. */
    public void vacate() {
        loop.run(() -> arbiter.room(name).vacate());
    }

    /**
     * From now on no renewal is answered: the leader's deadline comes, if
     * {@linkplain ControlledElections#advance time passes}.
     */
    public void goSilent() {
        loop.run(() -> arbiter.room(name).silent(true));
    }

    /** Answers again: a leader whose deadline has not come has its lease renewed at once. */
    public void answerAgain() {
        loop.run(() -> arbiter.room(name).silent(false));
    }

    /** Ends the election, as an operator would: all are told, and a leader stands down in order. */
    public void end() {
        loop.run(() -> arbiter.room(name).end());
    }

    @Override
    public String toString() {
        return "election \"" + name + "\" under control";
    }
}
