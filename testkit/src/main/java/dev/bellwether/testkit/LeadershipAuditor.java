package dev.bellwether.testkit;

import dev.bellwether.Candidacy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Looks all the time, from one thread and on one monotonic clock, whether two candidacies of one election ever lead at
 * once, and whether tokens only rise. All auditors of a JVM share that thread: each would wake two thousand times a
 * second.
 *
 * <pre>{@code
 * try (var one = Elections.connect(uri);
 *         var two = Elections.connect(uri);
 *         var auditor = new LeadershipAuditor()) {
 *     auditor.audit(one.stand("billing"));
 *     auditor.audit(two.stand("billing"));
 *     Eventually.eventually("somebody leads", Duration.ofSeconds(10), one.election("billing")::leader);
 * } // throws if both ever led at once
 * }</pre>
 *
 * <p>Thread-safe. What it reports is certain: a mandate that holds at two instants held in between, so when another
 * candidacy is seen to lead in between, both did. What it does not see, overlaps shorter than its round of about half
 * a millisecond, may have been.
 */
public final class LeadershipAuditor implements AutoCloseable {
    private static final long PAUSE_NANOS = 400_000;
    private static final int FORGETTING = 64;
    private static final long AT_FIRST_NANOS = 300_000_000;
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Rounds ROUNDS = new Rounds();

    private final Map<String, Audit> audits = new ConcurrentHashMap<>();
    private final List<String> violations = new CopyOnWriteArrayList<>();
    private boolean closed; // guarded by this
    private long lookedNanos = System.nanoTime(); // guarded by this
    private volatile long looks;
    private volatile long longestRoundNanos;

    /** Begins to look. */
    public LeadershipAuditor() {
        ROUNDS.begin(this);
    }

    /**
     * Looks at this one too, from now on, under the name of its election. Add each candidacy once: one that is added
     * twice counts as two leaders.
     */
    public void audit(Candidacy candidacy) {
        audit(candidacy.election(), candidacy);
    }

    /** Looks at this one too, along with all others of the given key. */
    public void audit(String key, Candidacy candidacy) {
        audits.computeIfAbsent(key, name -> new Audit()).seen.add(new Seen(candidacy));
    }

    /** Returns when this candidacy was first seen to lead under this token; empty if it never was. */
    public OptionalLong firstSeenNanos(Candidacy candidacy, long token) {
        for (var audit : audits.values()) {
            for (var seen : audit.seen) {
                var first = seen.candidacy == candidacy ? seen.firsts.get(token) : null;
                if (first != null) {
                    return OptionalLong.of(first);
                }
            }
        }
        return OptionalLong.empty();
    }

    /** Returns what was seen that must never be, so far; empty if nothing was. */
    public List<String> violations() {
        return List.copyOf(violations);
    }

    /** Returns the longest time between two looks: if it is long, the machine was busy, and timing facts suffer. */
    public long longestRoundNanos() {
        return longestRoundNanos;
    }

    /**
     * Returns how long this machine has lately kept a thread from running: a stall counts in full when it is over, and
     * is forgotten after some sixty times its length. A JVM that has just begun is taken for one that stalls, because
     * it does everything for the first time.
     */
    static long stallNanos() {
        return ROUNDS.stallNanos;
    }

    /**
     * Looks once more, which counts as a round, and then no more. Called again, it throws again.
     *
     * @throws AssertionError if two led at once, a token did not rise, or the auditor could not look
     */
    @Override
    public void close() {
        requireAnotherLook();
        ROUNDS.end(this);
        synchronized (this) { // after the look that is under way
            closed = true;
        }
        if (!violations.isEmpty()) {
            throw new AssertionError(String.join(
                    "\n", new ArrayList<>(violations).subList(0, Math.min(10, violations.size()))));
        }
    }

