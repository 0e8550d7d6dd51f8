package dev.bellwether.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.fixtures.RecordFacts;
import dev.bellwether.http.Json;
import dev.bellwether.kubernetes.ClusterAccess.Surroundings;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the store does with records, one by one. */
@Tag("kubernetes")
@Timeout(180)
class RecordsTest extends RecordFacts {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofMillis(3_500));

    @SuppressWarnings("NullAway.Init")
    private static KubernetesServers servers;

    private final String name = key.election();

    @BeforeAll
    static void startServer() {
        servers = KubernetesServers.start(1, 1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @Override
    protected RecordStore opened(String name) {
        return open(name);
    }

    @Override
    protected String within(String name) {
        return "other-" + name;
    }

    @Override
    protected List<String> moreNames() {
        return List.of("bellwether--seat-a", "a..b", "x".repeat(253), "x".repeat(254));
    }

    @Override
    protected void putOthers(String name) {
        servers.send(
                0,
                "POST",
                KubernetesServers.leases(name),
                "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"other\","
                        + "\"labels\":{\"bellwether.dev/kind\":\"seat\"}},\"spec\":{}}");
    }

    @Override
    protected boolean tellsWhatIsThere() {
        return false;
    }

    @Override
    protected boolean tellsHowFarItIs() {
        return true;
    }

    @Test
    void ofManyWhoReplaceOneVersionOneDoes() {
        try (var store = open("race");
                var others = open("race")) {
            var at = now(store.write(key, 0, new Draft("0", ""), Urgency.KEEP, PATIENCE))
                    .revision();
            for (var round = 0; round < 20; round++) {
                var known = at;
                assertThat(now(others.read(key, Urgency.LOOK, PATIENCE)).revision())
                        .isEqualTo(known);
                var text = Integer.toString(round);
                var all = IntStream.range(0, 8)
                        .mapToObj(i -> (i % 2 == 0 ? store : others)
                                .write(key, known, new Draft(text + "-" + i, ""), Urgency.KEEP, PATIENCE))
                        .toList();
                var won = all.stream()
                        .map(RecordsTest::now)
                        .filter(written -> written.done())
                        .toList();
                assertThat(won).as("those who replaced " + known).hasSize(1);
                at = won.get(0).revision();
                assertThat(at).isGreaterThan(known);
            }
        }
    }

    @Test
    void versionsRiseWhenTheLeaseIsDeletedAndMadeAgain() {
        try (var store = open("deleted")) {
            var first = now(store.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE));
            servers.send(0, "DELETE", KubernetesServers.leases("deleted") + "/" + name, "{}");
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE))).isEqualTo(Found.NOTHING);
            assertThat(now(store.write(key, first.revision(), new Draft("late", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .as("a write that comes late brings nothing back")
                    .isFalse();
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE))).isEqualTo(Found.NOTHING);
            var again = now(store.write(key, 0, new Draft("two", ""), Urgency.KEEP, PATIENCE));
            assertThat(again.revision()).isGreaterThan(first.revision());
            assertThat(now(store.write(key, first.revision(), new Draft("late", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isFalse();
        }
    }

    @Test
    void theLeaseOfASeatIsNeverDeleted() {
        try (var store = open("kept")) {
            assertThatThrownBy(() -> store.remove(key, PATIENCE)).hasMessageContaining("never deleted");
        }
    }

    @Test
    void theFieldsOfALeaseSayWhoLeadsToThoseWhoKnowNothingOfUs() throws Exception {
        var before = Instant.now().minusSeconds(2);
        try (var one = Elections.connect(servers.uri("fields", "&sharing=0"));
                var leader = one.stand(name, CONFIG);
                var two = Elections.connect(servers.uri("fields", "&sharing=0"))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var held = lease("fields");
            assertThat(held.text("holderIdentity")).startsWith(leader.candidate() + "_");
            assertThat(held.number("leaseDurationSeconds")).isEqualTo(4);
            assertThat(held.number("leaseTransitions")).isZero();
            assertThat(Instant.parse(held.text("acquireTime")))
                    .isBetween(before, Instant.now().plusSeconds(2));
            Eventually.eventually(
                    "it is renewed",
                    PATIENCE,
                    () -> Instant.parse(lease("fields").text("renewTime"))
                            .isAfter(Instant.parse(held.text("renewTime"))));
            assertThat(lease("fields").text("acquireTime")).isEqualTo(held.text("acquireTime"));
            assertThat(StoredLease.of(whole("fields")).labels())
                    .containsEntry("app.kubernetes.io/managed-by", "bellwether");

            var standby = two.stand(name, CONFIG);
            leader.resign();
            var next = standby.await(PATIENCE).orElseThrow();
            assertThat(next.token()).isGreaterThan(mandate.token());
            var after = lease("fields");
            assertThat(after.text("holderIdentity")).startsWith(standby.candidate() + "_");
            assertThat(after.number("leaseTransitions")).isEqualTo(1);
            standby.resign();
            standby.awaitClose();
            var vacant = lease("fields");
            assertThat(vacant.value().toString()).doesNotContain("holderIdentity");
            assertThat(vacant.number("leaseDurationSeconds")).isEqualTo(1);
            assertThat(vacant.number("leaseTransitions")).isEqualTo(1);
        }
    }

    @Test
    void aSeatThatASessionKeepsDoesNotLookAsIfItsLeaseWereOver() throws Exception {
        try (var one = Elections.connect(servers.uri("sessions", "&sharing=1"));
                var leader = one.stand(name, CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            Eventually.eventually(
                    "it names the session",
                    PATIENCE,
                    () -> lease("sessions").number("leaseDurationSeconds") == Integer.MAX_VALUE);
        }
    }

    private Json lease(String namespace) {
        return whole(namespace).at("spec");
    }

    private Json whole(String namespace) {
        return Json.parse(servers.get(0, KubernetesServers.leases(namespace) + "/" + name));
    }

    @Test
    void theLeaseOfAnotherElectorIsRefusedAndLeftAsItIs() {
        var foreign = "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"" + name
                + "\"},\"spec\":{\"holderIdentity\":\"pod-1_abc\",\"leaseDurationSeconds\":15,\"acquireTime\":"
                + "\"2026-11-23T09:00:00.000000Z\",\"renewTime\":\"2026-11-23T09:00:00.000000Z\"}}";
        servers.send(0, "POST", KubernetesServers.leases("foreign"), foreign);
        var before = whole("foreign");
        refuses("foreign", "held by \"pod-1_abc\"", "was made by others than Bellwether");
        assertThat(whole("foreign")).isEqualTo(before);
        servers.send(0, "DELETE", KubernetesServers.leases("foreign") + "/" + name, "{}");
        servers.send(
                0,
                "POST",
                KubernetesServers.leases("foreign"),
                foreign.replace("\"holderIdentity\"", "\"strategy\":\"OldestEmulationVersion\",\"holderIdentity\""));
        refuses("foreign", "has a strategy", "the API server itself elects");
    }

    @Test
    void aLeaseOfOursThatAnotherElectorTookIsRefusedAlthoughItsAnnotationsAreThere() throws Exception {
        try (var one = Elections.connect(servers.uri("taken", "&sharing=0"));
                var leader = one.stand(name, CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            var lease = KubernetesServers.leases("taken") + "/" + name;
            Eventually.eventually("it is taken", PATIENCE, () -> {
                var taken = servers.get(0, lease)
                        .replaceFirst("\"holderIdentity\":\"[^\"]*\"", "\"holderIdentity\":\"pod-1_abc\"")
                        .replace("\"leaseTransitions\":0", "\"leaseTransitions\":1");
                return servers.send(0, "PUT", lease, taken).contains("pod-1_abc");
            });
            assertThatThrownBy(leader::awaitClose).hasMessageContaining("was written over by others than Bellwether");
            assertThat(leader.mandate()).isEmpty();
        }
        refuses("taken", "held by \"pod-1_abc\"", "was written over by others");
    }

    private void refuses(String namespace, String... says) {
        assertThatThrownBy(() -> {
                    try (var elections = Elections.connect(servers.uri(namespace, ""));
                            var refused = elections.stand(name, CONFIG)) {
                        refused.awaitClose();
                    }
                })
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContainingAll(says);
        try (var elections = Elections.connect(servers.uri(namespace, ""))) {
            assertThatThrownBy(() -> elections.election(name).leader()).hasMessageContainingAll(says);
            assertThat(elections.list()).isNotNull();
        }
    }

    @Test
    void whatOthersAddedToALeaseStays() {
        try (var store = open("added")) {
            var first = now(store.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE));
            assertThat(first.done()).isTrue();
            var path = KubernetesServers.leases("added") + "/" + name;
            var labelled = servers.get(0, path)
                    .replace("\"labels\":{", "\"labels\":{\"team\":\"billing\",")
                    .replace("\"annotations\":{", "\"annotations\":{\"note\":\"a \\\"b\\\"\",");
            servers.send(0, "PUT", path, labelled);
            var read = now(store.read(key, Urgency.LOOK, PATIENCE));
            assertThat(now(store.write(key, read.revision(), new Draft("two", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isTrue();
            var metadata = whole("added").at("metadata");
            assertThat(metadata.at("labels").text("team")).isEqualTo("billing");
            assertThat(metadata.at("annotations").text("note")).isEqualTo("a \"b\"");
            assertThat(metadata.list("managedFields"))
                    .as("who set what, which nobody needs")
                    .isEmpty();
        }
    }

    @Test
    void aStandbyThatHasLongBeenGoneIsRemovedByOneThatListsIt() {
        try (var store = open("gone")) {
            var lease = KubernetesServers.leases("gone") + "/" + StoredLease.name(RecordKey.standby("old", 0, "cy"));
            now(store.put(RecordKey.standby("old", 0, "cy"), "cy", PATIENCE, PATIENCE));
            servers.send(
                    0,
                    "PUT",
                    lease,
                    servers.get(0, lease)
                            .replaceFirst("\"renewTime\":\"[^\"]*\"", "\"renewTime\":\"2020-01-01T00:00:00.000000Z\""));
            assertThat(now(store.list(List.of("old"), RecordKey.OF_STANDBY, PATIENCE))
                            .keys())
                    .isEmpty();
            Eventually.eventually(
                    "it is removed", PATIENCE, () -> servers.get(0, lease).contains("NotFound"));
        }
    }

    @Test
    @Timeout(360) // of so many writes, all asked for at once, the last waits for long on a busy machine
    void moreThanAPageIsListed() {
        try (var store = open("pages")) {
            var left = IntStream.range(0, 1_100)
                    .mapToObj(i -> RecordKey.seat("e" + i))
                    .toList();
            while (!left.isEmpty()) { // a busy machine may take no connection for a while
                var asked = new LinkedHashMap<RecordKey, CompletionStage<?>>();
                left.forEach(one ->
                        asked.put(one, store.write(one, 0, new Draft("x", ""), Urgency.KEEP, Duration.ofMinutes(5))));
                left = asked.entrySet().stream()
                        .filter(one -> isUnanswered(one.getValue()))
                        .map(Map.Entry::getKey)
                        .toList();
            }
            assertThat(now(store.list(List.of(), RecordKey.OF_SEAT, PATIENCE)).keys())
                    .hasSize(1_100);
        }
    }

    private static boolean isUnanswered(CompletionStage<?> write) {
        try {
            now(write);
            return false;
        } catch (UnavailableException e) {
            return true;
        }
    }

    @Test
    void whatChangesIsHeardAndWhatWasMissedToo() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var watching = open("k8s:heard?kubeconfig=" + servers.kubeconfig(link.port()));
                var store = open("heard")) {
            var heard = new CopyOnWriteArrayList<String>();
            var third = hearsWhatItMissed(watching, link, store, heard);
            servers.member(0).crashAndRestart(); // after that, the versions it knew are too old for it: 410
            servers.awaitLeases(0);
            now(store.write(key, third.revision(), new Draft("3", ""), Urgency.KEEP, PATIENCE));
            Eventually.eventually("and when the server was started again", PATIENCE, () -> heard.contains("3"));
            assertThat(heard).doesNotHaveDuplicates();
        }
    }

    @Test
    void aWriteWithoutAnAnswerIsUnknown() {
        try (var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var store = open("k8s:once?kubeconfig=" + servers.kubeconfig(link.port()));
                var other = open("once")) {
            var session = store.session();
            link.cut();
            assertThatThrownBy(
                            () -> now(store.write(key, 0, new Draft("late", ""), Urgency.KEEP, Duration.ofMillis(300))))
                    .isInstanceOf(UnavailableException.class);
            assertThat(now(other.read(key, Urgency.LOOK, PATIENCE))).isEqualTo(Found.NOTHING);
            assertThat(store.session()).isNotEqualTo(session);
            link.heal();
        }
    }

    @Test
    void aVersionThatIsNoNumberBelowTwoToThe63IsNoToken() {
        assertThat(StoredLease.revision("9223372036854775807")).isEqualTo(Long.MAX_VALUE);
        for (var version : List.of("9223372036854775808", "18446744073709551616", "", "abc", "-1", "1.5")) {
            assertThatThrownBy(() -> StoredLease.revision(version))
                    .as(version)
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("\"" + version + "\"", "2^63");
        }
    }

    @Test
    void plainNamesAreThoseOfLeases() {
        assertThat(List.of("a", "a.b", "x".repeat(253)))
                .allMatch(one -> StoredLease.name(RecordKey.seat(one)).equals(one));
    }

    private static KubernetesRecordStore open(String uriOrNamespace) {
        var uri = uriOrNamespace.startsWith("k8s:") ? uriOrNamespace : servers.uri(uriOrNamespace, "");
        var settings = KubernetesSettings.of(ConnectUri.parse(uri));
        var access = ClusterAccess.of(settings, Surroundings.real());
        return KubernetesRecordStore.open(settings, access, access::client);
    }
}
