package dev.bellwether.testkit;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * What a backend's test supplies to the {@link ElectionsContract}: a running server, ways to connect to it, and ways to
 * disturb it.
 *
 * <p>Made for each test; the server behind it may be shared by all of them, since every test uses elections of
 * its own. The methods without a body are all that a backend must give. Where it cannot give one of the others, it says
 * so by {@link #lacks}.
 */
public interface Infrastructure extends AutoCloseable {

    /**
     * What some infrastructures cannot offer. The fact that needs it prints the reason, and checks what is left to
     * check.
     */
    enum Capability {
        /** {@link #restartServer}. */
        RESTART,
        /** {@link #pauseServer} and {@link #resumeServer}. */
        PAUSE,
        /** Telling who stands by: without it, {@link dev.bellwether.Election#candidates} knows the leader only. */
        STANDBYS,
        /** Handing over to a candidate by name: see {@link dev.bellwether.Election#handOver}. */
        HAND_OVER,
        /** Changing what a candidate shows while it stands: see {@link dev.bellwether.Candidacy#proclaim}. */
        PROCLAIM,
        /**
         * Being moved to by joint elections, whose tokens must rise above those of another infrastructure: see
         * {@link Elections#jointly}.
         */
        JOINT
    }

    /** A client that can be cut off. */
    record Linked(Elections elections, Link link) {}

    /** Returns what this is, for messages. */
    String describe();

    /**
     * Returns the shortest lease that is sensible here: the suite spends most of its time waiting for it. A third of it
     * must be long compared with a stall of a busy test machine and a round trip; a second is enough for most.
     */
    Duration lease();

    /**
     * Connects a client of its own, as another process would: own connections, own {@code Elections}. The stage closes
     * it, before {@link #close}.
     */
    Elections connect(ElectionsConfig config);

    /**
     * Connects a client of its own through a link that can be cut without the others noticing: a {@link FaultProxy}, or
     * a {@link LinkedLeaseStore}. At most three of them are open at a time.
     */
    Linked connectLinked(ElectionsConfig config);

    /**
     * Counts what the server keeps, by kind: rows, nodes, connections, sessions, group members. The leak checks compare
     * the counts before and after; a kind that is missing from one of them counts as zero.
     */
    Map<String, Long> leftovers();

    /** Returns what this cannot offer, each with the reason, which is printed. By default it offers everything. */
    default Map<Capability, String> lacks() {
        return Map.of();
    }

    /** Stops the server, silently to its clients if possible, and starts it again with what it had on disk. */
    default void restartServer() {
        throw new UnsupportedOperationException(
                describe() + " cannot restart its server, and should say so by lacks()");
    }

    /** Freezes the server: connections stay, answers do not come. */
    default void pauseServer() {
        throw new UnsupportedOperationException(describe() + " cannot pause its server, and should say so by lacks()");
    }

    /** Lets the server go on. */
    default void resumeServer() {
        throw new UnsupportedOperationException(describe() + " cannot resume its server, and should say so by lacks()");
    }

    /**
     * Returns a part of the message with which the backend refuses this name of an election, or empty if it holds
     * elections under it. By default it holds them under every name.
     */
    default Optional<String> refusal(String name) {
        return Optional.empty();
    }

    /** Returns the settings that every candidacy begins with, for a lease of the given length. */
    default CandidacyConfig.Builder settings(Duration lease) {
        return CandidacyConfig.builder().lease(lease);
    }

    /**
     * Returns a lease so long that a test can tell whether a candidate waited for it: half of it must be ample for a
     * hand-over on a busy machine.
     */
    default Duration longLease() {
        var twentyfold = lease().multipliedBy(20);
        var least = Duration.ofSeconds(20);
        return twentyfold.compareTo(least) < 0 ? least : twentyfold;
    }

    /**
     * Returns the longest lease that takes the place of {@link #lease} on a machine that stalls. By default a quarter
     * of the long one.
     */
    default Duration longestLease() {
        return longLease().dividedBy(4);
    }

    /** Returns how long a test waits for what must happen. Only a failing test waits this long. */
    default Duration patience() {
        return lease().multipliedBy(3).plusSeconds(60);
    }

    /**
     * Returns whether candidates queue, each waiting for the one before it, so that those behind do not learn who
     * leads. By default all wait for the leader.
     */
    default boolean queues() {
        return false;
    }

    /**
     * Returns whether a standby asks for the seat and is refused, which is then reported as an attempt; where a group
     * decides, standbys never ask. By default they ask.
     */
    default boolean asks() {
        return true;
    }

    /**
     * Returns how many stand/close cycles the leak check does by default; {@code -Dbellwether.cycles=N} overrides it.
     * 1,000 is what a backend should afford; one whose cycle takes long may do fewer by default, and say why.
     */
    default int cycles() {
        return 1_000;
    }

    /** Lets go of what was made for this test, such as proxies. Called once, when all clients are closed. */
    @Override
    default void close() {}
}
