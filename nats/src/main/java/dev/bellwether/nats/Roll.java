package dev.bellwether.nats;

import dev.bellwether.Candidate;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.View;
import io.nats.client.impl.Headers;
import io.nats.client.support.JsonParseException;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who stands: a key for each candidate, written when it comes, again from time to time, and taken away when it leaves. For display,
 * and so that low priorities know of higher ones; nothing else depends on it. Thread-safe.
 */
final class Roll {
    private static final Logger log = LoggerFactory.getLogger(Roll.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    /** So many elections are asked for one by one. */
    private static final int FEW = 8;
    /** A server tells no more keys at once. */
    private static final int LARGEST_PAGE = 100_000;

    private final Wire wire;
    private final Duration presence;
    private final boolean messageTtl;
    private final Map<String, Entry> entries = new ConcurrentHashMap<>(); // by key
    private final Map<String, Integer> topPriorities = new ConcurrentHashMap<>(); // by election
    private final Map<String, Integer> standing = new ConcurrentHashMap<>(); // how many entries, by election
    private final Set<String> unlisted = ConcurrentHashMap.newKeySet(); // keys whose writing has failed
    private final Set<String> wanted = new LinkedHashSet<>(); // elections to be asked for; guarded by itself
    private boolean asking; // guarded by wanted

    private record Entry(Claim claim, long signedNanos, CompletableFuture<?> written) {}

    Roll(Wire wire, Duration presence, boolean messageTtl) {
        this.wire = wire;
        this.presence = presence;
        this.messageTtl = messageTtl;
    }

    /** Returns whether this is the first that we hear of a candidate; then it is listed. */
    boolean enrol(Claim claim) {
        var key = key(claim);
        var fresh = new boolean[1];
        entries.computeIfAbsent(key, absent -> {
            fresh[0] = true;
            standing.merge(claim.election(), 1, Integer::sum);
            return sign(key, claim);
        });
        return fresh[0];
    }

    /** Gives a further sign of those of whom it is time, and asks anew for the priorities of the others. */
    void giveSigns() {
        var now = System.nanoTime();
        entries.replaceAll((key, entry) -> unlisted.remove(key) || now - entry.signedNanos > presence.toNanos() / 2
                ? sign(key, entry.claim)
                : entry);
        unlisted.removeIf(key -> !entries.containsKey(key)); // struck before the answer came
        synchronized (wanted) {
            wanted.addAll(standing.keySet());
        }
        askNext();
    }

    /** Takes a candidate off the list, once its entry has been answered. */
    CompletableFuture<Boolean> strike(Claim claim) {
        var key = key(claim);
        var entry = entries.remove(key);
        if (entry == null) {
            return CompletableFuture.completedFuture(true);
        }
        unlisted.remove(key);
        if (standing.computeIfPresent(claim.election(), (election, count) -> count > 1 ? count - 1 : null) == null) {
            topPriorities.remove(claim.election());
        }
        return entry.written
                .<Boolean>handle((done, error) -> true)
                .thenCompose(done -> wire.purge(key, TIMEOUT))
                .exceptionally(error -> {
                    log.debug("{} stays listed for a while: {}", key, error.getMessage());
                    return false;
                });
    }

    /** Returns the highest priority that is known here to stand. */
    int topPriority(String election) {
        return topPriorities.getOrDefault(election, Integer.MIN_VALUE);
    }

    /** Returns the view with what is known here beyond the seat. */
    View complete(View view, List<Candidate> candidates) {
        return new View(
                view.election(),
                view.token(),
                view.holder(),
                view.remaining(),
                view.standDown(),
                view.ended(),
                view.era(),
                topPriority(view.election()),
                candidates);
    }

    /** Asks for the highest priority, along with whatever else is asked for meanwhile. */
    void askPriorities(String election) {
        synchronized (wanted) {
            wanted.add(election);
        }
        askNext();
    }

    /*
     * One question at a time: a server looks through all of its keys for each, and where many elections begin together, or are asked for from time to time,
     * one question for all of their candidates is as good.
     */
    private void askNext() {
        List<String> elections;
        synchronized (wanted) {
            if (asking || wanted.isEmpty()) {
                return;
            }
            asking = true;
            elections = List.copyOf(wanted);
            wanted.clear();
        }
        var all =
                elections.size() <= FEW ? elections.stream().map(this::askFor).toList() : List.of(askForAll(elections));
        var unused = CompletableFuture.allOf(all.toArray(CompletableFuture[]::new))
                .whenComplete((done, error) -> {
                    synchronized (wanted) {
                        asking = false;
                    }
                    askNext();
                });
    }

    private CompletableFuture<?> askFor(String election) {
        return wire.overview(Keys.of(election) + ".*.*", TIMEOUT).handle((overview, error) -> {
            if (overview == null) {
                log.debug("the priorities in {} are unknown: {}", election, error.getMessage());
            } else {
                learn(election, highest(overview.keys().keySet().stream()));
            }
            return true;
        });
    }

    private CompletableFuture<?> askForAll(List<String> elections) {
        return wire.overview("*.*.*", TIMEOUT).handle((overview, error) -> {
            if (overview == null) {
                log.debug("the priorities in {} elections are unknown: {}", elections.size(), error.getMessage());
                return true;
            }
            var keys = overview.keys().keySet().stream().collect(Collectors.groupingBy(Roll::electionsKey));
            for (var election : elections) {
                var found = keys.getOrDefault(Keys.of(election), List.of());
                if (!found.isEmpty() || overview.keys().size() < LARGEST_PAGE) {
                    learn(election, highest(found.stream()));
                }
            }
            return true;
        });
    }

    private void learn(String election, int priority) {
        if (standing.containsKey(election)) {
            topPriorities.put(election, priority);
        }
    }

    private static int highest(Stream<String> keys) {
        return keys.mapToInt(Keys::priority).max().orElse(Integer.MIN_VALUE);
    }

    private static String electionsKey(String key) {
        return key.substring(0, key.indexOf('.'));
    }

    /** Returns who stands, and what the server told with it. */
    CompletableFuture<Listed> list(String election, ObservedRecord observed) {
        return wire.overview(Keys.of(election) + ".*.*", TIMEOUT).thenCompose(overview -> {
            var reads = overview.keys().keySet().stream()
                    .map(key -> wire.read(key, TIMEOUT))
                    .toList();
            return CompletableFuture.allOf(reads.toArray(CompletableFuture[]::new))
                    .thenApply(done -> {
                        var found = reads.stream()
                                .map(CompletableFuture::join)
                                .flatMap(Optional::stream)
                                .toList();
                        var now = overview.now().orElse(overview.lastWritten());
                        return new Listed(candidates(found, observed, now), overview);
                    });
        });
    }

    /** What {@link #list} found. */
    record Listed(List<Candidate> candidates, Wire.Overview overview) {}

    private List<Candidate> candidates(List<Found> found, ObservedRecord observed, Instant now) {
        var leader = observed.isHeld(System.nanoTime()) ? observed.record().candidate() : "";
        var listed = new ArrayList<Candidate>();
        for (var one : found) {
            if (one.time().plus(presence).isAfter(now)) {
                candidate(one, leader).ifPresent(listed::add);
            }
        }
        return listed;
    }

    private static Optional<Candidate> candidate(Found found, String leader) {
        try {
            var map = JsonParser.parse(found.text()).map;
            if (map == null || !map.containsKey("candidate")) {
                return Optional.empty();
            }
            var metadata = new HashMap<String, String>();
            var described = map.get("metadata");
            if (described != null && described.map != null) {
                described.map.forEach((key, value) -> metadata.put(key, Format.text(value)));
            }
            var id = Format.text(map.get("candidate"));
            return Optional.of(new Candidate(
                    id,
                    (int) Format.number(map.get("priority")),
                    Map.copyOf(metadata),
                    id.equals(leader),
                    id.equals(leader) ? Optional.empty() : Optional.of(found.time())));
        } catch (JsonParseException e) {
            return Optional.empty(); // a marker, or not ours
        }
    }

    private Entry sign(String key, Claim claim) {
        var metadata = new HashMap<String, JsonValue>();
        claim.metadata().forEach((name, value) -> metadata.put(name, new JsonValue(value)));
        var body = new JsonValue(Map.of(
                        "candidate", new JsonValue(claim.candidate()),
                        "priority", new JsonValue(claim.priority()),
                        "metadata", new JsonValue(metadata)))
                .toJson();
        var headers = new Headers();
        if (messageTtl) {
            headers.put("Nats-TTL", Long.toString(Math.max(1, presence.toSeconds())));
        }
        var written = wire.put(key, headers, body.getBytes(StandardCharsets.UTF_8), TIMEOUT);
        var quiet = written.<Object>handle((done, error) -> {
            if (error != null) {
                log.debug("{} is not listed for now: {}", key, error.getMessage());
                unlisted.add(key);
            }
            return true;
        });
        return new Entry(claim, System.nanoTime(), quiet);
    }

    private static String key(Claim claim) {
        return Keys.candidate(claim.election(), claim.candidate(), claim.priority());
    }
}
