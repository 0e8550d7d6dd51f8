package dev.bellwether.kubernetes;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.http.Json;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.http.RequestTime;
import dev.bellwether.kubernetes.KubernetesClient.Answer;
import dev.bellwether.kubernetes.KubernetesClient.Outcome;
import dev.bellwether.kubernetes.StoredLease.Next;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.LastSeen;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Records in the Leases of a namespace. Thread-safe. */
final class KubernetesRecordStore implements RecordStore {
    private static final Logger log = LoggerFactory.getLogger(KubernetesRecordStore.class);
    private static final int PAGE = 500;
    private static final int MOST_PAGES = 200;
    /** The server tells the time in full seconds: by so much may two clients differ, and nobody is gone for that. */
    private static final Duration CLOCK_STEP = Duration.ofSeconds(1);

    private static final Duration GONE_FOR_LONG = Duration.ofMinutes(1);
    private static final Duration CLEANING = Duration.ofSeconds(5);
    /** Each list removes so many standbys that are gone: the next one goes on. */
    private static final int MOST_CLEANED = 20;

    private final KubernetesSettings settings;
    private final KubernetesClient client;
    private final KubernetesWatch watch;
    private final Optional<PodLabels> labels;
    private final LastSeen<StoredLease> known = new LastSeen<>();

    private KubernetesRecordStore(KubernetesSettings settings, KubernetesClient client) {
        this.settings = settings;
        this.client = client;
        watch = new KubernetesWatch(client, settings.others().isPresent());
        labels = settings.pod()
                .map(pod -> new PodLabels(
                        client,
                        pod,
                        election -> read(RecordKey.seat(election), Urgency.LIST, PodLabels.PATIENCE),
                        PodLabels.LOOK));
    }

    /**
     * Looks whether the API server answers, and whether we may list Leases.
     *
     * @throws ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if it does not answer
     */
    static KubernetesRecordStore open(
            KubernetesSettings settings, ClusterAccess access, Supplier<ReplaceableClient> http) {
        var client = new KubernetesClient(settings, access, http);
        KubernetesDoctor.requireReachable(client);
        return new KubernetesRecordStore(settings, client);
    }

    @Override
    public String describe() {
        return settings.toString();
    }

    @Override
    public String scope() {
        return "namespace";
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
        var findings = new ArrayList<>(KubernetesDoctor.findings(client));
        settings.others().ifPresent(those -> findings.add(those.finding()));
        return findings;
    }

    @Override
    public void check(String election, CandidacyConfig candidacy) {
        settings.others().ifPresent(those -> those.check(election, candidacy));
        if (labels.isPresent()) {
            PodLabels.check(election);
        }
    }

