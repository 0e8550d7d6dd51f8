package dev.bellwether.testkit;

import dev.bellwether.Cause;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.Mandate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A listener that records its events, and when each call began and returned on the monotonic clock; then does what it
 * was given to do: block, or throw.
 *
 * <pre>{@code
 * var log = new EventLog();
 * elections.stand("billing", CandidacyConfig.builder().listener(log).build());
 * controlled.election("billing").acquire();
 * controlled.election("billing").revoke();
 * assertThat(log.turns()).containsExactly("Acquired 1", "Revoked 1 MOVED");
 * }</pre>
 *
 * <p>Thread-safe.
 */
public final class EventLog implements LeadershipListener {
    private final LeadershipListener reaction;
    private final List<Entry> entries = new ArrayList<>(); // guarded by this

    /**
     * One call of the listener.
     *
     * @param endedNanos when it returned or threw; empty while it runs
     */
    public record Entry(LeadershipEvent event, long beganNanos, OptionalLong endedNanos) {}

    /** Only writes down. */
    public EventLog() {
        this(event -> {});
    }

    /** Writes down, then reacts. */
    public EventLog(LeadershipListener reaction) {
        this.reaction = reaction;
    }

    @Override
    public void onEvent(LeadershipEvent event) throws Exception {
        var index = begin(new Entry(event, System.nanoTime(), OptionalLong.empty()));
        try {
            reaction.onEvent(event);
        } finally {
            end(index);
        }
    }

    private synchronized int begin(Entry entry) {
        entries.add(entry);
        return entries.size() - 1;
    }

    private synchronized void end(int index) {
        var entry = entries.get(index);
        entries.set(index, new Entry(entry.event(), entry.beganNanos(), OptionalLong.of(System.nanoTime())));
    }

    /** Returns all calls so far, in order. */
    public synchronized List<Entry> entries() {
        return List.copyOf(entries);
    }

    /** Returns the last call with an event of this kind. */
    public Optional<Entry> last(Class<? extends LeadershipEvent> kind) {
        return entries().stream()
                .filter(entry -> kind.isInstance(entry.event()))
                .reduce((earlier, later) -> later);
    }

    /** Returns how many events of this kind there were. */
    public long count(Class<? extends LeadershipEvent> kind) {
        return entries().stream()
                .filter(entry -> kind.isInstance(entry.event()))
                .count();
    }

    /**
     * Returns the turns of mandates in words, such as {@code Acquired 1}, {@code Revoked 1 RESIGNED}; and
     * {@code Ended}, {@code Failed}.
     */
    public List<String> turns() {
        var turns = new ArrayList<String>();
        for (var entry : entries()) {
            var event = entry.event();
            if (event instanceof LeadershipEvent.Acquired acquired) {
                turns.add("Acquired " + acquired.mandate().token());
            } else if (event instanceof LeadershipEvent.Revoked revoked) {
                turns.add(turn("Revoked", revoked.mandate(), revoked.cause()));
            } else if (event instanceof LeadershipEvent.Fenced fenced) {
                turns.add(turn("Fenced", fenced.mandate(), fenced.cause()));
            } else if (event instanceof LeadershipEvent.Ended) {
                turns.add("Ended");
            } else if (event instanceof LeadershipEvent.Failed failed) {
                turns.add("Failed " + failed.error().getMessage());
            }
        }
        return turns;
    }

    /**
     * Checks what every log must be: one call at a time, each mandate acquired once, then revoked or fenced or revoked
     * and fenced, and tokens rising.
     *
     * @param over whether the candidacy has ended, so that no mandate may be left open
     * @throws AssertionError naming what is out of order
     */
    public void requirePaired(boolean over) {
        var last = 0L;
        @Nullable Mandate open = null;
        var revoked = false;
        @Nullable Entry before = null;
        for (var entry : entries()) {
            if (before != null
                    && (before.endedNanos().isEmpty()
                            || entry.beganNanos() - before.endedNanos().getAsLong() < 0)) {
                throw new AssertionError(Never.mark("two calls of the listener at once: " + before + " and " + entry));
            }
            before = entry;
            var event = entry.event();
            if (event instanceof LeadershipEvent.Acquired acquired) {
                require(acquired.mandate().token() > last, "the token did not rise");
                require(open == null || revoked, "Acquired out of order");
                open = acquired.mandate();
                revoked = false;
                last = open.token();
            } else if (event instanceof LeadershipEvent.Revoked ending) {
                require(open != null && !revoked && ending.mandate().token() == last, "Revoked out of order");
                revoked = true;
            } else if (event instanceof LeadershipEvent.Fenced ending) {
                require(open != null && ending.mandate().token() == last, "Fenced out of order");
                open = null;
                revoked = false;
            }
        }
        require(!over || open == null || revoked, "a mandate was acquired, and neither revoked nor fenced");
    }

    private void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(Never.mark(otherwise + ": " + turns()));
        }
    }

    private static String turn(String what, Mandate mandate, Cause cause) {
        return what + ' ' + mandate.token() + ' ' + cause;
    }

    @Override
    public String toString() {
        return turns().toString();
    }
}
