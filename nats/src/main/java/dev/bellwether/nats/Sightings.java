package dev.bellwether.nats;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What was last seen of each election, and who is to be told of changes. Thread-safe: one lock, under which nobody is called.
 *
 * <p>A sighting is kept as long as the election is of interest here, that is, watched or written to in the last while.
 */
final class Sightings {
    private static final int MANY = 10_000;

    private final Map<String, Sighting> seen = new HashMap<>(); // guarded by itself
    private final Map<String, CopyOnWriteArrayList<Consumer<Sighting>>> watchers = new HashMap<>(); // guarded by seen

    private int bound = MANY; // guarded by seen

    Optional<Sighting> of(String election) {
        synchronized (seen) {
            return Optional.ofNullable(seen.get(election));
        }
    }

    /** Takes note, tells whom it may concern, and returns what is known now: something newer, if this was old. */
    Sighting note(String election, long revision, Instant written, Seat seat) {
        var now = System.nanoTime();
        List<Consumer<Sighting>> told = List.of();
        Sighting known;
        synchronized (seen) {
            var before = seen.get(election);
            if (before == null) {
                known = Sighting.first(election, revision, written, seat, now);
                told = watchersOf(election);
            } else if (isOld(before, revision)) {
                known = before;
                if (revision == before.revision() && before.written().equals(Instant.EPOCH)) {
                    known = dated(before, written); // we wrote it, and now know when
                }
            } else {
                known = before.next(revision, written, seat, now);
                if (known.isNewsAfter(before)) {
                    told = watchersOf(election);
                }
            }
            seen.put(election, known);
            if (seen.size() > bound) {
                seen.keySet().removeIf(name -> !watchers.containsKey(name) && !name.equals(election));
                bound = Math.max(
                        MANY, 2 * seen.size()); // all may be of interest: let it not be looked through each time
            }
        }
        for (var watcher : told) {
            watcher.accept(known);
        }
        return known;
    }

    /** Takes note of a record of which only the revision was told, as seen just now though it may have been seen before. */
    Sighting guess(String election, long revision, Seat seat) {
        var now = System.nanoTime();
        synchronized (seen) {
            var before = seen.get(election);
            var known = before == null
                    ? Sighting.first(election, revision, Instant.EPOCH, seat, now)
                    : before.next(revision, Instant.EPOCH, seat, now);
            seen.put(election, known);
            return known;
        }
    }

    void watch(String election, Consumer<Sighting> watcher) {
        synchronized (seen) {
            watchers.computeIfAbsent(election, name -> new CopyOnWriteArrayList<>())
                    .add(watcher);
        }
    }

    /** Returns whether nobody is left who watches it. */
    boolean unwatch(String election, Consumer<Sighting> watcher) {
        synchronized (seen) {
            var present = watchers.get(election);
            if (present == null) {
                return false;
            }
            present.remove(watcher);
            if (present.isEmpty()) {
                watchers.remove(election);
                return true;
            }
            return false;
        }
    }

    private List<Consumer<Sighting>> watchersOf(String election) {
        @Nullable List<Consumer<Sighting>> present = watchers.get(election);
        return present == null ? List.of() : new ArrayList<>(present);
    }

    private static boolean isOld(Sighting before, long revision) {
        if (revision == 0) {
            return before.revision() == 0;
        }
        return revision < before.highest() || revision == before.revision();
    }

    private static Sighting dated(Sighting undated, Instant written) {
        return new Sighting(
                undated.election(),
                undated.revision(),
                undated.highest(),
                written,
                undated.seat(),
                undated.seenNanos(),
                undated.untilNanos(),
                undated.blind(),
                undated.former(),
                undated.token());
    }
}
