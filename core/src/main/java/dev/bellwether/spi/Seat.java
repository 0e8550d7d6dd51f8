package dev.bellwether.spi;

import java.time.Duration;
import java.util.Map;

/**
 * One candidacy's hold on a seat: what the candidacy asks of a backend.
 *
 * <p>Called on the loop; must not block. Outcomes are reported to the {@link Claimant}.
 */
public interface Seat {

    /** Try to get the seat until it is granted; then keep proving it. Also after it was lost or released. */
    void claim();

    /**
     * The same, to be granted with this token if that is above all before. Asked only where the backend {@link
     * Backend#setsTokens}.
     */
    default void claim(long least) {
        throw new UnsupportedOperationException(this + " cannot be granted with a token that was chosen");
    }

    /**
     * The mandate has ended, the work not yet. Prove no more; keep the seat for this long at most, so that the
     * successor need not wait any longer; {@link #release} will follow if the work ends in time.
     */
    void concede(Duration within);

    /**
     * The work has ended, or there was none: hand over now, if the seat is still ours. Do not claim it again until
     * told, and until then be no candidate that anybody waits for. That may be in the same turn: a {@link #claim} right
     * behind means that the candidate stands on, and what it need not leave for that it should keep.
     */
    void release();

    /**
     * The candidate is ready, as {@link Claimant#prepare} asked it to be. Called only where a seat can be handed over
     * by name.
     */
    default void ready(HandOverNote order) {}

    /**
     * Show this to observers from now on: while the seat is ours, at once. Called only where that can be: see {@link
     * Backend#proclaimObjection}.
     */
    default void proclaim(Map<String, String> metadata) {}

    /**
     * Stand no more: leave nothing behind, then report {@link Claimant#left}. Asked again if something broke off on the
     * way: then do what is still to be done, if anything is, and report it again.
     */
    void leave();
}
