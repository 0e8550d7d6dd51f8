package dev.bellwether.spring;

import dev.bellwether.Candidacy;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.Phase;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.ApplicationEventPublisher;

/**
 * One election in which this application stands: carries its turns to beans.
 *
 * <p>The listener is called one event at a time, and does not return before all that ran under the mandate has ended:
 * that is what the successor waits for, and what keeps two terms of this process from running side by side.
 */
final class Leadership implements LeadershipListener {
    /** What an operator should know of an election that has ended. */
    static final String ENDED = "an operator has ended the election; when it is reopened, start this application again";

    private static final Logger log = LoggerFactory.getLogger(LeaderOnly.class);

    private static final Duration LOOK = Duration.ofMillis(20);

    /** So often we look at what has been told to hurry before we say that it does not end. */
    private static final int LATE_LOOKS = 5;

    private final ApplicationEventPublisher publisher;
    private final LedBeans beans;
    private final Calls calls = new Calls();
    private final Set<Thread> ours = ConcurrentHashMap.newKeySet(); // that tell of events, start or stop beans
    private final CompletableFuture<Candidacy> stood = new CompletableFuture<>();
    private volatile @Nullable Instant since;
    private volatile boolean ended;
    private volatile boolean leaving;

    Leadership(ApplicationEventPublisher publisher, LedBeans beans) {
        this.publisher = publisher;
        this.beans = beans;
    }

    Calls calls() {
        return calls;
    }

    /**
     * Returns whether a bean of this election may be what calls on this thread. It may have taken over the work that it
     * calls for, such as a message: that is lost if the call does nothing and the bean is not told. But what we call
     * ourselves has taken over nothing, and must go on: a bean that is told to stop, or who hears of an event.
     */
    boolean mayBeCalledByBeans() {
        return beans.mayWork() && !ours.contains(Thread.currentThread());
    }

    Optional<Candidacy> candidacy() {
        return Optional.ofNullable(stood.getNow(null));
    }

    void stands(Candidacy candidacy) {
        stood.complete(candidacy);
    }

    /** Before we stand: stops what runs although nobody has begun to lead here. Fails if one does not stop. */
    void stopBeans() {
        asOurs(() -> beans.stop(this::await, false));
    }

    /** The context begins to stop: this mandate is the last. What runs under it works on. */
    void leaving() {
        leaving = true;
    }

    /** The context stops, on this thread: nothing is to be started any more. */
    void closing() {
        ours.add(Thread.currentThread());
        leaving = true;
        beans.closing();
    }

    /** The context starts again, and by it all beans do. */
    void starting() {
        beans.starting();
    }

    private void asOurs(Runnable work) {
        var added = ours.add(Thread.currentThread());
        try {
            work.run();
        } finally {
            if (added) {
                ours.remove(Thread.currentThread());
            }
        }
    }

    /** Returns since when this process leads, for display. */
    Optional<Instant> since() {
        return Optional.ofNullable(since);
    }

    /** Returns the error that has ended the candidacy, or ends it while something that ran under it goes on. */
    Optional<ElectionException> failure() {
        return candidacy().flatMap(Candidacy::failure);
    }

    /** Returns the beans that have not started since this process leads, and why. */
    Map<String, Throwable> unstarted() {
        return beans.unstarted();
    }

    /** Returns whether an operator has ended the election: also while something that ran under it goes on. */
    boolean ended() {
        return ended
                || candidacy()
                        .flatMap(standing -> standing.status().lastCause())
                        .filter(Cause.ENDED::equals)
                        .isPresent();
    }

    @Override
    public void onEvent(LeadershipEvent event) {
        asOurs(() -> tell(event));
    }

    private void tell(LeadershipEvent event) {
        if (event instanceof LeadershipEvent.Acquired acquired) {
            acquired(acquired);
        } else if (event instanceof LeadershipEvent.Revoked revoked) {
            revoked(revoked);
        } else if (event instanceof LeadershipEvent.Fenced fenced) {
            fenced(fenced);
        } else if (event instanceof LeadershipEvent.Preparing preparing) {
            publisher.publishEvent(new PreparingEvent(preparing.election(), preparing.leader(), preparing.within()));
        } else if (event instanceof LeadershipEvent.Ended over) {
            ended = true;
            publisher.publishEvent(new EndedEvent(over.election()));
        } else if (event instanceof LeadershipEvent.Failed failed) {
            publisher.publishEvent(new FailedEvent(failed.election(), failed.error()));
        }
    }

    private void acquired(LeadershipEvent.Acquired event) {
        since = Instant.now();
        stood.join(); // the grant may be here before stand has returned, and who hears of it may ask for the candidacy
        calls.prepare(event.mandate());
        try {
            publisher.publishEvent(new AcquiredEvent(event.mandate()));
        } finally { // a listener that throws changes nothing else
            calls.admit(event.mandate()); // first: what a bean begins with may call methods that only a leader may
            beans.start(event.mandate(), this::asOurs, () -> candidacy().ifPresent(Candidacy::standDown));
        }
    }

    private void revoked(LeadershipEvent.Revoked event) {
        since = null;
        calls.refuse();
        try {
            publisher.publishEvent(new RevokedEvent(event.mandate(), event.cause()));
        } finally {
            end();
        }
    }

    private void fenced(LeadershipEvent.Fenced event) {
        since = null;
        calls.refuse();
        calls.interrupt();
        try {
            publisher.publishEvent(new FencedEvent(event.mandate(), event.cause()));
        } finally {
            end();
        }
    }

    private void end() {
        try {
            beans.stop(this::await, true);
        } finally {
            await("a call of a @LeaderOnly method", calls::awaitNone);
            if (leaving) { // or it would stand again, and lead where nothing works any more
                candidacy().ifPresent(Candidacy::resign);
            }
        }
    }

    /**
     * Waits for work, however long. We are interrupted half-way through the budget. That is handed on to the calls that
     * run, and to what this thread stops next, but it ends no wait: the seat is given up when we return.
     */
    private void await(Object what, LedBeans.Work work) {
        var interrupted = false;
        var urged = false;
        var lateLooks = 0;
        for (var ended = false; !ended; ) {
            try {
                ended = work.endsWithin(LOOK);
                if (!ended && !urged && isFenced()) { // the budget is used up; a listener may have eaten the interrupt
                    urged = true;
                    calls.interrupt();
                }
                if (!ended && (interrupted || urged) && ++lateLooks == LATE_LOOKS) {
                    log.warn("{} has not ended yet: this process does not lead again before it has", what);
                }
            } catch (InterruptedException e) {
                interrupted = true;
                calls.interrupt();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isFenced() {
        return candidacy()
                .map(standing -> standing.status().phase() == Phase.FENCED)
                .orElse(false);
    }
}
