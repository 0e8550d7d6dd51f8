package dev.bellwether;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * An election seen from outside, by an observer or an operator who does not stand in it.
 *
 * <p>Look who leads from now on, and order it to stand down:
 *
 * <pre>{@code
 * var billing = elections.election("billing");
 * var watch = billing.watch(leader -> System.out.println("leads: " + leader));
 * var ordered = billing.standDown(); // false if nobody leads
 * watch.close();
 * }</pre>
 *
 * <p>Thread-safe. The calls ask the infrastructure and wait for its answer, at most for the {@linkplain
 * ElectionsConfig#requestTimeout request timeout}; then, and when it cannot be reached, they throw {@link
 * UnavailableException}. So they do if the thread is interrupted, and it stays interrupted. After an order that threw
 * so, look whether it was carried out. The answers were true when the infrastructure looked: a display, not a lock.
 *
 * <p>A listener or task may call all of these; what comes behind it waits. The exception is {@link #handOver}, which
 * waits until the leader's listeners and task have returned: call it from a thread of your own.
 */
public interface Election {

    /** Returns the name. */
    String name();

    /** Returns who leads, who stands, and whether all is over, as of one instant. */
    State state();

    /** Returns who leads, or empty while nobody does. */
    default Optional<Leader> leader() {
        return state().leader();
    }

    /** Returns who stands, as far as the backend can tell: some know only the leader. */
    default List<Candidate> candidates() {
        return state().candidates();
    }

    /**
     * Calls the watcher with each change of leader or of its metadata, vacancies too, beginning with the present state:
     * one call at a time, on the executor of the {@link Elections}. Returns at once. If the watcher throws, that is
     * logged, and it gets the next change. While the infrastructure does not answer, it hears nothing. Close the
     * returned handle to end it; two calls are two watches.
     */
    Watch watch(Consumer<Optional<Leader>> watcher);

    /**
     * Orders the leader to stand down. Its listener runs first, then another candidate takes the seat; the one that
     * stood down does not stand for a lease. Returns when the order has been recorded, false if nobody leads.
     */
    boolean standDown();

    /**
     * Hands the seat over to a candidate that stands by, in two steps. First the candidate gets ready: its listener
     * hears {@link LeadershipEvent.Preparing}, while the leader leads on. When its listener has returned, the leader
     * stands down in order ({@link Cause#HANDED_OVER}), and all others hold back for a moment, so that the candidate is
     * the next to lead. Without a listener it is ready at once.
     *
     * <p>If it does not get ready in time, or fails in it, the order is over and the leader leads on. Only if it dies
     * after it was ready may another take the seat: after a retry interval, or two of the former leader's. The former
     * leader stands by from then on.
     *
     * <p>Waits for the outcome: for the given time, and until the seat has passed. An {@link UnavailableException}
     * means that the outcome is not known; the order may still be carried out.
     *
     * @param to the candidate's id; nothing is done if it leads already
     * @param within how long the candidate may take to get ready
     * @throws ElectionException if this backend cannot hand over by name; the message says what it can do. Also if the
     *     time is zero or longer than a day
     */
    default HandOver handOver(String to, Duration within) {
        throw new ElectionException(this + " cannot hand over to a candidate by name");
    }

    /** The same, to the one that is ready first: all that stand by are asked to get ready. */
    default HandOver handOver(Duration within) {
        throw new ElectionException(this + " cannot hand over");
    }

    /**
     * Ends the election: every candidate is told, the leader stands down in order, and none may join until
     * {@link #reopen} or {@link #delete}. It stays listed. Idempotent.
     */
    void end();

    /**
     * Opens the election again that has ended: candidates that stand from now on may lead, with a token that is higher
     * than any before. A candidate that stood when it ended is not brought back. Returns false, having done nothing, if
     * it has not ended.
     */
    boolean reopen();

    /**
     * Forgets the election. Candidates are told as by {@link #end}; one that stands again begins from nothing, with a
     * token that is higher still. Idempotent.
     */
    void delete();

    /**
     * An election as the infrastructure saw it.
     *
     * @param leader who leads, or empty while nobody does
     * @param candidates who stands, as far as the backend can tell
     * @param ended whether the election has ended, so that nobody may stand until it is reopened or deleted
     */
    record State(Optional<Leader> leader, List<Candidate> candidates, boolean ended) {}
}