    /** An auditor that does not look has seen nothing. */
    private void requireAnotherLook() {
        var before = looks;
        try {
            Eventually.eventually("the auditor looks", PATIENCE, () -> looks > before || isClosed());
        } catch (AssertionError nobody) {
            violations.add(String.valueOf(nobody.getMessage()));
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    /** One round. */
    private synchronized void look() {
        if (closed) {
            return;
        }
        var now = System.nanoTime();
        longestRoundNanos = Math.max(longestRoundNanos, now - lookedNanos);
        lookedNanos = now;
        try {
            audits.values().forEach(audit -> audit.seen.forEach(seen -> look(audit, seen)));
        } catch (Throwable e) { // an error, too: this thread looks for all auditors
            violations.add("the auditor cannot look: " + e);
        }
        looks++;
    }

    private void look(Audit audit, Seen seen) {
        var before = System.nanoTime();
        var leads = seen.candidacy.isLeader();
        var mandate = seen.candidacy.mandate();
        if (mandate.isPresent()) {
            ledBetween(audit, seen, mandate.get().token(), before, System.nanoTime());
        } else if (leads && seen.run != null && seen.candidacy.isLeader()) {
            ledBetween(
                    audit, seen, seen.run.token, before, System.nanoTime()); // a leader without a mandate still leads
        }
    }

    /** It led at some instant between these. */
    private void ledBetween(Audit audit, Seen seen, long token, long before, long after) {
        var run = seen.run;
        if (run == null || run.token != token) {
            if (token <= audit.highest) {
                violations.add(Never.mark(
                        seen + " leads under token " + token + ", and " + audit.highest + " was seen before"));
            }
            audit.highest = Math.max(audit.highest, token);
            run = new Run(token, after);
            seen.run = run;
            seen.firsts.putIfAbsent(token, after);
        }
        run.lastNanos = before;
        for (var other : audit.seen) {
            var its = other.run;
            if (other != seen
                    && its != null
                    && its.firstNanos - run.lastNanos < 0
                    && run.firstNanos - its.lastNanos < 0) {
                report(seen, run, other, its);
            }
        }
    }

    private void report(Seen one, Run run, Seen other, Run its) {
        if (!run.reported || !its.reported) {
            run.reported = true;
            its.reported = true;
            violations.add(Never.mark("two lead at once: %s under token %d and %s under token %d"
                    .formatted(one, run.token, other, its.token)));
        }
    }

    /** The thread of all auditors, which there is while one of them is open. Thread-safe. */
    private static final class Rounds {
        private final List<LeadershipAuditor> open = new CopyOnWriteArrayList<>();
        private boolean running; // guarded by this
        private volatile long stallNanos = AT_FIRST_NANOS; // written by the thread

        private synchronized void begin(LeadershipAuditor auditor) {
            open.add(auditor);
            if (!running) {
                running = true;
                var thread = new Thread(this::run, "bellwether-auditor");
                thread.setDaemon(true);
                thread.start();
            }
        }

        private void end(LeadershipAuditor auditor) {
            open.remove(auditor);
        }

        private void run() {
            var last = System.nanoTime();
            do {
                open.forEach(LeadershipAuditor::look);
                LockSupport.parkNanos(PAUSE_NANOS);
                var now = System.nanoTime();
                var round = now - last;
                stallNanos = Math.max(round - PAUSE_NANOS, stallNanos - round / FORGETTING);
                last = now;
            } while (goesOn());
        }

        private synchronized boolean goesOn() {
            running = !open.isEmpty();
            return running;
        }
    }

    /** One election. The list is for any thread, the rest for ours. */
    private static final class Audit {
        private final List<Seen> seen = new CopyOnWriteArrayList<>();
        private long highest;
    }

    /** One candidacy. */
    private static final class Seen {
        private final Candidacy candidacy;
        private final Map<Long, Long> firsts = new ConcurrentHashMap<>();
        private @Nullable Run run; // our thread only

        private Seen(Candidacy candidacy) {
            this.candidacy = candidacy;
        }

        @Override
        public String toString() {
            return candidacy.candidate() + " in \"" + candidacy.election() + '"';
        }
    }

    /** One mandate: seen to hold from the first time to the last. */
    private static final class Run {
        private final long token;
        private final long firstNanos;
        private long lastNanos;
        private boolean reported;

        private Run(long token, long firstNanos) {
            this.token = token;
            this.firstNanos = firstNanos;
        }
    }
}
