package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.nats.NatsServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers that speak TLS, with certificates that the test has made. */
class TlsTest {
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(10));
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    static Path folder;

    @SuppressWarnings("NullAway.Init")
    private static Certificates certificates;

    /** One that shows a certificate, and one that wants to see one as well. */
    @SuppressWarnings("NullAway.Init")
    private static NatsServer server;

    @SuppressWarnings("NullAway.Init")
    private static NatsServer mutual;

    @BeforeAll
    static void startServers() {
        certificates = new Certificates(folder);
        certificates.key("server");
        certificates.key("client");
        certificates.key("stranger");
        var tls = "cert_file: \"%s\", key_file: \"%s\""
                .formatted(certificates.certificate("server"), certificates.secret("server"));
        server = NatsServers.alone("tls { " + tls + " }");
        mutual = NatsServers.alone(
                "tls { %s, ca_file: \"%s\", verify: true }".formatted(tls, certificates.certificate("client")));
    }

    @AfterAll
    static void stopServers() {
        server.close();
        mutual.close();
    }

    @Test
    void withTheRightTrustACandidateLeads() throws Exception {
        leads(uri(server, "tls", trust("server")));
        leads(uri(server, "nats", "tls=true&" + trust("server")));
    }

    @Test
    void aServerThatIsNotTrustedIsRefusedAndTheMessageSaysSo() {
        for (var query : new String[] {trust("stranger"), "bucket=none"}) { // the JDK does not know it either
            assertThatThrownBy(() -> Elections.connect(uri(server, "tls", query)))
                    .as(query)
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("do not agree on TLS")
                    .hasMessageNotContaining(Certificates.PASSWORD);
        }
    }

    @Test
    void aServerThatWantsTlsSaysSoToWhoDoesNotSpeakIt() {
        assertThatThrownBy(() -> Elections.connect(uri(server, "nats", "bucket=none")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("wants TLS");
    }

    @Test
    void aServerThatWantsToSeeACertificateLetsInWhoShowsOne() throws Exception {
        leads(uri(mutual, "tls", trust("server") + keys("client")));
        assertThatThrownBy(() -> Elections.connect(uri(mutual, "tls", trust("server") + keys("stranger"))))
                .isInstanceOf(ElectionException.class)
                .hasMessageNotContaining(Certificates.PASSWORD);
        assertThatThrownBy(() -> Elections.connect(uri(mutual, "tls", trust("server"))))
                .isInstanceOf(ElectionException.class);
    }

    @Test
    void aStoreThatIsMissingOrDoesNotOpenIsNamed() throws Exception {
        assertThatThrownBy(() -> Elections.connect(
                        uri(server, "tls", "truststore=" + folder.resolve("absent") + "&truststorePassword=x")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("the file that truststore names cannot be read");
        var garbage = Files.writeString(folder.resolve("garbage"), "no keystore");
        assertThatThrownBy(
                        () -> Elections.connect(uri(server, "tls", "truststore=" + garbage + "&truststorePassword=x")))
                .isInstanceOf(ElectionException.class);
    }

    private static void leads(String uri) throws Exception {
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("secured", CONFIG)) {
            assertThat(leader.await(PATIENCE)).as(uri).isPresent();
            assertThat(elections.election("secured").leader()).isPresent();
        }
    }

    private static String uri(NatsServer server, String scheme, String query) {
        return scheme + "://127.0.0.1:" + server.port() + "?" + query;
    }

    private static String trust(String name) {
        return "truststore=" + certificates.trust(name) + "&truststorePassword=" + Certificates.PASSWORD;
    }

    private static String keys(String name) {
        return "&keystore=" + folder.resolve(name + ".p12") + "&keystorePassword=" + Certificates.PASSWORD;
    }
}
