package dev.bellwether;

import dev.bellwether.internal.LoopElections;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The elections of one infrastructure, over one connection to it: where everything begins.
 *
 * <pre>{@code
 * try (var elections = Elections.connect("jdbc:postgresql://db/app?user=app&password=${env:DB_PASSWORD}");
 *         var candidacy = elections.stand("billing")) {
 *     candidacy.whileLeading(mandate -> settleNextBatch.run());
 *     candidacy.awaitClose();
 * }
 * }</pre>
 *
 * <p><b>Close them on SIGTERM.</b> No shutdown hook is installed: a process that ends without {@link #close} hands
 * nothing over, and the seat stays taken until the lease has run out. {@link #close} may be called from a shutdown hook
 * and by a try statement as well.
 *
 * <p><b>Wait in {@code main}.</b> All threads of ours are daemons and keep no process alive: {@link
 * Candidacy#awaitClose} waits for the end of a candidacy.
 *
 * <p>Thread-safe. One thread of ours drives all candidacies, however many; your listeners and tasks run on the executor
 * of {@link ElectionsConfig}.
 */
public interface Elections extends AutoCloseable {

    /**
     * Connects with default settings.
     *
     * @see #connect(String, ElectionsConfig)
     */
    static Elections connect(String uri) {
        return connect(uri, ElectionsConfig.defaults());
    }

    /**
     * Connects to the infrastructure that a URI names: {@code memory:}, and whatever backends are on the class path,
     * such as {@code jdbc:postgresql://db/app} or {@code kafka://broker:9092}. <code>${env:NAME}</code> and
     * <code>${file:/path}</code> in it stand for an environment variable and for what a file holds, so that no secret
     * need be written down; no message of ours repeats one.
     *
     * <p>Waits for the infrastructure, unless {@link ElectionsConfig#connectLazily} is set. Each call makes a
     * connection of its own, to be closed.
     *
     * @throws ElectionException if the URI is malformed, its scheme unknown, or a parameter wrong
     * @throws UnavailableException if the infrastructure does not answer, unless {@link ElectionsConfig#connectLazily}
     *     is set
     */
    static Elections connect(String uri, ElectionsConfig config) {
        var parsed = ConnectUri.parse(uri);
        if (config.connectLazily()) {
            parsed.check(); // what is wrong with it is told at once anyway
        }
        return over(parsed.toString(), parsed::connect, config);
    }

    /** Holds elections over a backend, which is closed along with them. For backends; users have {@code connect}. */
    static Elections over(Backend backend, ElectionsConfig config) {
        return LoopElections.over(backend, config);
    }

    /**
     * Holds elections jointly with default settings.
     *
     * @see #jointly(Elections, Elections, ElectionsConfig)
     */
    static Elections jointly(Elections old, Elections next) {
        return jointly(old, next, ElectionsConfig.defaults());
    }

    /**
     * Holds elections on two infrastructures at once, to move from the old one to the next: first all processes elect
     * on the old one; then, process by process, on both; then, when one of these leads, process by process, on the next
     * alone. At no time do two lead.
     *
     * <p>A candidate leads while it has the seat of both. It claims the old one first, and the next one only while it
     * has that. When either is lost, the mandate is over; its deadline is the earlier of the two, its token that of the
     * next seat, which rises over the whole move. It needs both to answer; if the next one does not for a lease, it
     * leaves the old one to processes that need no other.
     *
     * <p>The next infrastructure must be able to grant tokens above those in use. ZooKeeper cannot, nor can a store
     * whose records may expire or are shared with other programs. Candidacies there are refused, with the reason. Where
     * the old infrastructure is one of these, the elections must also be new to the next one.
     *
     * <p>Joint elections and their two halves are closed together, whichever of the three is: the joint mandates are
     * over before either connection is closed.
     *
     * @param old where to come from; closed along with what is returned
     * @param next where to go to; closed along with what is returned
     * @throws ElectionException if either was not made by Bellwether, or is joint itself, or if both are the same
     * @throws IllegalStateException if either is closed
     */
    static Elections jointly(Elections old, Elections next, ElectionsConfig config) {
        return LoopElections.jointly(old, next, config);
    }

    /**
     * Stands for an election with default settings.
     *
     * @see #stand(String, CandidacyConfig)
     */
    default Candidacy stand(String election) {
        return stand(election, CandidacyConfig.defaults());
    }

    /**
     * Holds elections over a backend that is made now, or by a thread of ours if {@link ElectionsConfig#connectLazily}
     * says so. For backends.
     *
     * @param where names it in messages while it is not there, without secrets
     */
    static Elections over(String where, Supplier<? extends Backend> connector, ElectionsConfig config) {
        return LoopElections.over(where, connector, config);
    }

    /**
     * Stands for an election. Returns at once, and asks the infrastructure in the background: an event and
     * {@link Candidacy#isLeader} tell when we have the seat. While the infrastructure does not answer, the candidacy
     * tries again and again. Where it must be asked first whether it can hold these settings, such as ZooKeeper for a
     * lease that is new to it, or a database that was read-only, this waits for the answer, for seconds at most. If
     * it refuses them later, the candidacy fails. May be called from a listener or a task. Two calls without an id make
     * two candidates, which compete as those of two processes do.
     *
     * @throws ElectionException if the backend cannot hold the name or the settings, or a candidate of the same id
     *     already stands for this election here
     * @throws UnavailableException if what must be asked first is not available, such as a database that is read-only
     * @throws IllegalStateException if this is closed
     */
    Candidacy stand(String election, CandidacyConfig config);

    /**
     * Returns a lock for single runs, with default settings.
     *
     * @see #lock(String, LockConfig)
     */
    default RunLock lock(String name) {
        return lock(name, LockConfig.defaults());
    }

    /**
     * Returns a lock for single runs. It is the seat of the election of this name, taken for as long as a run lasts:
     * who leads that election holds the lock, and the other way round. Nothing is taken yet, and nothing need be
     * closed. Returns at once, except where {@link #stand(String, CandidacyConfig)} waits for an answer, too.
     *
     * @throws ElectionException if the backend cannot hold the name or the settings
     * @throws IllegalStateException if this is closed
     */
    default RunLock lock(String name, LockConfig config) {
        throw new ElectionException(this + " carry no locks");
    }

    /**
     * Becomes a member of a roster: many roles, spread over all members. The roles that we get are told by events and
     * by {@link Roster#leads}; this does not wait for them. It may wait for the infrastructure, to look for the
     * roster's topic. Two calls make two members, each with a share of its own.
     *
     * @throws ElectionException if the infrastructure carries no rosters, or not with these settings, or a member of
     *     the same id is in the same group of this roster here
     * @throws UnavailableException if {@link ElectionsConfig#connectLazily} is set, and there is no connection yet
     * @throws IllegalStateException if this is closed
     */
    default Roster roster(String name, RosterConfig config) {
        throw new ElectionException(this + " carry no rosters");
    }

    /**
     * Returns who is in a roster and has what, in every group; empty if there is no such roster. Waits for the answer,
     * at most for the {@linkplain ElectionsConfig#requestTimeout request timeout}.
     *
     * @throws ElectionException if the infrastructure carries no rosters, or does not show them
     * @throws UnavailableException if it does not answer
     */
    default Optional<RosterState> rosterState(String name) {
        throw new ElectionException(this + " carry no rosters");
    }

    /**
     * Returns an election to observe or to give orders to; it need not exist yet. Asks the infrastructure nothing.
     *
     * @throws ElectionException if the name is blank, too long or not printable
     * @throws IllegalStateException if this is closed
     */
    Election election(String name);

    /**
     * Returns the names of the elections that the infrastructure knows, in order of the alphabet. Waits for the answer,
     * at most for the {@linkplain ElectionsConfig#requestTimeout request timeout}.
     *
     * @throws UnavailableException if it does not answer
     * @throws IllegalStateException if this is closed
     */
    List<String> list();

    /**
     * Closes every candidacy and every roster, all at once and each in order, then the connection. Waits for the
     * candidacies no longer than the longest {@link Candidacy#close} would, and then for the connection: some seconds
     * more while the infrastructure does not answer. No mandate is valid any more when the connection is closed: should
     * a metric, for example, hold up the thread that ends them, this waits until they have run out. Each call waits for
     * the end, the second as well as the first. From a listener or task it returns at once, and closes in the
     * background; so it does if the thread is interrupted, which it stays. Work that has not ended by then is still
     * halted where {@link CandidacyConfig#haltOnOverrun} says so.
     */
    @Override
    void close();
}
