package dev.bellwether.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.Fabric8Elector;
import dev.bellwether.fixtures.ForeignElector;
import dev.bellwether.fixtures.ForeignElector.Setting;
import dev.bellwether.fixtures.ForeignElector.Timings;
import dev.bellwether.fixtures.JavaElector;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.http.Json;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** On one Lease with candidates of other programs: each takes over from the other, and never do two lead at once. */
@Tag("kubernetes")
@Timeout(300)
@Tag("full") // four minutes of waiting for leases of others
class BesideTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Timings THEIRS =
            new Timings(Duration.ofSeconds(6), Duration.ofSeconds(4), Duration.ofSeconds(1));
    private static final CandidacyConfig OURS = CandidacyConfig.ofLease(Duration.ofSeconds(5));
    private static final String CONFIGURED = "&theirLease=6s&theirRenewDeadline=4s&theirRetryPeriod=1s";
    /** Three renew deadlines and a retry period, less their lease; and a tenth. */
    private static final Duration GRACE = Duration.ofMillis(7_700);

    @SuppressWarnings("NullAway.Init")
    private static KubernetesServers servers;

    private final String name = "beside-" + UUID.randomUUID();
    private final Overlap overlap = new Overlap();
    private final List<AutoCloseable> opened = new ArrayList<>();
    private final FaultProxy ourLink =
            opened(FaultProxy.to("127.0.0.1", servers.member(0).port()));
    private final FaultProxy theirLink =
            opened(FaultProxy.to("127.0.0.1", servers.member(0).port()));

    @BeforeAll
    static void startServer() {
        servers = KubernetesServers.start(1, 1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @AfterEach
    void close() throws Exception {
        ourLink.heal();
        theirLink.heal();
        overlap.close();
        for (var i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    /** Whose program. */
    enum Kind {
        CLIENT_GO("client-go") {
            @Override
            ForeignElector stand(Setting setting) {
                return new ClientGoElector(servers.kubeconfig(setting.port()), setting);
            }
        },
        FABRIC8("fabric8") {
            @Override
            ForeignElector stand(Setting setting) {
                return new Fabric8Elector(servers.kubeconfig(setting.port()), setting);
            }
        },
        JAVA("java") {
            @Override
            ForeignElector stand(Setting setting) {
                return new JavaElector(servers.kubeconfig(setting.port()), setting);
            }
        };

        private final String beside;

        Kind(String beside) {
            this.beside = beside;
        }

        abstract ForeignElector stand(Setting setting);
    }

    @ParameterizedTest
    @EnumSource
    void eachTakesOverFromTheOtherAndNeverDoBothLead(Kind kind) throws Exception {
        var theirs = theirs(kind, "theirs-1");
        eventually("theirs leads", theirs::leads);
        var ours = ours(kind);
        Eventually.throughout("ours waits while theirs leads", Duration.ofSeconds(8), () -> !ours.isLeader());

        theirLink.cut();
        eventually("ours leads after theirs was cut off", ours::isLeader);
        theirLink.heal();
        Eventually.throughout("ours keeps it", Duration.ofSeconds(8), ours::isLeader);

        ourLink.cut();
        eventually("theirs leads after ours was cut off", theirs::leads);
        Eventually.throughout("theirs keeps it", Duration.ofSeconds(2), theirs::leads);
        ourLink.heal();

        var begun = System.nanoTime();
        theirs.close();
        eventually("ours leads after theirs released", ours::isLeader);
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(GRACE);

        var second = theirs(kind, "theirs-2");
        ours.close();
        eventually("theirs leads after ours released", second::leads);
        assertNeverTogether();
    }

    @Test
    void aCutThatDelaysAnswersMakesNoTwoLeaders() {
        var theirs = theirs(Kind.CLIENT_GO, "theirs-1");
        eventually("theirs leads", theirs::leads);
        var ours = ours(Kind.CLIENT_GO);
        theirLink.delay(Duration.ofMillis(1_600)); // each answer comes 3.2 s late
        Eventually.throughout("theirs renews all the same", Duration.ofSeconds(10), () -> !ours.isLeader());
        theirLink.cut(Link.Way.ANSWERS);
        eventually("ours leads", ours::isLeader);
        Eventually.throughout("ours keeps it", Duration.ofSeconds(5), ours::isLeader);
        assertNeverTogether();
    }

    @Test
    void whoTakesOverFromOneOfOursThatWaitedWaitsToo() throws Exception {
        var theirs = theirs(Kind.CLIENT_GO, "theirs-1");
        eventually("theirs leads", theirs::leads);
        var first = ours(Kind.CLIENT_GO);
        theirLink.cut();
        eventually("ours has claimed", () -> holder().startsWith(first.candidate()));
        assertThat(first.isLeader()).isFalse();
        ourLink.cut(); // with its claim to be confirmed
        var elections = opened(Elections.connect(uri(servers.member(0).port(), "client-go")));
        var second = elections.stand(name, OURS);
        overlap.audit(second::isLeader);
        eventually("the second leads", second::isLeader);
        Eventually.throughout("the second keeps it", Duration.ofSeconds(5), second::isLeader);
        assertNeverTogether();
    }

    @Test
    void whoNeverSawALeaderLeadsAtOnce() {
        var begun = System.nanoTime();
        var ours = ours(Kind.CLIENT_GO);
        eventually("ours leads", ours::isLeader);
        assertThat(Duration.ofNanos(System.nanoTime() - begun))
                .as("whoever waits does so for longer")
                .isLessThan(THEIRS.lease().plus(GRACE));
    }

    @Test
    void afterALeaseWasDeletedOursWaitsUntilNobodyCanLeadStill() {
        var ours = ours(Kind.CLIENT_GO);
        eventually("ours leads", ours::isLeader);
        var begun = System.nanoTime();
        servers.send(0, "DELETE", KubernetesServers.leases("beside") + "/" + name, "{}");
        eventually("ours notices", () -> !ours.isLeader());
        eventually("ours leads", ours::isLeader);
        assertThat(Duration.ofNanos(System.nanoTime() - begun))
                .isGreaterThan(THEIRS.lease().plus(GRACE));
    }

    @Test
    void whatOursWritesIsWhatOthersWantToRead() throws Exception {
        var ours = ours(Kind.CLIENT_GO);
        eventually("ours leads", ours::isLeader);
        var held = spec();
        assertThat(held.text("holderIdentity")).startsWith(ours.candidate() + "_");
        assertThat(held.number("leaseDurationSeconds")).isEqualTo(5);
        var renewed = held.text("renewTime");
        eventually("it is renewed", () -> !spec().text("renewTime").equals(renewed));
        assertThat(Instant.parse(spec().text("renewTime")))
                .as("they compare it by the second")
                .isAfterOrEqualTo(Instant.parse(renewed).plusSeconds(1));
        ours.close();
        var released = spec();
        assertThat(released.text("holderIdentity")).isEmpty();
        assertThat(released.number("leaseDurationSeconds")).isEqualTo(1);
        assertThat(released.text("acquireTime")).isNotEmpty();
        assertThat(released.text("renewTime")).isNotEmpty();
        assertThat(released.value().toString()).contains("leaseTransitions");
    }

    @Test
    void oneThatCannotBeStoodBesideIsRefused() {
        refuses("\"holderIdentity\":\"nais\"", "no leaseDurationSeconds");
        refuses("\"holderIdentity\":\"short\",\"leaseDurationSeconds\":4", "was held by \"short\" with a lease of 4 s");
        refuses(
                "\"holderIdentity\":\"k\",\"leaseDurationSeconds\":6,\"strategy\":\"OldestEmulationVersion\"",
                "has a strategy");
    }

    private void refuses(String spec, String error) {
        var lease = "strange-" + UUID.randomUUID();
        servers.send(
                0,
                "POST",
                KubernetesServers.leases("beside"),
                "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"" + lease
                        + "\"},\"spec\":{" + spec + "}}");
        try (var elections = Elections.connect(uri(servers.member(0).port(), "client-go"));
                var candidacy = elections.stand(lease, OURS)) {
            assertThatThrownBy(candidacy::awaitClose)
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(error);
        }
    }

    @Test
    void whoLeadsBesideOthersIsNotOrderedAway() {
        var theirs = theirs(Kind.CLIENT_GO, "theirs-1");
        eventually("theirs leads", theirs::leads);
        try (var elections = Elections.connect(uri(servers.member(0).port(), "client-go"))) {
            assertThatThrownBy(() -> elections.election(name).standDown())
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("\"theirs-1\"");
            assertThatThrownBy(() -> elections.election(name).end()).isInstanceOf(ElectionException.class);
        }
    }

    /** What no rule of ours can prevent: see the document. */
    @Test
    void theirsLeadTwiceByThemselvesWhenALeaseIsDeleted() {
        var first = theirs(Kind.CLIENT_GO, "theirs-1");
        eventually("theirs leads", first::leads);
        theirLink.cut();
        servers.send(0, "DELETE", KubernetesServers.leases("beside") + "/" + name, "{}");
        var second =
                opened(Kind.CLIENT_GO.stand(new Setting(servers.member(0).port(), "beside", name, "theirs-2", THEIRS)));
        overlap.audit(second::leads);
        eventually("the second leads", second::leads);
        eventually("the first gives up", () -> !first.leads());
        System.out.println(
                "client-go beside itself, Lease deleted: " + overlap.nanos() / 1_000_000 + " ms with two leaders");
        assertThat(overlap.nanos()).isPositive();
    }

    // ---------------------------------------------------------------- small things

    private ForeignElector theirs(Kind kind, String identity) {
        var elector = opened(kind.stand(new Setting(theirLink.port(), "beside", name, identity, THEIRS)));
        overlap.audit(elector::leads);
        return elector;
    }

    private Candidacy ours(Kind kind) {
        var candidacy =
                opened(Elections.connect(uri(ourLink.port(), kind.beside))).stand(name, OURS);
        overlap.audit(candidacy::isLeader);
        return candidacy;
    }

    private static String uri(int port, String beside) {
        return "k8s:beside?kubeconfig=" + servers.kubeconfig(port) + "&beside=" + beside + CONFIGURED;
    }

    private String holder() {
        return spec().text("holderIdentity");
    }

    private Json spec() {
        return Json.parse(servers.get(0, KubernetesServers.leases("beside") + "/" + name))
                .at("spec");
    }

    private static void eventually(String what, BooleanSupplier condition) {
        Eventually.eventually(what, PATIENCE, condition);
    }

    private void assertNeverTogether() {
        assertThat(overlap.nanos())
                .as(Never.mark("nanoseconds with two leaders"))
                .isZero();
    }

    private <T extends AutoCloseable> T opened(T one) {
        opened.add(one);
        return one;
    }
}
