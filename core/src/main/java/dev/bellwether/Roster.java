package dev.bellwether;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Many roles, spread over the members of a group: one member's part in it, from {@link Elections#roster} to
 * {@link #close}.
 *
 * <pre>{@code
 * try (var roster = elections.roster("pricing", RosterConfig.ofRoles(1_000))) {
 *     roster.whileLeading((role, mandate) -> price.accept(role));
 *     roster.awaitClose();
 * }
 * }</pre>
 *
 * <p>Role <em>j</em> belongs to partition <em>j mod M</em>; the group deals out its <em>M</em> partitions evenly, by
 * weight, and moves as few of them as it can when members come and go. So every role has an owner, whatever their
 * number.
 *
 * <p>Thread-safe. A member that loses a role may lead it again later; only {@link #resign}, {@link #close} or a fatal
 * error ends the membership. No method but {@code await}, {@code awaitClose} and {@code close} waits for anything, and
 * a listener or task may call all but {@link #awaitClose}.
 */
public interface Roster extends AutoCloseable {

    /** Returns the name of the roster. */
    String name();

    /** Returns this member's id, as others see it. */
    String member();

    /** Returns the number of roles, as far as this member knows. */
    int roleCount();

    /**
     * Changes the number of roles, from now on and on this member only: tell all of them, at about the same time and in
     * any order. No role moves by it. Roles that are no more are {@link RosterEvent.Revoked} with {@link Cause#ENDED};
     * new ones of a partition that is led here are {@link RosterEvent.Gained} at once. Returns at once.
     *
     * <p>Keys move: {@link #roleOf} gives some of them another role. While members differ, two may work on one key; and
     * a step that works on a key under its former role is neither waited for nor interrupted. If that must not be, stop
     * the work on keys that move before, or have a guard for each key, as "Keys, slots, roles" in
     * {@code docs/rosters.md} says.
     *
     * @throws ElectionException if that is no number of roles
     */
    void resize(int roles);

    /**
     * Returns whether this member leads a role now; false for a number that is no role. As cheap as
     * {@link Candidacy#isLeader}, and with the same meaning, except under {@link RosterMode#OVERLAPPING}, where others
     * may lead the role, too.
     */
    boolean leads(int role);

    /** Returns all roles that this member leads now, in rising order. */
    List<Integer> roles();

    /**
     * Returns the mandate under which this member leads a role now: it is that of the role's partition, with its token
     * and its deadline, and {@link Mandate#election} is the name of the roster and the partition, such as
     * {@code pricing[17]}. Under {@link RosterMode#EXCLUSIVE} the tokens of a role only ever rise.
     */
    Optional<Mandate> mandate(int role);

    /**
     * Returns the role that is responsible for a key: the same in every process, of every version, that has as many
     * {@linkplain #roleCount roles}. When their number grows from <em>n</em> to <em>n+1</em>, about one key in
     * <em>n+1</em> changes its role, and none changes between old roles.
     */
    int roleOf(String key);

    /** Returns the slot of a key: one of {@link RosterConfig#slots}, the same however many roles there are. */
    int slotOf(String key);

    /** Returns the role that is responsible for a slot. The number of roles decides it, and nothing else. */
    int roleOfSlot(int slot);

    /**
     * Runs a task for each role that is led here, again and again, and never for one that is not. Steps of one role
     * come one after another; those of different roles at once, up to {@link RosterConfig#parallelism}. A task that
     * throws is logged and counted, and comes again after the retry interval. Returns at once.
     *
     * @throws IllegalStateException if the roster already has a task
     */
    void whileLeading(RoleTask task);

    /**
     * Waits until this member leads at least so many roles, and returns true; or until the time is up or the membership
     * has ended, and returns false. In a listener it would delay the events that it waits for.
     *
     * @throws ElectionException if the membership has ended by a {@linkplain #failure fatal error}, which is the cause
     */
    boolean await(int roles, Duration timeout) throws InterruptedException;

    /** Returns the error that ended the membership, if one did. */
    Optional<ElectionException> failure();

    /**
     * Waits until the membership has ended. Returns if it resigned.
     *
     * @throws ElectionException if it has ended by a {@linkplain #failure fatal error}, which is the cause
     * @throws IllegalStateException if called from a listener or task of this roster, which would wait for itself
     */
    void awaitClose() throws InterruptedException;

    /**
     * Gives up all roles, in order, and leaves the group. Returns at once: {@link #close} waits for the end.
     * Idempotent.
     */
    void resign();

    /**
     * Resigns, and waits for that. Waits for work to end within the stand-down budget, no longer than two more
     * renew intervals for the infrastructure. Under {@link RosterMode#OVERLAPPING} it leaves first and leads on for as
     * long as the threshold exceeds the session, so that others have begun before. Idempotent. From a listener or task
     * of this roster it does not wait. A thread that is interrupted waits, too, and stays interrupted.
     */
    @Override
    void close();
}
