package dev.bellwether.cli.run;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.Phase;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * One election in which {@code serve} stands for those who ask it. Thread-safe.
 *
 * <p>That the candidate leads is told along with how long that is promised: never beyond the mandate, and no longer
 * than a grace, which a hand-over can wait. When the mandate ends sooner than was promised, the seat is kept until the
 * last promise, and a margin, have passed: so anybody who obeys the answer has stopped before anybody else leads.
 */
final class ServedElection {
    private final Candidacy candidacy;
    private final long graceNanos;
    private final long slackNanos;
    private boolean promised; // guarded by this
    private long promisedUntilNanos; // guarded by this
    private long changes; // guarded by this
    private Instant changed = Instant.now(); // guarded by this
    private boolean closed; // guarded by this

    /**
     * What one who asks is told.
     *
     * @param name who leads, or nothing if nobody does, as far as we know
     * @param since when we heard of that
     * @param remainingMillis for how long we lead for certain, counted from before the question was sent; zero if we do
     *     not lead
     */
    record Answer(
            String election,
            String candidate,
            Phase phase,
            String name,
            Instant since,
            long token,
            long remainingMillis,
            long changes) {
        boolean leads() {
            return remainingMillis > 0;
        }
    }

    /** Stands. */
    ServedElection(Elections elections, String name, CandidacyConfig settings, LeasePlan plan) {
        graceNanos = plan.grace().toNanos();
        slackNanos = plan.margin().dividedBy(2).toNanos(); // for clocks of those who ask that tick coarsely
        var heard = settings.toBuilder().listener(this::hear).build();
        candidacy = elections.stand(name, heard); // last: it may be told of events from here on
    }

    Candidacy candidacy() {
        return candidacy;
    }

    /** Returns how it stands, and promises what that says. */
    synchronized Answer ask() {
        var mandate = candidacy.mandate();
        var status = candidacy.status();
        var left = mandate.map(Mandate::remaining).map(Duration::toNanos).orElse(0L);
        var millis = TimeUnit.NANOSECONDS.toMillis(Math.min(left, graceNanos));
        if (millis > 0) {
            var until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis) + slackNanos;
            promisedUntilNanos = promised && promisedUntilNanos - until > 0 ? promisedUntilNanos : until;
            promised = true;
        }
        return new Answer(
                candidacy.election(),
                candidacy.candidate(),
                status.phase(),
                millis > 0 ? candidacy.candidate() : otherLeader(status.following()),
                changed,
                mandate.map(Mandate::token).orElse(0L),
                millis,
                changes);
    }

    /** One of our name who leads elsewhere is not shown: anybody who compares names would take that for itself. */
    private String otherLeader(Optional<String> following) {
        return following.filter(name -> !name.equals(candidacy.candidate())).orElse("");
    }

    /** Returns how often to remind those who listen to ask again, so that they do before what they know runs out. */
    Duration reminder() {
        return Duration.ofNanos(graceNanos / 3);
    }

    /**
     * Waits until something has changed since an answer, or the time is over; returns false when there is no more to
     * come.
     */
    synchronized boolean await(long seen, Duration longest) throws InterruptedException {
        var until = System.nanoTime() + longest.toNanos();
        for (var left = longest.toNanos(); !closed && changes == seen && left > 0; left = until - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(left, 1_000_000));
        }
        return !closed;
    }

    /** Ends all waiting. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    private void hear(LeadershipEvent event) {
        changed();
        if (event instanceof LeadershipEvent.Revoked || event instanceof LeadershipEvent.Fenced) {
            waitOutPromises(); // the seat passes on when this has returned
        }
    }

    private synchronized void changed() {
        changes++;
        changed = Instant.now();
        notifyAll();
    }

    /** Also if interrupted: that is for work that can be cut short. */
    private void waitOutPromises() {
        long until;
        synchronized (this) {
            until = promised ? promisedUntilNanos : System.nanoTime();
            promised = false; // none is given any more: the mandate has ended
        }
        Uninterrupted.sleepUntil(until);
    }
}
