package dev.bellwether.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import java.net.http.HttpClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Agents that speak TLS, with certificates that the test has made. */
@Timeout(180)
class TlsTest {
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(10));
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    static Path folder;

    @SuppressWarnings("NullAway.Init")
    private static Certificates certificates;

    @SuppressWarnings("NullAway.Init")
    private static ConsulServers secure;

    @SuppressWarnings("NullAway.Init")
    private static ConsulServers plain;

    @BeforeAll
    static void startServers() {
        certificates = new Certificates(folder);
        List.of("server", "stranger").forEach(certificates::key);
        secure = ConsulServers.startSecure("cert_file = \"" + certificates.certificate("server") + "\" key_file = \""
                + certificates.secret("server") + "\"");
        plain = ConsulServers.start(1);
    }

    @AfterAll
    static void stopServers() {
        secure.close();
        plain.close();
    }

    @Test
    void withTheRightTrustACandidateLeads() throws Exception {
        try (var elections = Elections.connect(secure.uri("/tls?" + certificates.trusting("server")));
                var leader = elections.stand("secured", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void anAgentThatIsNotTrustedIsRefusedAndTheMessageSaysSo() {
        for (var query : List.of(certificates.trusting("stranger"), "tls=true")) { // the JDK does not know it either
            assertThat(refusal(secure.uri("/tls?" + query)))
                    .as(query)
                    .hasMessageContaining("do not agree on TLS")
                    .hasMessageNotContaining(Certificates.PASSWORD);
        }
    }

    @Test
    void anAgentThatSpeaksTlsSaysSoToWhoDoesNotAndTheOtherWayRound() {
        assertThatThrownBy(() -> Elections.connect(secure.uri("/tls")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("tls=true");
        assertThat(refusal(plain.uri("/tls?tls=true"))).hasMessageContaining("do not agree on TLS");
    }

    /** An agent on a busy machine may not answer in time, which says nothing yet: it is asked again. */
    private static ElectionException refusal(String uri) {
        return Eventually.eventually("a refusal for good", PATIENCE, () -> {
            try (var elections = Elections.connect(uri)) {
                throw new AssertionError("not refused: " + elections.list());
            } catch (UnavailableException e) {
                return Optional.empty();
            } catch (ElectionException e) {
                return Optional.of(e);
            }
        });
    }

    @Test
    void certificatesBesideAClientOfTheApplicationsAreRefused() {
        var uri = "consul://127.0.0.1:" + Ports.free() + "/given?" + certificates.trusting("server");
        assertThatThrownBy(() -> ConsulElections.using(HttpClient.newHttpClient(), uri))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("the given client has its own")
                .hasMessageNotContaining(Certificates.PASSWORD);
    }

    @Test
    void aClientOfTheApplicationsIsUsedAsItIs() throws Exception {
        try (var elections = ConsulElections.using(HttpClient.newHttpClient(), plain.uri("/given"));
                var leader = elections.stand("given", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }
}
