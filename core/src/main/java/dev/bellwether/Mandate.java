package dev.bellwether;

import java.time.Duration;

/**
 * One uninterrupted term of leadership.
 *
 * <p>A step that asks first, and a guard at the resource:
 *
 * <pre>{@code
 * mandate.ensure(Duration.ofSeconds(2)); // throws, if less is left
 * try (var update = connection.prepareStatement("UPDATE report SET text = ?, token = ? WHERE token <= ?")) {
 *     update.setString(1, text);
 *     update.setLong(2, mandate.token());
 *     update.setLong(3, mandate.token());
 *     if (update.executeUpdate() == 0) {
 *         throw new IllegalStateException("a later leader has written");
 *     }
 * }
 * }</pre>
 *
 * <p>Thread-safe. No call blocks. Once it is over it never becomes valid again: the next term is another mandate with a
 * higher token.
 */
public interface Mandate {

    /** Returns the name of the election. */
    String election();

    /** Returns the id of the candidate who holds it. */
    String candidate();

    /**
     * Returns the token: a number that only ever rises within an election, across crashes, restarts and hand-overs.
     * Send it along with what you write, and let the resource refuse a token lower than the highest it has seen.
     */
    long token();

    /** Returns whether the mandate holds now; as cheap as {@link Candidacy#isLeader}. */
    boolean isValid();

    /** Returns how long the mandate will hold if it is not extended any more; zero when it is over. */
    Duration remaining();

    /**
     * Returns normally if the mandate holds now.
     *
     * @throws NotLeaderException if it does not: stop what you are doing
     */
    default void ensure() {
        ensure(Duration.ZERO);
    }

    /**
     * Returns normally if the mandate will hold for at least the given time, without any further extension: ask for
     * what the next step takes.
     *
     * @throws NotLeaderException if it will not: do not begin the step. If no mandate of this lease ever holds for so
     *     long, a warning in the log says so, once for each mandate
     */
    void ensure(Duration atLeast);
}
