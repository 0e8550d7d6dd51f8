package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import java.time.Duration;
import java.util.Optional;

/**
 * A session, or one after another when they expire, as those know it whose nodes live in it. Thread-safe.
 */
interface NodeSession {
    /**
     * Which session this is, and over which connection.
     *
     * @param id of the session; 0 if there is none
     * @param generation how many sessions have expired: what was created in an earlier one is gone
     * @param breaks how many connections were lost: if this is the same before and after, both happened on one
     *     connection
     * @param timeout what was negotiated with the server; zero if nothing was yet
     */
    record State(long id, long generation, long breaks, Duration timeout) {}

    State state();

    NodeRequests requests();

    PathWatches watches();

    /** Returns what it is a session with, for messages. */
    String where();

    /** Returns why a lease cannot be held here, as far as is known. */
    Optional<ElectionException> refusal(CandidacyConfig config);

    /** Does this whenever a connection has been made, on any thread, until it is taken back. */
    void onConnect(Runnable action);

    /** Takes it back. */
    void offConnect(Runnable action);

    /** Does this once, a second later, on any thread. */
    void soon(Runnable action);

    /**
     * Asks something, unless somebody has had that done a moment ago. Of a client that is asked nothing, nobody would
     * notice that it hears nothing.
     */
    void probe();
}
