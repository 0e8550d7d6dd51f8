package dev.bellwether.kubernetes;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.http.Json;
import dev.bellwether.kubernetes.ClusterAccess.Surroundings;
import dev.bellwether.kubernetes.StubServer.Reply;
import dev.bellwether.kubernetes.StubServer.Request;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The label on the pod of a leader, by which a Service selects it. */
class PodLabelsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final RecordKey KEY = RecordKey.seat("billing");
    private static final String LABEL = "{\"metadata\":{\"labels\":{\"leads.bellwether.dev/billing\":";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    @SuppressWarnings("NullAway.Init")
    private Path token;

    /** What was written last, by name. */
    private final Map<String, String> leases = new ConcurrentHashMap<>();

    @BeforeEach
    void writeToken() throws IOException {
        token = Files.writeString(folder.resolve("token"), "secret");
    }

    @Test
    void theLeadersPodHasItAndNoOther() {
        try (var stub = new StubServer(this::usual);
                var store = open(stub)) {
            store.write(KEY, 0, held("n-1", 0), Urgency.KEEP, PATIENCE)
                    .toCompletableFuture()
                    .join();
            eventually(stub, List.of("pod-1 " + LABEL + "\"true\"}}}", "pod-0 " + LABEL + "null}}}"));
            store.write(KEY, 8, new Draft(record("vacant", "", 3), ""), Urgency.KEEP, PATIENCE)
                    .toCompletableFuture()
                    .join();
            eventually(
                    stub,
                    List.of(
                            "pod-1 " + LABEL + "\"true\"}}}",
                            "pod-0 " + LABEL + "null}}}",
                            "pod-1 " + LABEL + "null}}}"));
        }
    }

    @Test
    void aLeaderWhoseClaimWasCarriedOutWithoutAnAnswerHasItAsSoonAsThatIsRead() {
        var written = new AtomicReference<>("");
        try (var stub = new StubServer(request -> {
                    if (request.method().equals("POST")) {
                        written.set(usual(request).body());
                        return Reply.failure(500, "InternalError", "etcdserver: request timed out", "{}");
                    }
                    return isOfOne(request) ? Reply.of(200, String.valueOf(written.get())) : usual(request);
                });
                var store = open(stub)) {
            assertThat(store.write(KEY, 0, held("n-1", 0), Urgency.KEEP, PATIENCE))
                    .failsWithin(PATIENCE);
            assertThat(store.read(KEY, Urgency.LOOK, PATIENCE)
                            .toCompletableFuture()
                            .join()
                            .revision())
                    .isEqualTo(8);
            eventually(stub, List.of("pod-1 " + LABEL + "\"true\"}}}", "pod-0 " + LABEL + "null}}}"));
        }
    }

    /** As the answer to a list that was made before the claim, and comes after it. */
    @Test
    void whatIsFromBeforeTheClaimTakesItFromNobody() {
        var former = new AtomicReference<>("");
        try (var stub = new StubServer(
                        request -> isOfOne(request) && request.uri().endsWith("/billing")
                                ? Reply.of(200, String.valueOf(former.get()))
                                : usual(request));
                var store = open(stub)) {
            store.write(KEY, 0, new Draft(record("vacant", "", 3), ""), Urgency.KEEP, PATIENCE)
                    .toCompletableFuture()
                    .join();
            former.set(usual(stub.requests().get(stub.requests().size() - 1)).body());
            assertThat(take(store, 8, "n-1")).isEqualTo(9);
            assertThat(store.read(KEY, Urgency.LOOK, PATIENCE)
                            .toCompletableFuture()
                            .join()
                            .revision())
                    .isEqualTo(8);
            // Labels are set one after the other: one that is taken off would come before these.
            store.write(RecordKey.seat("audit"), 0, held("n-2", 0), Urgency.KEEP, PATIENCE)
                    .toCompletableFuture()
                    .join();
            var audit = LABEL.replace("billing", "audit");
            eventually(
                    stub,
                    List.of(
                            "pod-1 " + LABEL + "\"true\"}}}",
                            "pod-0 " + LABEL + "null}}}",
                            "pod-1 " + audit + "\"true\"}}}",
                            "pod-0 " + audit + "null}}}"));
        }
    }

    /** It was frozen, perhaps, and does not know yet that it has lost the seat. */
    @Test
    void whoHasLostTheSeatMeanwhileTakesItFromNobody() {
        try (var stub = new StubServer(request -> {
                    var answer = usual(request);
                    leases.computeIfPresent(
                            "billing",
                            (name, lease) -> lease.replace("n-1", "n-2")
                                    .replace("\"resourceVersion\":\"8\"", "\"resourceVersion\":\"9\""));
                    return answer;
                });
                var store = open(stub)) {
            assertThat(take(store, 0, "n-1")).isEqualTo(8);
            eventually(stub, List.of("pod-1 " + LABEL + "\"true\"}}}", "pod-1 " + LABEL + "null}}}"));
        }
    }

    /** By a former leader, which did not know yet that it had lost the seat. */
    @Test
    void whatSomebodyTookOffIsSetAgain() {
        var has = new AtomicBoolean();
        var looks = new AtomicInteger();
        try (var stub = new StubServer(request -> {
                    if (request.uri().contains("fieldSelector=metadata.name%3Dpod-1")) {
                        looks.incrementAndGet();
                        return Reply.of(
                                200,
                                "{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"pod-1\",\"labels\":{"
                                        + (has.get() ? "\"leads.bellwether.dev/billing\":\"true\"" : "") + "}}}]}");
                    }
                    if (request.method().equals("PATCH") && request.uri().endsWith("/pod-1")) {
                        has.set(request.body().contains("true"));
                    }
                    return usual(request);
                });
                var store = open(stub)) {
            var labels = new PodLabels(
                    client(stub),
                    "pod-1",
                    election -> store.read(RecordKey.seat(election), Urgency.LIST, PATIENCE),
                    Duration.ofMillis(50));
            labels.asks("billing", "n-1", 0);
            labels.seen("billing", "n-1", 8);
            Eventually.eventually("it is set", PATIENCE, has::get);
            var before = looks.get();
            Eventually.eventually("it is looked at", PATIENCE, () -> looks.get() > before + 1);
            assertThat(patches(stub)).hasSize(2);
            has.set(false);
            Eventually.eventually("it is set again", PATIENCE, has::get);
            labels.close();
        }
    }

    @Test
    void twoCandidatesOfOneProcessMayAskAtOnce() {
        var both = new CountDownLatch(2);
        try (var stub = new StubServer(request -> {
                    if (!request.method().equals("POST")) {
                        return usual(request);
                    }
                    both.countDown();
                    await(both);
                    return request.body().contains("n-b")
                            ? Reply.failure(409, "AlreadyExists", "leases \\\"billing\\\" already exists", "{}")
                            : usual(request);
                });
                var store = open(stub)) {
            var first = store.write(KEY, 0, held("n-a", 0), Urgency.KEEP, PATIENCE);
            var second = store.write(KEY, 0, held("n-b", 0), Urgency.KEEP, PATIENCE);
            assertThat(second.toCompletableFuture().join().done()).isFalse();
            assertThat(first.toCompletableFuture().join().done()).isTrue();
            eventually(stub, List.of("pod-1 " + LABEL + "\"true\"}}}", "pod-0 " + LABEL + "null}}}"));
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isOfOne(Request request) {
        return request.method().equals("GET") && request.uri().contains("/leases/");
    }

    @Test
    void anOrderToAnotherLeaderLabelsNoPod() {
        try (var stub = new StubServer(this::usual);
                var store = open(stub)) {
            var order = fields("held", "of-another", 7)
                    .and("since", "2026-01-01T00:00:00Z") // of a term that has begun
                    .build()
                    .text();
            store.write(KEY, 0, new Draft(order, "c"), Urgency.KEEP, PATIENCE)
                    .toCompletableFuture()
                    .join();
            // Labels are set one after the other: one of the order would come before these.
            store.write(RecordKey.seat("audit"), 0, held("n-1", 0), Urgency.KEEP, PATIENCE)
                    .toCompletableFuture()
                    .join();
            var audit = LABEL.replace("billing", "audit");
            eventually(stub, List.of("pod-1 " + audit + "\"true\"}}}", "pod-0 " + audit + "null}}}"));
        }
    }

    @Test
    void aLabelThatCannotBeSetIsTriedAgainByOneAndIsWarnedOfOnce() {
        var written = new ByteArrayOutputStream();
        var before = System.err;
        var refuses = new AtomicBoolean(true);
        System.setErr(new PrintStream(written, true, UTF_8));
        try (var stub = new StubServer(request -> request.method().equals("PATCH") && refuses.get()
                        ? Reply.failure(403, "Forbidden", "pods is forbidden", "{}")
                        : usual(request));
                var store = open(stub)) {
            var at = 0L;
            for (var i = 1; i <= 5; i++) {
                at = take(store, at, "n-" + i);
                var changes = 2 * i - 1; // each but the first ends another term
                Eventually.eventually(
                        "it is tried", PATIENCE, () -> patches(stub).size() == changes);
            }
            Eventually.eventually(
                    "it is tried again", PATIENCE, () -> patches(stub).size() > 9);
            LockSupport.parkNanos(Duration.ofSeconds(1).toNanos());
            assertThat(patches(stub)).hasSize(10);
            assertThat(lines(written, "WARN")).singleElement().asString().contains("does not have the label");
            refuses.set(false);
            assertThat(take(store, at, "n-6")).isPositive();
            Eventually.eventually(
                    "its end is told", PATIENCE, () -> lines(written, "INFO").size() == 1);
            assertThat(lines(written, "WARN")).hasSize(1);
        } finally {
            System.setErr(before);
        }
    }

    @Test
    void aLabelThatCouldBeSetMeanwhileIsTriedAgainToo() {
        var refuses = new AtomicBoolean(true);
        try (var stub = new StubServer(request -> request.method().equals("PATCH") && refuses.get()
                        ? Reply.failure(403, "Forbidden", "pods is forbidden", "{}")
                        : usual(request));
                var store = open(stub)) {
            var at = take(store, 0, "n-1");
            Eventually.eventually("it is tried", PATIENCE, () -> patches(stub).size() == 1);
            refuses.set(false);
            var vacant = store.write(KEY, at, new Draft(record("vacant", "", 3), ""), Urgency.KEEP, PATIENCE)
                    .toCompletableFuture()
                    .join();
            Eventually.eventually(
                    "it is taken off", PATIENCE, () -> patches(stub).size() == 2);
            refuses.set(true);
            assertThat(take(store, vacant.revision(), "n-2")).isPositive();
            Eventually.eventually(
                    "it is refused once more", PATIENCE, () -> patches(stub).size() == 3);
            refuses.set(false);
            Eventually.eventually(
                    "it is tried again",
                    PATIENCE,
                    () -> patches(stub).stream()
                                    .filter(patch -> patch.contains("true"))
                                    .count()
                            > 2);
        }
    }

    private static long take(KubernetesRecordStore store, long at, String nonce) {
        return store.write(KEY, at, held(nonce, at), Urgency.KEEP, PATIENCE)
                .toCompletableFuture()
                .join()
                .revision();
    }

    private static List<String> lines(ByteArrayOutputStream written, String level) {
        return written.toString(UTF_8)
                .lines()
                .filter(line -> line.contains("] " + level + " "))
                .filter(line -> line.contains("PodLabels"))
                .toList();
    }

    @Test
    void whatCannotBeALabelIsRefused() {
        try (var stub = new StubServer(this::usual);
                var store = open(stub)) {
            store.check("billing", CandidacyConfig.defaults());
            assertThatThrownBy(() -> store.check("billing run", CandidacyConfig.defaults()))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("\"billing run\"");
        }
    }

    private void eventually(StubServer stub, List<String> patches) {
        Eventually.eventually(
                "labels are " + patches, PATIENCE, () -> patches(stub).equals(patches));
        assertThat(patches(stub)).isEqualTo(patches);
    }

    private static List<String> patches(StubServer stub) {
        return stub.requests().stream()
                .filter(request -> request.method().equals("PATCH"))
                .map(request -> request.uri().replace("/api/v1/namespaces/payments/pods/", "") + " " + request.body())
                .toList();
    }

    private static Draft held(String nonce, long token) {
        return new Draft(record("held", nonce, token), "c");
    }

    private static String record(String state, String nonce, long token) {
        return fields(state, nonce, token).build().text();
    }

    private static Fields.Builder fields(String state, String nonce, long token) {
        return Fields.with("bellwether", 4)
                .and("state", state)
                .and("stamp", nonce + token)
                .and("token", token)
                .and("lease_nanos", 5_000_000_000L)
                .and("candidate", "c")
                .and("nonce", nonce);
    }

    private Reply usual(Request request) {
        if (request.uri().contains("/pods")) {
            return request.method().equals("GET")
                    ? Reply.of(
                            200,
                            "{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"pod-0\"}},"
                                    + "{\"metadata\":{\"name\":\"pod-1\"}}]}")
                    : Reply.of(200, "{\"kind\":\"Pod\"}");
        }
        var name = request.uri().substring(request.uri().lastIndexOf('/') + 1);
        return switch (request.method()) {
            case "POST" ->
                keep(
                        201,
                        Json.parse(request.body()).at("metadata").text("name"),
                        request.body()
                                .replaceFirst(
                                        "\"metadata\":\\{",
                                        "\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"8\","));
            case "PUT" ->
                keep(200, name, request.body().replaceFirst("\"resourceVersion\":\"8\"", "\"resourceVersion\":\"9\""));
            default ->
                !isOfOne(request)
                        ? Reply.list()
                        : leases.containsKey(name)
                                ? Reply.of(200, String.valueOf(leases.get(name)))
                                : Reply.absent(name);
        };
    }

    private Reply keep(int status, String name, String lease) {
        leases.put(name, lease);
        return Reply.of(status, lease);
    }

    private KubernetesRecordStore open(StubServer stub) {
        var settings = settings(stub);
        var access = ClusterAccess.of(settings, Surroundings.real());
        return KubernetesRecordStore.open(settings, access, access::client);
    }

    private KubernetesClient client(StubServer stub) {
        var settings = settings(stub);
        var access = ClusterAccess.of(settings, Surroundings.real());
        return new KubernetesClient(settings, access, access::client);
    }

    private KubernetesSettings settings(StubServer stub) {
        return KubernetesSettings.of(ConnectUri.parse(stub.uri("payments", token) + "&podLabel=true&pod=pod-1"));
    }
}
