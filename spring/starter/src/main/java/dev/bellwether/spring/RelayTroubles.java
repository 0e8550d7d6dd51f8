package dev.bellwether.spring;

import dev.bellwether.outbox.RelayEvent;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What keeps shards of this process's relay from publishing, as its events tell. Thread-safe. */
final class RelayTroubles implements Consumer<RelayEvent> {
    private final Map<Integer, RelayEvent> troubles = new ConcurrentHashMap<>();
    /** The shards that it leads. */
    private final Set<Integer> led = new HashSet<>(); // guarded by this

    @Override
    public synchronized void accept(RelayEvent event) {
        if (event instanceof RelayEvent.LeaderAcquired) {
            led.add(event.shard());
        } else if (event instanceof RelayEvent.LeaderRevoked || event instanceof RelayEvent.LeaderFenced) {
            led.remove(event.shard());
        }
        if (isOfLeader(event) && !led.contains(event.shard())) {
            return; // what is told late is not ours any more, and nothing would tell us that it is over
        }
        if (text(event) != null) {
            troubles.merge(event.shard(), event, (known, news) -> isPermanent(known) ? known : news);
        } else if (event instanceof RelayEvent.LeaderRefreshed
                || event instanceof RelayEvent.LeaderRevoked
                || event instanceof RelayEvent.LeaderFenced) {
            troubles.computeIfPresent(event.shard(), (shard, known) -> isPermanent(known) ? known : null);
        } else if (event instanceof RelayEvent.Served) {
            troubles.computeIfPresent(
                    event.shard(), (shard, known) -> known instanceof RelayEvent.NotServed ? null : known);
        }
    }

    /** Returns whether a candidacy has failed, which nothing but a start fixes. */
    boolean isAnyFailed() {
        return troubles.values().stream().anyMatch(RelayEvent.CandidacyFailed.class::isInstance);
    }

    /** Returns what is wrong, by shard. */
    Map<String, String> byShard() {
        var texts = new TreeMap<String, String>();
        troubles.forEach((shard, event) -> texts.put(String.valueOf(shard), String.valueOf(text(event))));
        return texts;
    }

    /** Returns whether it is told by one that leads, of what keeps that from publishing. */
    private static boolean isOfLeader(RelayEvent event) {
        return event instanceof RelayEvent.Faulted
                || event instanceof RelayEvent.Halted
                || event instanceof RelayEvent.StoodDown;
    }

    private static boolean isPermanent(RelayEvent event) {
        return event instanceof RelayEvent.CandidacyFailed || event instanceof RelayEvent.ElectionEnded;
    }

    /** Returns what an operator should know of an event, or null if it is no trouble. */
    private static @Nullable String text(RelayEvent event) {
        if (event instanceof RelayEvent.Faulted faulted) {
            return "cannot publish, tries again: " + faulted.cause();
        }
        if (event instanceof RelayEvent.Halted halted) {
            return "halted by row " + halted.id() + ": " + halted.reason();
        }
        if (event instanceof RelayEvent.StoodDown stood) {
            return "stood down, so that another may try: " + stood.cause();
        }
        if (event instanceof RelayEvent.NotServed missed) {
            return missed.leader() + " leads, and has not touched our table";
        }
        if (event instanceof RelayEvent.Waiting waiting) {
            return "no election is possible: " + waiting.cause();
        }
        if (event instanceof RelayEvent.ElectionEnded) {
            return "an operator has ended the election";
        }
        if (event instanceof RelayEvent.CandidacyFailed failed) {
            return "the candidacy failed; start the application again when the cause is fixed: " + failed.cause();
        }
        return null;
    }
}
