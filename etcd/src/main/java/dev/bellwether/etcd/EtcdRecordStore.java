package dev.bellwether.etcd;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.http.Json;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.LastSeen;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Records under a prefix of etcd. Thread-safe. */
final class EtcdRecordStore implements RecordStore {
    private static final Logger log = LoggerFactory.getLogger(EtcdRecordStore.class);

    /*
     * A record is its text, with the time of its writing in a line before it: by a member's clock, and for display. A
     * write compares the revision that its sender knows, and the value there, if we know that too: each has a stamp of
     * its own, so that a store which lost its last writes and gave their revisions to others refuses it.
     */
    private static final int LARGEST_PAGE = 100_000;
    /** Members tell the time in full seconds: by so much may two clients differ, and nobody is gone for that. */
    private static final Duration CLOCK_STEP = Duration.ofSeconds(1);

    private static final Duration REVOKING = Duration.ofSeconds(1);

    private final EtcdSettings settings;
    private final EtcdClient client;
    private final String root;
    private final EtcdWatch watch;
    private final Map<Duration, Grant> grants = new ConcurrentHashMap<>();
    private final LastSeen<Stored> known = new LastSeen<>();

    /** What was last seen of a key. */
    private record Stored(long revision, String value) {}

    /** A lease of etcd, under which what is displayed is put until this instant. */
    private record Grant(CompletableFuture<String> id, long untilNanos) {}

    private EtcdRecordStore(EtcdSettings settings, EtcdClient client) {
        this.settings = settings;
        this.client = client;
        root = settings.prefix() + "/";
        watch = new EtcdWatch(client, range(root, root + RecordKey.folder(RecordKey.OF_STANDBY)));
    }

    /**
     * Looks whether members answer, and whether we may read.
     *
     * @throws dev.bellwether.ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if no member answers, or none has a leader
     */
    static EtcdRecordStore open(EtcdSettings settings, ReplaceableClient http) {
        var store = new EtcdRecordStore(settings, new EtcdClient(settings, http));
        EtcdDoctor.requireReachable(settings, store.client);
        return store;
    }

    @Override
    public String describe() {
        return settings.toString();
    }

    @Override
    public RecordTraits traits() {
        return settings.traits();
    }

    @Override
    public String session() {
        return client.session();
    }

    @Override
    public boolean isCrowded() {
        return client.isCrowded();
    }

    @Override
    public List<Finding> findings(CandidacyConfig candidacy) {
        return EtcdDoctor.findings(settings, client);
    }

    // ---------------------------------------------------------------- records

