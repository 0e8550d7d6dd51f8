package dev.bellwether.etcd;

import static dev.bellwether.fixtures.Leading.leads;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Members that speak TLS, with certificates that the test has made. */
@Timeout(180)
class TlsTest {
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(10));
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    static Path folder;

    @SuppressWarnings("NullAway.Init")
    private static Certificates certificates;

    /** One that shows a certificate, one that wants to see one as well, and one that speaks no TLS. */
    @SuppressWarnings("NullAway.Init")
    private static EtcdServers secure;

    @SuppressWarnings("NullAway.Init")
    private static EtcdServers mutual;

    @SuppressWarnings("NullAway.Init")
    private static EtcdServers plain;

    @BeforeAll
    static void startServers() {
        certificates = new Certificates(folder);
        List.of("server", "client", "stranger").forEach(certificates::key);
        var certificate = "--cert-file=" + certificates.certificate("server");
        var key = "--key-file=" + certificates.secret("server");
        secure = EtcdServers.start(1, certificate, key);
        mutual = EtcdServers.start(
                1,
                certificate,
                key,
                "--client-cert-auth",
                "--trusted-ca-file=" + certificates.certificate("client"),
                // the gateway is a client of its own server
                "--client-cert-file=" + certificates.certificate("client"),
                "--client-key-file=" + certificates.secret("client"));
        plain = EtcdServers.start(1);
    }

    @AfterAll
    static void stopServers() {
        secure.close();
        mutual.close();
        plain.close();
    }

    @Test
    void withTheRightTrustACandidateLeads() throws Exception {
        leads(secure.uri("/tls?" + certificates.trusting("server")));
        leads(secure.uri("/tls?tls=true&" + certificates.trusting("server")));
        leads(mutual.uri("/tls?" + certificates.trusting("server") + certificates.showing("client")));
    }

    @Test
    void aMemberThatIsNotTrustedIsRefusedAndTheMessageSaysSo() {
        for (var query : List.of(certificates.trusting("stranger"), "tls=true")) { // the JDK does not know it either
            assertThatThrownBy(() -> Elections.connect(secure.uri("/tls?" + query)))
                    .as(query)
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("do not agree on TLS")
                    .hasMessageNotContaining(Certificates.PASSWORD);
        }
    }

    @Test
    void aMemberThatIsWrongIsInNobodysWayWhileAnotherAnswersOrMayYet() throws Exception {
        var wrong = "127.0.0.1:" + plain.members().get(0).port();
        var right = "127.0.0.1:" + secure.members().get(0).port();
        leads("etcd://" + wrong + ',' + right + "/tls?" + certificates.trusting("server"));
        assertThatThrownBy(() ->
                        Elections.connect("etcd://" + wrong + ",127.0.0.1:1/tls?" + certificates.trusting("server")))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("do not agree on TLS")
                .hasMessageContaining("no other member answers");
    }

    @Test
    void aMemberThatWantsACertificateLetsNobodyInWithout() {
        for (var query : List.of(
                certificates.trusting("server"), certificates.trusting("server") + certificates.showing("stranger"))) {
            assertThatThrownBy(() -> Elections.connect(mutual.uri("/tls?" + query)))
                    .as(query)
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("TLS")
                    .hasMessageNotContaining(Certificates.PASSWORD);
        }
    }

    @Test
    void aMemberThatSpeaksTlsSaysSoToWhoDoesNotAndTheOtherWayRound() {
        assertThatThrownBy(() -> Elections.connect(secure.uri("/tls")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("tls=true");
        assertThatThrownBy(() -> Elections.connect(plain.uri("/tls?tls=true")))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("do not agree on TLS");
    }

    @Test
    void aStoreThatIsMissingOrDoesNotOpenIsNamed() throws Exception {
        var garbage = Files.writeString(folder.resolve("garbage"), "no keystore");
        for (var query : List.of(
                "truststore=" + folder.resolve("absent"),
                "truststore=" + garbage + "&truststorePassword=hush-hush",
                "truststore=" + certificates.trust("server") + "&truststorePassword=wrong-wrong")) {
            assertThatThrownBy(() -> Elections.connect(secure.uri("/tls?" + query)))
                    .as(query)
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("the file that truststore names")
                    .hasMessageNotContainingAny("hush-hush", "wrong-wrong");
        }
    }

    @Test
    void theThreadsOfAClientOfOursEndWhenItIsNotUsedAnyMore() {
        var before = threadsOfClients();
        for (var i = 0; i < 3; i++) {
            Elections.connect(secure.uri("/tls?" + certificates.trusting("server")))
                    .close();
        }
        var made = threadsOfClients();
        made.removeAll(before);
        assertThat(made).isNotEmpty();
        Eventually.eventually("they have ended", PATIENCE, () -> made.stream().noneMatch(Thread::isAlive));
    }

    private static Set<Thread> threadsOfClients() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("bellwether-http"))
                .collect(Collectors.toCollection(HashSet::new));
    }

    @Test
    void certificatesBesideAClientOfTheApplicationsAreRefused() {
        var uri = "etcd://127.0.0.1:" + Ports.free() + "/given?" + certificates.trusting("server");
        assertThatThrownBy(() -> EtcdElections.using(HttpClient.newHttpClient(), uri))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("the given client has its own")
                .hasMessageNotContaining(Certificates.PASSWORD);
    }

    @Test
    void aClientOfTheApplicationsIsUsedAsItIs() throws Exception {
        try (var elections = EtcdElections.using(HttpClient.newHttpClient(), plain.uri("/given"));
                var leader = elections.stand("given", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }
}
