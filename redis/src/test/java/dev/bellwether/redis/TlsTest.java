package dev.bellwether.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.fixtures.ValkeyServers;
import io.lettuce.core.RedisClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers that speak TLS, with certificates that the test has made. */
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
    private static ValkeyServer secure;

    @SuppressWarnings("NullAway.Init")
    private static ValkeyServer mutual;

    @SuppressWarnings("NullAway.Init")
    private static ValkeyServer plain;

    @BeforeAll
    static void startServers() {
        certificates = new Certificates(folder);
        List.of("server", "client", "stranger").forEach(certificates::key);
        secure = start("no");
        mutual = start("yes");
        plain = ValkeyServers.start();
    }

    private static ValkeyServer start(String clients) {
        return ValkeyServers.start(
                "--tls-cert-file",
                certificates.certificate("server").toString(),
                "--tls-key-file",
                certificates.secret("server").toString(),
                "--tls-ca-cert-file",
                certificates.certificate("client").toString(),
                "--tls-auth-clients",
                clients);
    }

    @AfterAll
    static void stopServers() {
        secure.close();
        mutual.close();
        plain.close();
    }

    @Test
    void withTheRightTrustACandidateLeads() throws Exception {
        leads(uri(secure, trust("server")));
        leads(uri(mutual, trust("server") + keys("client")));
        leads(uri(secure, trust("server")).replace("rediss:", "valkeys:"));
    }

    @Test
    void aServerThatIsNotTrustedIsRefusedAndTheMessageSaysSo() {
        for (var query : List.of(trust("stranger"), "prefix=tls")) { // the JDK does not know it either
            assertThatThrownBy(() -> Elections.connect(uri(secure, query)))
                    .as(query)
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("do not agree on TLS")
                    .hasMessageNotContaining(Certificates.PASSWORD);
        }
    }

    @Test
    void aServerThatWantsACertificateLetsNobodyInWithout() {
        for (var query : List.of(trust("server"), trust("server") + keys("stranger"))) {
            assertThatThrownBy(() -> Elections.connect(uri(mutual, query)))
                    .as(query)
                    .isInstanceOf(ElectionException.class)
                    .hasMessageNotContaining(Certificates.PASSWORD);
        }
    }

    @Test
    void aServerThatSpeaksTlsSaysSoToWhoDoesNotAndTheOtherWayRound() {
        assertThatThrownBy(() -> Elections.connect(secure.uri("")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("rediss://");
        assertThatThrownBy(() -> Elections.connect(uri(plain, "prefix=tls")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("TLS");
    }

    @Test
    void aStoreThatIsMissingOrDoesNotOpenIsNamed() throws Exception {
        var garbage = Files.writeString(folder.resolve("garbage"), "no keystore");
        for (var query : List.of(
                "truststore=" + folder.resolve("absent"),
                "truststore=" + garbage + "&truststorePassword=hush-hush",
                "truststore=" + certificates.trust("server") + "&truststorePassword=wrong-wrong")) {
            assertThatThrownBy(() -> Elections.connect(uri(secure, query)))
                    .as(query)
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("the file that truststore names")
                    .hasMessageNotContainingAny("hush-hush", "wrong-wrong");
        }
    }

    @Test
    void aClientOfTheApplicationsIsUsedAndStaysOpen() throws Exception {
        var client = RedisClient.create(plain.uri(""));
        try {
            try (var elections = RedisElections.using(client, plain.uri("?prefix=given"));
                    var leader = elections.stand("given", CONFIG)) {
                assertThat(leader.await(PATIENCE)).isPresent();
            }
            try (var connection = client.connect()) {
                assertThat(connection.sync().ping()).isEqualTo("PONG");
            }
        } finally {
            client.shutdown();
        }
    }

    private static String uri(ValkeyServer server, String query) {
        return server.uri("?" + query).replace("redis:", "rediss:");
    }

    private static void leads(String uri) throws Exception {
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("secured", CONFIG)) {
            assertThat(leader.await(PATIENCE)).as(uri).isPresent();
            assertThat(elections.election("secured").leader()).isPresent();
        }
    }

    private static String trust(String name) {
        return "truststore=" + certificates.trust(name) + "&truststorePassword=" + Certificates.PASSWORD;
    }

    private static String keys(String name) {
        return "&keystore=" + folder.resolve(name + ".p12") + "&keystorePassword=" + Certificates.PASSWORD;
    }
}