    // ---------------------------------------------------------------- records

    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        return get(urgency, key, RequestTime.of(timeout))
                .thenApply(lease -> lease.map(found -> found(key, found)).orElse(Found.NOTHING));
    }

    private CompletableFuture<Optional<StoredLease>> get(Urgency urgency, RecordKey key, RequestTime time) {
        return client.get(urgency, "get", path(key), time)
                .thenApply(answer -> answer.isDone() ? Optional.of(StoredLease.of(answer.json())) : Optional.empty());
    }

    private Found found(RecordKey key, StoredLease lease) {
        var record = lease.text(key, isBeside(key));
        known.put(lease.name(), lease);
        var spec = lease.spec();
        if (key.parts().size() == RecordKey.OF_SEAT) {
            labels.ifPresent(all -> all.seen(
                    key.election(), record.map(KubernetesRecordStore::holder).orElse(""), lease.revision()));
        }
        return record.map(text ->
                        new Found(text.isEmpty() ? What.DELETED : What.TEXT, lease.revision(), spec.renewed(), text))
                .orElseGet(() -> new Found(
                        What.NAME,
                        lease.revision(),
                        spec.renewed(),
                        spec.holder(),
                        Duration.ofSeconds(spec.holder().isEmpty() ? 0 : spec.seconds())));
    }

    /** Returns whether others elect by this Lease, too: seats only are theirs. */
    private boolean isBeside(RecordKey key) {
        return settings.others().isPresent() && key.parts().size() == RecordKey.OF_SEAT;
    }

    /** Returns what is written as the time: of a seat beside others our own, as they do. */
    private Instant now(RecordKey key) {
        return isBeside(key) ? Instant.now() : client.now();
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        var holder = holder(draft.text());
        var isGrant =
                !holder.isEmpty() && Fields.parse(draft.text()).text("since").isEmpty();
        if (isGrant && key.parts().size() == RecordKey.OF_SEAT) {
            labels.ifPresent(all -> all.asks(key.election(), holder, expected));
        }
        return write(urgency, key, expected, next(key, draft), RequestTime.of(timeout));
    }

    /*
     * The version alone would not do: the built-in Lease may be created by an update, so that one which comes late
     * would bring back what was deleted. With the uid it is refused. So the Lease at that version must be known.
     */
    private CompletableFuture<Written> write(
            Urgency urgency, RecordKey key, long expected, Next next, RequestTime time) {
        if (expected == 0) {
            var body = StoredLease.first(key, next, now(key));
            return client.write(urgency, "create", client.leases(""), body, time)
                    .thenApply(answer -> written(key, answer));
        }
        var deadline = System.nanoTime() + time.left().toNanos();
        var seen = known.of(StoredLease.name(key)).filter(lease -> lease.revision() == expected);
        var former = seen.isPresent() ? CompletableFuture.completedFuture(seen) : get(urgency, key, time);
        return former.thenCompose(lease -> {
            var present = lease.map(StoredLease::revision).orElse(0L);
            if (present != expected) {
                return CompletableFuture.completedFuture(Written.outdated(present));
            }
            var body = lease.orElseThrow().json(key, next, now(key));
            return client.write(urgency, "update", path(key), body, time.until(deadline))
                    .thenApply(answer -> written(key, answer));
        });
    }

    private Written written(RecordKey key, Answer answer) {
        if (!answer.isDone()) {
            return Written.outdated(answer.outcome() == Outcome.ABSENT ? 0 : -1);
        }
        var found = found(key, StoredLease.of(answer.json()));
        return Written.at(found.revision(), found.written());
    }

    /** What others are to see who know nothing of us. What it is made of is core's; what cannot be read is left out. */
    private Next next(RecordKey key, Draft draft) {
        var fields = Fields.parse(draft.text());
        var nonce = fields.text("nonce");
        var candidate = fields.text("candidate");
        var holder = fields.text("state").equals("vacant") || nonce.isEmpty()
                ? ""
                : candidate.isEmpty() ? nonce : candidate + '_' + nonce;
        var shares = !fields.text("session").isEmpty(); // it is not renewed, and must not look as if it were over
        var former = known.of(StoredLease.name(key))
                .flatMap(lease -> lease.text(key, isBeside(key)))
                .map(text -> Fields.parse(text).text("stamp"))
                .orElse("");
        var clockError = settings.traits().others().clockError(); // who goes by renewTime must not come too early
        var lease = Duration.ofNanos(fields.number("lease_nanos")).plus(clockError);
        return new Next(
                draft.text(),
                holder,
                shares ? Integer.MAX_VALUE : holder.isEmpty() && isBeside(key) ? 1 : seconds(lease),
                former.isEmpty() || !former.equals(fields.text("stamp")),
                isBeside(key));
    }

    /** Returns the nonce of anybody who leads according to this record; empty if nobody does. */
    private static String holder(String text) {
        var fields = Fields.parse(text);
        return fields.text("state").equals("held") ? fields.text("nonce") : "";
    }

    private static long seconds(Duration duration) {
        return duration.plusNanos(999_999_999).toSeconds();
    }

    @Override
    public Watch watch(RecordKey key, Consumer<Found> heard) {
        return watch.add(StoredLease.name(key), lease -> {
            try {
                heard.accept(found(key, StoredLease.of(lease)));
            } catch (ElectionException e) {
                log.debug(
                        "{}: ignored a notice of something that is not ours:" + " {}",
                        this,
                        e.getMessage()); // who asks is told
            }
        });
    }

    @Override
    public CompletionStage<Long> reached(RecordKey key, Duration timeout) {
        return client.get(Urgency.LOOK, "list", client.leases("?limit=1"), timeout)
                .thenApply(answer ->
                        StoredLease.revision(answer.json().at("metadata").text("resourceVersion")));
    }

    // ---------------------------------------------------------------- lists

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        var selector = StoredLease.KIND + "=" + StoredLease.kind(parts);
        if (!beginning.isEmpty() && parts != RecordKey.OF_SESSION) {
            selector += "," + StoredLease.ELECTION + "=" + StoredLease.digest(beginning.get(0));
        }
        var items = new ArrayList<Json>();
        return pages(client, Urgency.LIST, selector, items, timeout)
                .thenApply(version -> new Listing(
                        (parts == RecordKey.OF_STANDBY ? standing(items) : items)
                                .stream()
                                        .flatMap(lease -> key(lease, parts).stream())
                                        .filter(key -> key.parts()
                                                .subList(0, beginning.size())
                                                .equals(beginning))
                                        .toList(),
                        Optional.of(client.now().minus(CLOCK_STEP)),
                        true));
    }

    private static Optional<RecordKey> key(Json lease, int parts) {
        var path = lease.at("metadata").at("annotations").text("bellwether.dev/key");
        return RecordKey.ofPath(path, parts)
                .filter(key -> StoredLease.name(key).equals(lease.at("metadata").text("name")));
    }

    /** Adds all Leases with these labels, page by page, and returns the version as of which they are. */
    static CompletableFuture<String> pages(
            KubernetesClient client, Urgency urgency, String selector, List<Json> items, Duration timeout) {
        return page(client, urgency, selector, "", items, RequestTime.of(timeout), 1);
    }

    private static CompletableFuture<String> page(
            KubernetesClient client,
            Urgency urgency,
            String selector,
            String from,
            List<Json> items,
            RequestTime time,
            int page) {
        var deadline = System.nanoTime() + time.left().toNanos();
        var query = "?limit=" + PAGE + "&labelSelector=" + encoded(selector)
                + (from.isEmpty() ? "" : "&continue=" + encoded(from));
        return client.get(urgency, "list", client.leases(query), time).thenCompose(answer -> {
            if (answer.outcome() == Outcome.EXPIRED || page > MOST_PAGES) {
                return CompletableFuture.failedFuture(new UnavailableException(
                        client + ": the list of Leases is too long to be read before it changes too much"));
            }
            items.addAll(answer.json().list("items"));
            var metadata = answer.json().at("metadata");
            var next = metadata.text("continue");
            return next.isEmpty()
                    ? CompletableFuture.completedFuture(metadata.text("resourceVersion"))
                    : page(client, urgency, selector, next, items, time.until(deadline), page + 1);
        });
    }

    static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    // ---------------------------------------------------------------- what is displayed

    /** Standbys whose time is not over. A process that sees others removes some of them a while later, if it may. */
    private List<Json> standing(List<Json> all) {
        var now = client.now();
        var standing = new ArrayList<Json>();
        var cleaned = 0;
        for (var one : all) {
            var lease = StoredLease.of(one);
            var until = lease.spec().renewed().plusSeconds(one.at("spec").number("leaseDurationSeconds"));
            if (until.isAfter(now)) {
                standing.add(one);
            } else if (until.plus(GONE_FOR_LONG).isBefore(now) && cleaned++ < MOST_CLEANED) {
                var only = "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"resourceVersion\":\""
                        + lease.revision() + "\"}}";
                var unused = client.write(Urgency.LIST, "delete", client.leases("/" + lease.name()), only, CLEANING);
            }
        }
        return standing;
    }

    @Override
    public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        var next = new Next(text, Fields.parse(text).text("candidate"), seconds(kept), true, false);
        var time = RequestTime.of(timeout);
        var deadline = System.nanoTime() + timeout.toNanos();
        var at = known.of(StoredLease.name(key)).map(StoredLease::revision).orElse(0L);
        return write(Urgency.LIST, key, at, next, time).thenCompose(first -> {
            if (first.done()) {
                return CompletableFuture.completedFuture(first);
            }
            return get(Urgency.LIST, key, time.until(deadline))
                    .thenCompose(lease -> write(
                            Urgency.LIST, key, lease.map(StoredLease::revision).orElse(0L), next, time.until(deadline)))
                    .thenApply(second -> {
                        if (!second.done()) {
                            throw new UnavailableException(this + ": " + key + " is being written by others");
                        }
                        return second;
                    });
        });
    }

    @Override
    public CompletionStage<?> remove(RecordKey key, Duration timeout) {
        if (key.parts().size() == RecordKey.OF_SEAT) {
            throw new IllegalArgumentException("the Lease of a seat is never deleted: " + key);
        }
        return client.write(Urgency.LIST, "delete", path(key), "{}", timeout);
    }

    private String path(RecordKey key) {
        return client.leases("/" + StoredLease.name(key));
    }

    @Override
    public void close() {
        watch.close();
        labels.ifPresent(PodLabels::close);
    }

    @Override
    public String toString() {
        return settings.toString();
    }
}