    // tag::record-store
    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        var name = name(key);
        return client.read(urgency, "kv/range", "{" + field("key", name) + "}", timeout)
                .thenApply(answer -> found(name, answer.list("kvs")));
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        var name = name(key);
        var now = client.now();
        var value = value(now, draft.text());
        var same = known.of(name).filter(seen -> seen.revision == expected);
        var compare = "{" + field("key", name) + ",\"target\":\"MOD\",\"mod_revision\":\"" + expected + "\"}";
        if (same.isPresent()) {
            compare += ",{" + field("key", name) + ",\"target\":\"VALUE\",\"value\":\"" + same.get().value + "\"}";
        }
        var body = "{\"compare\":[" + compare + "],\"success\":[{\"request_put\":{" + field("key", name)
                + ",\"value\":\"" + value + "\"}}],\"failure\":[{\"request_range\":{" + field("key", name) + "}}]}";
        return client.write(urgency, "kv/txn", body, timeout).thenApply(answer -> {
            if (answer.flag("succeeded")) {
                var revision = answer.at("header").number("revision");
                known.put(name, new Stored(revision, value));
                return Written.at(revision, now);
            }
            var present = answer.list("responses").get(0).at("response_range");
            return Written.outdated(found(name, present.list("kvs")).revision());
        });
    }
    // end::record-store

    private Found found(String name, List<Json> kvs) {
        return kvs.isEmpty() ? Found.NOTHING : found(name, kvs.get(0));
    }

    private Found found(String name, Json kv) {
        var stored = new Stored(kv.number("mod_revision"), kv.text("value"));
        known.put(name, stored);
        var text = new String(Base64.getDecoder().decode(stored.value), StandardCharsets.UTF_8);
        var line = text.indexOf('\n');
        if (line < 0 || !text.substring(0, line).matches("[0-9]{1,15}")) {
            return new Found(text.isEmpty() ? What.DELETED : What.TEXT, stored.revision, Instant.EPOCH, text);
        }
        var written = Instant.ofEpochMilli(Long.parseLong(text.substring(0, line)));
        return new Found(What.TEXT, stored.revision, written, text.substring(line + 1));
    }

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        var from = root + RecordKey.pathOf(beginning, parts);
        var body = "{" + range(from, from.substring(0, from.length() - 1) + "0") + ",\"keys_only\":true,\"limit\":"
                + LARGEST_PAGE + "}";
        return client.read(Urgency.LIST, "kv/range", body, timeout)
                .thenApply(answer -> new Listing(
                        answer.list("kvs").stream()
                                .flatMap(kv -> key(kv.text("key"), parts).stream())
                                .toList(),
                        Optional.of(client.now().minus(CLOCK_STEP)),
                        !answer.flag("more")));
    }

    @Override
    public CompletionStage<Long> reached(RecordKey key, Duration timeout) {
        return client.read(Urgency.LOOK, "kv/range", "{" + field("key", name(key)) + "}", timeout)
                .thenApply(answer -> answer.at("header").number("revision"));
    }

    // tag::watch
    @Override
    public Watch watch(RecordKey key, Consumer<Found> heard) {
        var name = name(key);
        return watch.add(name, kv -> heard.accept(found(name, kv)));
    }
    // end::watch

    // ---------------------------------------------------------------- what is displayed

    @Override
    public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        var grant = granted(kept, timeout);
        return grant.id
                .thenCompose(lease -> client.write(
                        Urgency.LIST,
                        "kv/put",
                        "{" + field("key", name(key)) + ",\"value\":\"" + value(client.now(), text) + "\",\"lease\":\""
                                + lease + "\"}",
                        timeout))
                .whenComplete((done, error) -> {
                    if (error != null) {
                        grants.remove(kept, grant); // it may be gone
                    }
                });
    }

    /**
     * One lease of etcd is for all that is put within half of its time, and runs half as long again: it needs no care.
     */
    private Grant granted(Duration kept, Duration timeout) {
        var fresh = new Grant(new CompletableFuture<>(), System.nanoTime() + kept.toNanos() / 2);
        var used = grants.compute(
                kept, (same, last) -> last == null || last.untilNanos - System.nanoTime() < 0 ? fresh : last);
        if (used.equals(fresh)) {
            var seconds = Math.max(1, kept.multipliedBy(3).dividedBy(2).toSeconds() + 1);
            var unused = client.write(Urgency.LIST, "lease/grant", "{\"TTL\":\"" + seconds + "\"}", timeout)
                    .whenComplete((answer, error) -> {
                        if (answer != null) {
                            fresh.id.complete(answer.text("ID"));
                        } else {
                            fresh.id.completeExceptionally(error);
                        }
                    });
        }
        return used;
    }

    @Override
    public CompletionStage<?> remove(RecordKey key, Duration timeout) {
        return client.write(Urgency.LIST, "kv/deleterange", "{" + field("key", name(key)) + "}", timeout);
    }

    // ---------------------------------------------------------------- keys and values

    private String name(RecordKey key) {
        return root + key.path();
    }

    private Optional<RecordKey> key(String base64, int parts) {
        var name = new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
        return RecordKey.ofPath(name.substring(root.length()), parts);
    }

    private static String value(Instant now, String text) {
        return text.isEmpty() ? "" : base64(now.toEpochMilli() + "\n" + text);
    }

    private static String range(String from, String end) {
        return field("key", from) + "," + field("range_end", end);
    }

    private static String field(String name, String text) {
        return "\"" + name + "\":\"" + base64(text) + "\"";
    }

    private static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The leases are of this store alone: what is under them still is of those who could not be removed. */
    @Override
    public void close() {
        watch.close();
        var revoked = grants.values().stream()
                .map(Grant::id)
                .filter(id -> id.isDone() && !id.isCompletedExceptionally())
                .map(id -> client.write(Urgency.LIST, "lease/revoke", "{\"ID\":\"" + id.join() + "\"}", REVOKING))
                .toArray(CompletableFuture<?>[]::new);
        grants.clear();
        try {
            CompletableFuture.allOf(revoked).get(REVOKING.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException e) {
            log.debug("{}: leases run out by themselves: {}", settings, e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
