package dev.bellwether.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.BusyPool;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.http.Json;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.kubernetes.ClusterAccess.Surroundings;
import dev.bellwether.kubernetes.StubServer.Reply;
import dev.bellwether.kubernetes.StubServer.Request;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Listing;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.net.http.HttpHeaders;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Rights, tokens, priority, what a whole cluster refuses or does not write, and servers that are slow. The API server
 * that tests can start has no such rules: here a stub answers as the documentation of Kubernetes says.
 */
@Timeout(120)
class RightsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final RecordKey KEY = RecordKey.seat("billing");
    private static final RecordKey STANDBY = RecordKey.standby("billing", 0, "ann");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    @SuppressWarnings("NullAway.Init")
    private Path token;

    @BeforeEach
    void writeToken() throws IOException {
        token = Files.writeString(folder.resolve("token"), "hush-hush\n");
    }

    @ParameterizedTest
    @CsvSource({"get", "list", "create", "update", "delete"})
    void aMissingRightIsNamedByItsVerb(String verb) {
        try (var stub = new StubServer(request -> verb(request).equals(verb) ? forbidden(verb) : usual(request))) {
            assertThatThrownBy(() -> {
                        try (var store = open(stub)) {
                            now(store.read(KEY, Urgency.LOOK, PATIENCE));
                            var at = now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE))
                                    .revision();
                            now(store.write(KEY, at, new Draft("two", ""), Urgency.KEEP, PATIENCE));
                            now(store.remove(STANDBY, PATIENCE));
                        }
                    })
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContainingAll(
                            "cannot " + verb + " resource",
                            "a Role in namespace payments with the verb " + verb + " on leases of coordination.k8s.io",
                            "Elections need get, list, watch, create, update, delete")
                    .hasMessageNotContaining("hush-hush");
        }
    }

    @Test
    void whoMayNotWatchLeadsAnyway() throws Exception {
        try (var stub = new StubServer(
                        request -> request.uri().contains("watch=true") ? forbidden("watch") : usual(request));
                var elections = Elections.connect(stub.uri("payments", token) + "&presence=1h");
                var leader = elections.stand("billing", CandidacyConfig.ofLease(Duration.ofSeconds(10)))) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void aTokenThatIsOverIsReadAgainAndTheRequestSentOnceMore() throws Exception {
        try (var stub = new StubServer(request -> request.authorization().equals("Bearer second")
                        || request.isSign()
                        || request.method().equals("GET")
                ? usual(request)
                : Reply.failure(401, "Unauthorized", "Unauthorized", "{}"))) {
            try (var store = open(stub)) {
                assertThatThrownBy(() -> now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE)))
                        .isInstanceOf(AccessRefusedException.class)
                        .hasMessageContainingAll("401", "The credentials are from", "token or certificate has expired")
                        .hasMessageNotContaining("hush-hush");
                Files.writeString(token, "second");
                assertThat(now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE))
                                .done())
                        .isTrue();
                assertThat(stub.requests().stream()
                                .filter(request -> request.method().equals("POST"))
                                .map(Request::authorization))
                        .containsExactly("Bearer hush-hush", "Bearer hush-hush", "Bearer second");
            }
        }
    }

    @Test
    void aWatchWhoseTokenIsOverGoesOnWithTheNextOneAtOnce() {
        var isOver = new AtomicBoolean();
        try (var stub = new StubServer(request -> {
                    if (!request.uri().contains("watch=true")) {
                        return usual(request);
                    }
                    if (isOver.compareAndSet(false, true)) {
                        write("second");
                        return Reply.of(200, "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}\n");
                    }
                    return request.authorization().equals("Bearer second")
                            ? Reply.silence()
                            : Reply.failure(401, "Unauthorized", "Unauthorized", "{}");
                });
                var store = open(stub)) {
            var watch = store.watch(KEY, heard -> {});
            Eventually.eventually(
                    "it goes on", // without that, no token is read again within a minute
                    PATIENCE,
                    () -> stub.requests().stream()
                            .filter(request -> request.uri().contains("watch=true"))
                            .anyMatch(request -> request.authorization().equals("Bearer second")));
            watch.close();
        }
    }

    private void write(String next) {
        try {
            Files.writeString(token, next);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** As of {@code kubectl create token > file}, which empties the file first: who comes without may do nothing. */
    @Test
    void aTokenThatIsJustBeingWrittenIsWaitedFor() throws Exception {
        Files.writeString(token, "");
        try (var stub =
                new StubServer(request -> request.authorization().isEmpty() ? forbidden("list") : usual(request))) {
            var uri = stub.uri("payments", token);
            assertThatThrownBy(() -> Elections.connect(uri).close())
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("the token file of context \"stub\"")
                    .hasMessageContaining("is empty");
            Files.writeString(token, "hush-hush");
            Elections.connect(uri).close();
        }
    }

    @Test
    void aServerThatHasTooMuchToDoHasGivenNoAnswerAndIsLeftAloneForAsLongAsItSays() {
        var refused = new AtomicInteger();
        try (var stub = new StubServer(request -> request.method().equals("POST") && refused.getAndIncrement() == 0
                ? new Reply(
                        429,
                        Map.of("Retry-After", "2"),
                        "{\"kind\":\"Status\",\"message\":\"too many requests, please try again later\",\"code\":429}")
                : usual(request))) {
            try (var store = open(stub)) {
                var begun = System.nanoTime();
                assertThatThrownBy(() -> now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE)))
                        .isInstanceOf(UnavailableException.class)
                        .hasMessageContaining("429");
                var asked = stub.requests().size();
                assertThatThrownBy(() ->
                                now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, Duration.ofMillis(300))))
                        .isInstanceOf(UnavailableException.class)
                        .hasMessageContaining("nothing was sent");
                assertThat(stub.requests()).hasSize(asked);
                assertThat(now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE))
                                .done())
                        .isTrue();
                assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(Duration.ofMillis(1_500));
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "0; 1",
                "4; 4",
                "40; 30",
                "Sun, 06 Nov 1994 08:49:41 GMT; 4",
                "Sun, 06 Nov 1994 09:49:37 GMT; 30",
                "Sun, 06 Nov 1994 08:49:37 GMT; 1",
                "Sat, 05 Nov 1994 08:49:37 GMT; 1",
                "soon; 30"
            })
    void aServerMayNameTheTimeUntilWhichItIsLeftAlone(String retryAfter, int seconds) {
        var said = Map.of("Retry-After", List.of(retryAfter), "Date", List.of("Sun, 06 Nov 1994 08:49:37 GMT"));
        assertThat(KubernetesClient.pauseWanted(HttpHeaders.of(said, (name, value) -> true)))
                .isEqualTo(Duration.ofSeconds(seconds));
    }

    @Test
    void aTimeOfAServerThatDoesNotTellItsOwnIsByOurClock() {
        var soon = ZonedDateTime.now(ZoneOffset.UTC).plusSeconds(20);
        var said = Map.of("Retry-After", List.of(DateTimeFormatter.RFC_1123_DATE_TIME.format(soon)));
        assertThat(KubernetesClient.pauseWanted(HttpHeaders.of(said, (name, value) -> true)))
                .isBetween(Duration.ofSeconds(1), Duration.ofSeconds(20));
    }

    @Test
    void whatWaitsForAServerThatHasTooMuchToDoDoesNotWaitForTheCommonPoolAndKeepsItsTime() {
        var asked = new AtomicInteger();
        var isGivenUp = new CountDownLatch(1);
        try (var stub = new StubServer(request -> {
            var count = request.method().equals("POST") ? asked.incrementAndGet() : 0;
            if (count == 1 || count == 3) {
                return new Reply(429, Map.of("Retry-After", "4"), "{\"kind\":\"Status\",\"code\":429}");
            }
            if (count == 4) {
                await(isGivenUp);
            }
            return usual(request);
        })) {
            try (var busy = new BusyPool();
                    var store = open(stub)) {
                assertThat(busy).isNotNull();
                for (var isAnswered : List.of(true, false)) {
                    var begun = System.nanoTime();
                    assertThatThrownBy(() -> now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE)))
                            .hasMessageContaining("429");
                    var time = isAnswered ? PATIENCE : Duration.ofSeconds(5);
                    var called = System.nanoTime();
                    var written = store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, time);
                    assertThat(written.handle((done, error) -> error == null))
                            .succeedsWithin(PATIENCE.dividedBy(2)) // so long the last one has no answer
                            .isEqualTo(isAnswered);
                    assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(Duration.ofMillis(3_500));
                    assertThat(Duration.ofNanos(System.nanoTime() - called))
                            .as("its time began before the wait for the server, not after it")
                            .isLessThan(time.plusSeconds(3));
                }
                isGivenUp.countDown();
            }
        }
    }

    @Test
    void aListThatIsTooMuchForTheServerDoesNotSilenceTheLeader() throws Exception {
        var leases = new ConcurrentHashMap<String, String>();
        var version = new AtomicInteger(7);
        try (var stub = new StubServer(request -> isList(request)
                        ? new Reply(429, Map.of("Retry-After", "20"), "{\"kind\":\"Status\",\"code\":429}")
                        : kept(request, leases, version));
                var elections = Elections.connect(stub.uri("payments", token));
                var leader = elections.stand("billing", CandidacyConfig.ofLease(Duration.ofSeconds(6)))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            Eventually.eventually(
                    "a list was refused",
                    PATIENCE,
                    () -> stub.requests().stream().anyMatch(RightsTest::isList));
            Eventually.throughout("the same mandate is valid", Duration.ofSeconds(15), mandate::isValid);
        }
    }

    @Test
    void listsThatWaitBecauseTheServerSaysSoTakeNoPlaceOfALeader() {
        var isRefused = new CountDownLatch(1);
        try (var stub = new StubServer(firstListRefused("30", isRefused));
                var store = open(stub)) {
            var lists = lists(store, Duration.ofMinutes(1));
            awaitRefusal(lists);
            isRefused.countDown();
            Eventually.eventually( // some may have waited already when the first was refused
                    "all that were sent are answered",
                    PATIENCE,
                    () -> lists.stream().filter(CompletableFuture::isDone).count()
                            >= stub.requests().stream()
                                    .filter(RightsTest::isList)
                                    .count());
            assertThat(now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, Duration.ofSeconds(6)))
                            .done())
                    .isTrue();
        }
    }

    @Test
    void listsThatWaitBecauseTheServerSaysSoAreAskedAfterThat() {
        var isRefused = new CountDownLatch(1);
        try (var stub = new StubServer(firstListRefused("2", isRefused));
                var store = open(stub)) {
            var lists = lists(store, PATIENCE);
            awaitRefusal(lists);
            isRefused.countDown();
            Eventually.eventually(
                    "all are answered", PATIENCE, () -> lists.stream().allMatch(CompletableFuture::isDone));
            assertThat(lists.stream().filter(CompletableFuture::isCompletedExceptionally))
                    .hasSize(1);
        }
    }

    /** Refuses the first list, and answers the others when it is told to. */
    private static Function<Request, Reply> firstListRefused(String retryAfter, CountDownLatch isRefused) {
        var number = new AtomicInteger();
        return request -> {
            if (isList(request) && number.getAndIncrement() == 0) {
                return new Reply(429, Map.of("Retry-After", retryAfter), "{\"kind\":\"Status\",\"code\":429}");
            }
            if (isList(request)) {
                await(isRefused);
            }
            return usual(request);
        };
    }

    /** More than may be under way, and as many again. */
    private static List<CompletableFuture<Listing>> lists(KubernetesRecordStore store, Duration patience) {
        return IntStream.range(0, 120)
                .mapToObj(i -> store.list(List.of("billing"), RecordKey.OF_STANDBY, patience)
                        .toCompletableFuture())
                .toList();
    }

    private static void awaitRefusal(List<CompletableFuture<Listing>> lists) {
        Eventually.eventually(
                "one is refused", PATIENCE, () -> lists.stream().anyMatch(CompletableFuture::isCompletedExceptionally));
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void ofStandbysThatAreGoneForLongAListRemovesAFewOnly() {
        var gone = IntStream.range(0, 300)
                .mapToObj(i -> "{\"metadata\":{\"name\":\"gone-" + i + "\",\"uid\":\"u\",\"resourceVersion\":\"5\"},"
                        + "\"spec\":{\"holderIdentity\":\"ann\",\"leaseDurationSeconds\":1,"
                        + "\"acquireTime\":\"2020-01-01T00:00:00.000000Z\","
                        + "\"renewTime\":\"2020-01-01T00:00:00.000000Z\"}}")
                .collect(Collectors.joining(",", "\"items\":[", "]"));
        try (var stub = new StubServer(request -> isList(request)
                        ? Reply.of(200, Reply.list().body().replace("\"items\":[]", gone))
                        : usual(request));
                var store = open(stub)) {
            assertThat(now(store.list(List.of("billing"), RecordKey.OF_STANDBY, PATIENCE))
                            .keys())
                    .isEmpty();
            Eventually.eventually("some are removed", PATIENCE, () -> deletions(stub) > 0);
            Eventually.throughout("they are few", Duration.ofSeconds(2), () -> deletions(stub) <= 20);
        }
    }

    private static long deletions(StubServer stub) {
        return stub.requests().stream()
                .filter(request -> request.method().equals("DELETE"))
                .count();
    }

    /** Answers as a server does that keeps what it is sent, each at a higher version, unless it says nothing new. */
    private static Reply kept(Request request, Map<String, String> leases, AtomicInteger version) {
        return switch (verb(request)) {
            case "get" -> {
                var lease = leases.get(request.uri().replaceAll(".*/", ""));
                yield lease == null ? Reply.absent("billing") : Reply.of(200, lease);
            }
            case "create", "update" -> {
                var said = unversioned(request.body());
                var name = Json.parse(said).at("metadata").text("name");
                yield Reply.of(
                        200,
                        String.valueOf(leases.compute(
                                name,
                                (same, present) ->
                                        present != null && unversioned(present).equals(said)
                                                ? present
                                                : said.replaceFirst(
                                                        "\"metadata\":\\{",
                                                        "\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\""
                                                                + version.incrementAndGet() + "\","))));
            }
            default -> usual(request);
        };
    }

    private static String unversioned(String lease) {
        return lease.replaceAll("\"(uid|resourceVersion)\":\"[^\"]*\",?", "");
    }

    /** An API server answers an update that says nothing new as if it had written it, at the same version. */
    @ParameterizedTest
    @CsvSource({"''", "&beside=client-go"})
    void eachWriteOfASeatHasAHigherVersionAlsoIfItSaysTheSame(String more) {
        var leases = new ConcurrentHashMap<String, String>();
        var version = new AtomicInteger(7);
        try (var stub = new StubServer(request -> kept(request, leases, version));
                var store = open(stub, more)) {
            var vacant = new Draft("bellwether=1&state=vacant&stamp=one", "");
            var first = now(store.write(KEY, 0, vacant, Urgency.KEEP, PATIENCE));
            var second = now(store.write(KEY, first.revision(), vacant, Urgency.KEEP, PATIENCE));
            assertThat(second.revision()).isGreaterThan(first.revision());
            var third = now(store.write(KEY, second.revision(), vacant, Urgency.KEEP, PATIENCE));
            assertThat(third.revision()).isGreaterThan(second.revision());
            assertThat(now(store.read(KEY, Urgency.LOOK, PATIENCE)).text()).isEqualTo(vacant.text());
        }
    }

    /** What another request has used of a time is missing to the one that follows, which says nothing of the server. */
    @ParameterizedTest
    @CsvSource({"list", "get", "create"})
    void aRequestThatGetsTheRestOfATimeIsNoBreak(String slow) {
        var silence = new CompletableFuture<Reply>();
        var followed = new AtomicInteger();
        try (var stub = new StubServer(request -> {
                    if (request.isSign()) {
                        return usual(request);
                    }
                    if (!verb(request).equals(slow) || request.uri().contains("continue=")) {
                        followed.incrementAndGet();
                        return silence.join();
                    }
                    Eventually.throughout("it is slow", Duration.ofSeconds(1), () -> true);
                    return switch (slow) {
                        case "list" ->
                            Reply.of(
                                    200,
                                    Reply.list().body().replace("\"metadata\":{", "\"metadata\":{\"continue\":\"1\","));
                        case "get" -> Reply.of(200, lease(KEY, 8));
                        default -> Reply.failure(409, "AlreadyExists", "already exists", "{\"name\":\"x\"}");
                    };
                });
                var store = open(stub)) {
            Eventually.eventually("one follows before the time is over", PATIENCE, () -> {
                var before = store.session();
                var timeout = Duration.ofMillis(1_500);
                var asked = switch (slow) {
                    case "list" -> store.list(List.of("billing"), RecordKey.OF_STANDBY, timeout);
                    case "get" -> store.write(KEY, 8, new Draft("one", ""), Urgency.KEEP, timeout);
                    default -> store.put(STANDBY, "ann", PATIENCE, timeout);
                };
                assertThat(asked.toCompletableFuture()).failsWithin(PATIENCE);
                var hasFollowed = followed.get() > 0;
                if (hasFollowed) {
                    assertThat(store.session()).isEqualTo(before);
                }
                return hasFollowed;
            });
        } finally {
            silence.complete(Reply.absent("x"));
        }
    }

    private static String lease(RecordKey key, long version) {
        return StoredLease.first(key, new StoredLease.Next("missed", "", 1, true, false), Instant.EPOCH)
                .replace("\"metadata\":{", "\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"" + version + "\",");
    }

    @Test
    void aWatchThatIsClosedWhileItListsEnds() {
        var listed = new CompletableFuture<Reply>();
        try (var stub = new StubServer(request -> request.uri().contains("watch=true")
                ? Reply.silence()
                : isList(request) ? listed.join() : usual(request))) {
            var others = watching();
            try (var store = open(stub);
                    var watch = store.watch(KEY, found -> {})) {
                assertThat(watch).isNotNull();
                Eventually.eventually(
                        "it lists", PATIENCE, () -> stub.requests().stream().anyMatch(RightsTest::isList));
            } finally {
                var ours = watching();
                ours.removeAll(others);
                listed.complete(Reply.list());
                Eventually.eventually(
                        "its thread ends", PATIENCE, () -> ours.stream().noneMatch(Thread::isAlive));
            }
        }
    }

    private static Set<Thread> watching() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("bellwether-kubernetes-watch"))
                .collect(Collectors.toSet());
    }

    private static boolean isList(Request request) {
        return request.uri().contains("labelSelector") && !request.uri().contains("watch=true");
    }

    @Test
    void whatIsRefusedToAMoreUrgentRequestIsNotAskedByOneThatIsLess() {
        try (var stub = new StubServer(request -> request.method().equals("POST")
                        ? new Reply(429, Map.of("Retry-After", "20"), "{\"kind\":\"Status\",\"code\":429}")
                        : usual(request));
                var store = open(stub)) {
            assertThatThrownBy(() -> now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE)))
                    .hasMessageContaining("429");
            var asked = stub.requests().size();
            assertThatThrownBy(() -> now(store.read(KEY, Urgency.LOOK, Duration.ofSeconds(1))))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("nothing was sent");
            assertThat(stub.requests()).hasSize(asked);
        }
    }

    @Test
    void aNamespaceThatWasThereIsAwaitedAndNoMistake() {
        var deleted = new AtomicBoolean();
        try (var stub = new StubServer(
                        request -> deleted.get() && !verb(request).equals("list")
                                ? Reply.failure(
                                        404,
                                        "NotFound",
                                        "namespaces \\\"payments\\\" not found",
                                        "{\"name\":\"payments\",\"kind\":\"namespaces\"}")
                                : usual(request));
                var store = open(stub)) {
            var at = now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE))
                    .revision();
            deleted.set(true);
            assertThatThrownBy(() -> now(store.write(KEY, at, new Draft("two", ""), Urgency.KEEP, PATIENCE)))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContainingAll("namespaces \"payments\" not found", "Create the namespace again");
            deleted.set(false);
            assertThat(now(store.write(KEY, at, new Draft("two", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isTrue();
        }
    }

    @Test
    void aCertificateThatIsHalfWrittenIsNotUsedYet() throws Exception {
        var certificates = new Certificates(folder);
        var whole = certificate(certificates, "one");
        var file = Files.writeString(folder.resolve("ca.crt"), whole);
        var config = Files.writeString(folder.resolve("config"), """
                        current-context: here
                        contexts:
                        - {name: here, context: {cluster: one, user: me}}
                        clusters:
                        - {name: one, cluster: {server: "https://one.invalid", certificate-authority: ca.crt}}
                        users:
                        - {name: me, user: {token: hush-hush}}
                        """);
        var settings = KubernetesSettings.of(ConnectUri.parse("k8s:payments?kubeconfig=" + config));
        var access = ClusterAccess.of(settings, Surroundings.real());
        var first = access.client();
        var half = whole.substring(0, whole.length() / 2).strip();
        Files.writeString(file, half);
        assertThat(access.authority().isReplaced(whole.strip())).isTrue(); // it is read again
        assertThat(access.client()).isSameAs(first);
        Files.writeString(file, "");
        assertThat(access.authority().isReplaced(half))
                .as("an empty file would stand for the authorities of the JDK")
                .isFalse();
        assertThat(access.client()).isSameAs(first);
        var other = certificate(certificates, "two");
        Files.writeString(file, other);
        assertThat(access.authority().isReplaced(whole.strip())).isTrue();
        assertThat(access.client()).isNotSameAs(first);
    }

    /** They are two files, so that one of them may be read before it is renewed. */
    @Test
    void aCertificateIsNotUsedWithTheKeyOfAnotherOne() throws Exception {
        var certificates = new Certificates(folder);
        var one = certificate(certificates, "one");
        var two = certificate(certificates, "two");
        var access = withCertificate(
                Files.writeString(folder.resolve("own.crt"), one),
                Files.copy(certificates.secret("one"), folder.resolve("own.key")));
        var first = access.client();
        Files.writeString(folder.resolve("own.crt"), two);
        assertThat(access.certificate().isReplaced(one.strip())).isTrue();
        assertThat(access.client()).isSameAs(first);
        Files.copy(certificates.secret("two"), folder.resolve("own.key"), StandardCopyOption.REPLACE_EXISTING);
        Eventually.eventually("both are read again soon", PATIENCE, () -> access.client() != first);
    }

    @Test
    void aPairThatIsBeingRenewedAtTheStartIsReadAgain() throws Exception {
        var certificates = new Certificates(folder);
        var one = certificate(certificates, "one");
        assertThat(certificates.key("two")).exists();
        var key = Files.copy(certificates.secret("two"), folder.resolve("own.key"));
        var access = withCertificate(Files.writeString(folder.resolve("own.crt"), one), key);
        assertThatThrownBy(() -> access.awaitCertificates(() -> {}))
                .isInstanceOf(ElectionException.class)
                .hasMessageContainingAll("context \"here\"", "the private key is not that of the certificate");
        access.awaitCertificates(() -> {
            try {
                Files.copy(certificates.secret("one"), key, StandardCopyOption.REPLACE_EXISTING);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"rsa:2048", "ec -pkeyopt ec_paramgen_curve:secp384r1", "ed25519"})
    void aPairOfEachKindIsUsed(String kind) throws Exception {
        var key = folder.resolve("own.key");
        var certificate = folder.resolve("own.crt");
        var command =
                "openssl req -x509 -nodes -subj /CN=me -newkey " + kind + " -keyout " + key + " -out " + certificate;
        assertThat(new ProcessBuilder(command.split(" ")).start().waitFor()).isZero();
        assertThat(withCertificate(certificate, key).client()).isNotNull();
    }

    private ClusterAccess withCertificate(Path certificate, Path key) throws IOException {
        var config = Files.writeString(folder.resolve("with-certificate"), """
                        current-context: here
                        contexts:
                        - {name: here, context: {cluster: one, user: me}}
                        clusters:
                        - {name: one, cluster: {server: "https://one.invalid"}}
                        users:
                        - {name: me, user: {client-certificate: %s, client-key: %s}}
                        """.formatted(certificate, key));
        return ClusterAccess.of(
                KubernetesSettings.of(ConnectUri.parse("k8s:payments?kubeconfig=" + config)), Surroundings.real());
    }

    @Test
    void certificatesThatAreRenewedAgainAndAgainLeaveNoClientsBehind() throws Exception {
        var pem = certificate(new Certificates(folder), "one");
        var clients = new CertifiedClient("here", "https://renewed.invalid");
        var former = new ArrayList<WeakReference<ReplaceableClient>>();
        for (var i = 0; i < 9; i++) {
            former.add(new WeakReference<>(clients.of("renewal " + i + "\n" + pem, "", "")));
        }
        var last = clients.of("renewal 9\n" + pem, "", "");
        Eventually.eventually("nobody keeps the former ones, with their threads", PATIENCE, () -> {
            System.gc();
            return former.stream().allMatch(one -> one.get() == null);
        });
        assertThat(clients.of("renewal 9\n" + pem, "", "")).isSameAs(last);
        assertThat(new CertifiedClient("there", "https://renewed.invalid").of("renewal 9\n" + pem, "", ""))
                .as("of the same certificates")
                .isSameAs(last);
    }

    /** As one of which a piece is missing. */
    @Test
    void aKeyThatIsDamagedIsNamedAndTheFormerCertificatesAreUsedMeanwhile() throws Exception {
        var pem = certificate(new Certificates(folder), "damaged");
        var key = "-----BEGIN PRIVATE KEY-----\nAAAAA\n-----END PRIVATE KEY-----";
        var clients = new CertifiedClient("here", "https://damaged.invalid");
        assertThatThrownBy(() -> clients.of(pem, pem, key))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("the private key in it is damaged");
        var former = clients.of(pem, "", "");
        assertThat(clients.of(pem, pem, key)).isSameAs(former);
    }

    private static String certificate(Certificates certificates, String name) throws IOException {
        assertThat(certificates.key(name)).exists();
        return Files.readString(certificates.certificate(name));
    }

    @Test
    void anUpdateNamesTheObjectAndNotOnlyItsVersion() {
        try (var stub = new StubServer(RightsTest::usual);
                var store = open(stub)) {
            now(store.read(KEY, Urgency.LOOK, PATIENCE));
            var at = now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE))
                    .revision();
            now(store.write(KEY, at, new Draft("two", ""), Urgency.KEEP, PATIENCE));
            var update = stub.requests().stream()
                    .filter(request -> request.method().equals("PUT"))
                    .findFirst()
                    .orElseThrow();
            var metadata = Json.parse(update.body()).at("metadata");
            assertThat(metadata.text("uid")).isEqualTo("u-1");
            assertThat(metadata.number("resourceVersion")).isEqualTo(8);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "404 | NotFound | namespaces \\\"payments\\\" not found | {\"name\":\"payments\",\"kind\":\"namespaces\"} | Create the namespace",
                "422 | Invalid | metadata.annotations: Too long: may not be more than 262144 bytes | {} | less metadata",
                "403 | Forbidden | exceeded quota: leases | {} | Raise the quota",
                "500 | InternalError | etcdserver: leader changed | {} | leader changed",
            })
    void whatAClusterRefusesIsTold(int status, String reason, String message, String details, String says) {
        try (var stub = new StubServer(request -> request.method().equals("POST")
                        ? Reply.failure(status, reason, message, details)
                        : usual(request));
                var store = open(stub)) {
            assertThatThrownBy(() -> now(store.write(KEY, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE)))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(says)
                    .satisfies(error -> assertThat(error instanceof UnavailableException)
                            .as("it may pass, and a standby that is not listed may lead")
                            .isEqualTo(status >= 500 || message.contains("quota")));
        }
    }

    @Test
    void aVersionThatIsNoNumberIsRefusedAtTheBeginning() {
        try (var stub =
                new StubServer(request -> Reply.of(200, Reply.list().body().replace("\"7\"", "\"7-abc\"")))) {
            assertThatThrownBy(() -> open(stub))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("\"7-abc\"");
        }
    }

    @Test
    void aServerThatIsStartingIsAwayAndNoWrongAddress() {
        var ready = new AtomicInteger(500);
        try (var stub = new StubServer(request -> request.uri().equals("/readyz")
                ? Reply.of(ready.get(), "[-]poststarthook/crd-informer-synced failed")
                : Reply.of(404, "404 page not found"))) {
            assertThatThrownBy(() -> open(stub)).isInstanceOf(UnavailableException.class);
            ready.set(200);
            assertThatThrownBy(() -> open(stub))
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("Check the address");
        }
    }

    @ParameterizedTest
    @CsvSource({"200", "410"})
    void aVersionThatIsTooOldHasAllListedAgain(int status) throws Exception {
        var watched = new AtomicInteger();
        var gone = Reply.failure(410, "Expired", "too old resource version: 7 (9)", "{}")
                .body();
        var lease = lease(KEY, 9);
        Function<Request, Reply> answers = request -> {
            if (request.uri().contains("watch=true")) {
                return watched.getAndIncrement() > 0
                        ? Reply.of(200, "")
                        : status == 410
                                ? Reply.of(410, gone + "\n")
                                : Reply.of(200, "{\"type\":\"ERROR\",\"object\":" + gone + "}\n");
            }
            return request.uri().contains("labelSelector") && watched.get() > 0
                    ? Reply.of(
                            200,
                            "{\"kind\":\"LeaseList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" + lease
                                    + "]}")
                    : usual(request);
        };
        try (var stub = new StubServer(answers);
                var store = open(stub)) {
            var heard = new CopyOnWriteArrayList<String>();
            try (var watch = store.watch(KEY, found -> heard.add(found.text()))) {
                assertThat(watch).isNotNull();
                Eventually.eventually("what was missed is heard", PATIENCE, () -> heard.contains("missed"));
            }
            assertThat(stub.requests().stream()
                            .filter(request -> request.uri().contains("watch=true"))
                            .findFirst()
                            .orElseThrow()
                            .uri())
                    .contains("resourceVersion=7", "allowWatchBookmarks=true", "timeoutSeconds=");
        }
    }

    @Test
    void aWatchThatIsTooMuchForTheServerGoesOnWhereItWasAndNotSooner() throws Exception {
        goesOnAfterTwoSeconds(
                Reply.failure(429, "TooManyRequests", "try again later", "{\"retryAfterSeconds\":2}"),
                Reply.of(200, ""));
    }

    /** A proxy before the server speaks for itself: in plain text, in an object of its own, or not at all. */
    @ParameterizedTest
    @ValueSource(strings = {"Too many requests", "{\"message\":\"API rate limit exceeded\"}", ""})
    void aWatchThatAProxyRefusesGoesOnWhereItWasAndNotSoonerThanThatSays(String body) throws Exception {
        goesOnAfterTwoSeconds(new Reply(429, Map.of("Retry-After", "2"), body), Reply.silence());
    }

    /** To list all, twice a second, is what a server that refuses a watch so needs least. */
    private void goesOnAfterTwoSeconds(Reply refusal, Reply later) throws Exception {
        var watched = new CopyOnWriteArrayList<Long>();
        Function<Request, Reply> answers = request -> {
            if (!request.uri().contains("watch=true")) {
                return usual(request);
            }
            watched.add(System.nanoTime());
            return watched.size() == 1 ? refusal : later;
        };
        try (var stub = new StubServer(answers);
                var store = open(stub);
                var watch = store.watch(KEY, found -> {})) {
            assertThat(watch).isNotNull();
            Eventually.eventually("it asks again", PATIENCE, () -> watched.size() > 1);
            assertThat(watched.get(1) - watched.get(0)).isGreaterThan(TimeUnit.SECONDS.toNanos(2) - 1);
            assertThat(stub.requests().stream()
                            .map(Request::uri)
                            .dropWhile(uri -> !uri.contains("watch=true"))
                            .limit(2))
                    .allMatch(uri -> uri.contains("watch=true"));
        }
    }

    @Test
    void theDoctorSaysWhatToDoWhereTheVersionMayNotBeRead() {
        try (var stub = new StubServer(request -> request.uri().equals("/version")
                        ? Reply.failure(403, "Forbidden", "cannot get path \\\"/version\\\"", "{}")
                        : usual(request));
                var backend = ConnectUri.parse(stub.uri("payments", token)).connect()) {
            assertThat(backend.findings(CandidacyConfig.ofLease(PATIENCE)))
                    .anyMatch(finding -> finding.level() == Finding.Level.WARNING
                            && finding.about().equals("version")
                            && finding.remedy().contains("/version"));
        }
    }

    @Test
    void theDoctorNamesTheRightsThatAreMissing() {
        try (var stub = new StubServer(request -> {
                    if (request.uri().contains("selfsubjectaccessreviews")) {
                        var allowed = !request.body().contains("\"verb\":\"watch\"")
                                && !request.body().contains("\"verb\":\"delete\"");
                        return Reply.of(
                                201, "{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"allowed\":" + allowed + "}}");
                    }
                    return request.uri().equals("/version")
                            ? Reply.of(200, "{\"major\":\"1\",\"minor\":\"33+\",\"gitVersion\":\"v1.33.1-eks\"}")
                            : usual(request);
                });
                var backend = ConnectUri.parse(stub.uri("payments", token)).connect()) {
            var findings = backend.findings(CandidacyConfig.ofLease(PATIENCE));
            assertThat(findings)
                    .anyMatch(finding -> finding.level() == Finding.Level.ERROR
                            && finding.says().contains("may not watch, delete leases in namespace payments"))
                    .anyMatch(finding -> finding.says().contains("v1.33.1-eks")
                            && finding.says().contains("promises it since 1.35"));
        }
    }

    // ---------------------------------------------------------------- the stub

    private static String verb(Request request) {
        return switch (request.method()) {
            case "POST" -> "create";
            case "PUT" -> "update";
            case "DELETE" -> "delete";
            default -> request.uri().contains("?") ? "list" : "get";
        };
    }

    private static Reply forbidden(String verb) {
        return Reply.failure(
                403,
                "Forbidden",
                "leases.coordination.k8s.io \\\"billing\\\" is forbidden: User"
                        + " \\\"system:serviceaccount:payments:app\\\" cannot " + verb
                        + " resource \\\"leases\\\" in API"
                        + " group \\\"coordination.k8s.io\\\" in the namespace \\\"payments\\\"",
                "{\"name\":\"billing\",\"group\":\"coordination.k8s.io\",\"kind\":\"leases\"}");
    }

    /** There is nothing; what is made is at version 8, and what is changed at 9. */
    private static Reply usual(Request request) {
        return switch (verb(request)) {
            case "list" -> Reply.list();
            case "get" -> Reply.absent("billing");
            case "create" ->
                Reply.of(
                        201,
                        request.body()
                                .replaceFirst(
                                        "\"metadata\":\\{",
                                        "\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"8\","));
            case "update" ->
                Reply.of(200, request.body().replaceFirst("\"resourceVersion\":\"8\"", "\"resourceVersion\":\"9\""));
            default -> Reply.of(200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
        };
    }

    private KubernetesRecordStore open(StubServer stub) {
        return open(stub, "");
    }

    private KubernetesRecordStore open(StubServer stub, String more) {
        var settings = KubernetesSettings.of(ConnectUri.parse(stub.uri("payments", token) + more));
        var access = ClusterAccess.of(settings, Surroundings.real());
        return KubernetesRecordStore.open(settings, access, access::client);
    }

    private static <T> T now(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException plain ? plain : e;
        }
    }
}
