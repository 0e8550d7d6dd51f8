package dev.bellwether.cli.demo;

import dev.bellwether.testkit.FaultProxy;
import java.util.List;
import java.util.Optional;

/** What the demo holds its election on. */
interface Engine extends AutoCloseable {

    /** Returns what it is, for people, without secrets. */
    String describe();

    /** Returns how many candidates it has a place for. */
    int places();

    /** Returns what the candidate at this place, counted from 0, connects to, secrets and all. */
    String uri(int place);

    /** Returns what anybody else connects to, without secrets. */
    String shownUri();

    /** Returns the links of a candidate, all of which lead to the server; none if its network is not ours to cut. */
    List<FaultProxy> links(int place);

    /** Returns the server, if it is ours to kill. */
    Optional<Server> server();

    /** Forgets the election and stops what was started. Idempotent. */
    @Override
    void close();

    /** The server behind the election. */
    interface Server {
        /** Returns what it is called. */
        String name();

        /** Kills it, by SIGKILL. */
        void kill();

        /** Starts it again, and returns when it serves. */
        void start();
    }
}
