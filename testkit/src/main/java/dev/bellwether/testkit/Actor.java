package dev.bellwether.testkit;

import dev.bellwether.Candidacy;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import java.time.Duration;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * A candidacy on a {@link Stage}, with the log of its events. Thread-safe. What waits here throws an
 * {@link AssertionError}, which says what did not happen, when the patience of the stage is used up.
 */
public final class Actor {
    private static final int LONGEST_QUEUE = 1_000;

    private final Candidacy candidacy;
    private final EventLog events;
    private final Duration patience;
    private final UnaryOperator<Optional<String>> beyond;

    /** Where candidates queue, {@code beyond} tells which candidate a candidate follows in the queue. */
    Actor(Candidacy candidacy, EventLog events, Duration patience, UnaryOperator<Optional<String>> beyond) {
        this.beyond = beyond;
        this.candidacy = candidacy;
        this.events = events;
        this.patience = patience;
    }

    /** Returns the candidacy. */
    public Candidacy candidacy() {
        return candidacy;
    }

    /** Returns what its listener heard. */
    public EventLog events() {
        return events;
    }

    /** Returns its candidate id. */
    public String id() {
        return candidacy.candidate();
    }

    /** Returns whether it leads now. */
    public boolean isLeader() {
        return candidacy.isLeader();
    }

    /** Waits, within the patience of the stage, until it leads. */
    public Mandate awaitLeads() {
        return awaitLeadsWithin(patience);
    }

    /** Waits so long at most until it leads. */
    public Mandate awaitLeadsWithin(Duration bound) {
        return Eventually.eventually(this + " leads", bound, candidacy::mandate);
    }

    /** Waits for a proof of its mandate that was begun after this call. */
    public void awaitProven() {
        var asked = System.nanoTime();
        Eventually.eventually(this + " is proven again", patience, () -> Proofs.isProvenSince(candidacy, asked));
    }

    /** Waits until it does not lead. */
    public void awaitLeadsNoMore() {
        Eventually.eventually(this + " leads no more", patience, () -> !isLeader());
    }

    /** Waits until its listener has been called with an event of this kind, returned or not. */
    public EventLog.Entry awaitHears(Class<? extends LeadershipEvent> kind) {
        return Eventually.eventually(this + " hears " + kind.getSimpleName(), patience, () -> events.last(kind));
    }

    /** Waits until it follows the other; where candidates queue, through as many as there are. */
    public void awaitFollows(Actor leader) {
        Eventually.eventually(this + " follows " + leader.id(), patience, () -> follows(leader.id()));
    }

    private boolean follows(String leader) {
        var followed = candidacy.status().following();
        for (var steps = 0; followed.isPresent() && steps < LONGEST_QUEUE; steps++) {
            if (followed.get().equals(leader)) {
                return true;
            }
            followed = beyond.apply(followed);
        }
        return false;
    }

    /** Waits until its last mandate has ended for this cause. */
    public void awaitLoses(Cause cause) {
        Eventually.eventually(
                this + " loses its mandate: " + cause,
                patience,
                () -> candidacy.status().lastCause().filter(cause::equals).isPresent());
    }

    /** Waits until the candidacy is over and its listener has heard all there was to hear. */
    public void awaitClosed() {
        var waiting = new Thread(this::awaitClose, "awaiting the end of " + id());
        waiting.setDaemon(true);
        waiting.start();
        Eventually.eventually(this + " is over", patience, () -> !waiting.isAlive());
    }

    private void awaitClose() {
        try {
            candidacy.awaitClose();
        } catch (ElectionException e) {
            // it has failed, and so is over, too; what it told its listener says so
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return id() + " " + events;
    }
}
