package dev.bellwether.testkit.faults;

import dev.bellwether.testkit.FaultProxy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** What a bench holds its election on. Confined to the thread of the bench. */
public interface BenchEnvironment extends AutoCloseable {

    /** Returns what it is, for people. */
    String describe();

    /** Returns how many candidates it has a place for. */
    int places();

    /** Returns what the candidate at this place, counted from 0, connects to. */
    String uri(int place);

    /** Returns what an operator connects to, whose way is never cut. */
    String operatorsUri();

    /**
     * Returns the links of a candidate, all of which lead to servers; none if it has no network of its own to be cut.
     */
    default List<FaultProxy> links(int place) {
        return List.of();
    }

    /** Returns the servers; none if they are not to be hurt. */
    default List<Server> servers() {
        return List.of();
    }

    /** Returns the server that leads the others; waits until there is one. Asked for only where there are several. */
    default Server leader() {
        throw new UnsupportedOperationException(describe() + " has several servers, and does not tell which one leads");
    }

    /** Returns what the servers keep of the election; empty if that is not to be hurt. */
    default Optional<Records> records() {
        return Optional.empty();
    }

    /**
     * Returns whether candidates' wall clocks may step, each by itself. Where all go by the machine's, they must not.
     */
    default boolean clocksMayStep() {
        return true;
    }

    /**
     * Returns whether a candidate that is frozen may hold what all others need, such as the lock of a file, until it is
     * thawed.
     */
    default boolean frozenMayBlockAll() {
        return false;
    }

    /**
     * Returns whether a machine that vanishes may hold what all others need, such as the lock of a row, for longer than
     * anybody waits.
     */
    default boolean vanishedMayBlockAll() {
        return false;
    }

    /** Returns how much must happen in a minute of a bench; with less, it has shown nothing. */
    default Least atLeast() {
        return new Least(30, 6);
    }

    @Override
    default void close() {}

    /** How many faults and terms there must be at least: in a minute, or in a run. */
    record Least(int faults, int terms) {
        /** Returns what that is in so much time; there is always something, and leadership has changed. */
        Least in(Duration time) {
            return new Least(Math.max(1, (int) (faults * time.toMillis() / 60_000)), Math.max(2, (int)
                    (terms * time.toMillis() / 60_000)));
        }

        boolean isReached(int faultsDone, int termsSeen) {
            return faultsDone >= faults && termsSeen >= terms;
        }
    }

    /** What the servers keep of the election. Each is done by a thread of its own, and returns when it is done. */
    interface Records {
        /** Drops it without a trace, as a server whose clock is wrong. */
        void drop();

        /** Deletes it, as an operator. */
        void delete();

        /** Overwrites it by what is no record. */
        void spoil();
    }

    /** One server. Started again by a thread of its own; used by one thread at a time. */
    interface Server {
        /** Returns what it is called. */
        String name();

        /** Freezes it: connections stay, answers do not come. */
        void pause();

        /** Lets it go on. */
        void resume();

        /** Returns whether its wall clock can be set back. */
        default boolean hasClock() {
            return false;
        }

        /** Sets its wall clock back by so much, permanently. */
        default void setBack(Duration by) {
            throw new UnsupportedOperationException(name() + " has no clock of its own");
        }

        /** Returns whether it can be killed. */
        default boolean isMortal() {
            return true;
        }

        /** Kills it, by SIGKILL. */
        void kill();

        /** Starts it again, and returns when it serves. */
        void start();
    }
}
