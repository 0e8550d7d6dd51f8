package dev.bellwether.redis;

import static dev.bellwether.fixtures.Leading.goesOn;
import static dev.bellwether.fixtures.Leading.leads;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.testkit.servers.Ports;
import io.lettuce.core.RedisClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
        return start(
                clients,
                certificates.certificate("server"),
                certificates.secret("server"),
                certificates.certificate("client"));
    }

    private static ValkeyServer start(String clients, Path certificate, Path key, Path trusted) {
        return ValkeyServers.start(
                "--tls-cert-file",
                certificate.toString(),
                "--tls-key-file",
                key.toString(),
                "--tls-ca-cert-file",
                trusted.toString(),
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
        leads(uri(secure, certificates.trusting("server")));
        leads(uri(mutual, certificates.trusting("server") + certificates.showing("client")));
        leads(uri(secure, certificates.trusting("server")).replace("rediss:", "valkeys:"));
    }

    @Test
    void aServerThatIsNotTrustedIsRefusedAndTheMessageSaysSo() {
        for (var query : List.of(certificates.trusting("stranger"), "prefix=tls")) { // the JDK does not know it either
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
        for (var query : List.of(
                certificates.trusting("server"), certificates.trusting("server") + certificates.showing("stranger"))) {
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

    /** As one that is being stopped does, or a balancer that has no server: the certificates are not at fault. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aServerThatBreaksOffWhileTlsBeginsIsOnlyAway(boolean resets) throws Exception {
        try (var breaking = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            var thread = new Thread(() -> {
                while (!breaking.isClosed()) {
                    try (var socket = breaking.accept()) {
                        socket.setSoLinger(resets, 0);
                        assertThat(socket.getInputStream().read(new byte[10_000]))
                                .isPositive();
                    } catch (IOException e) {
                        // the next one
                    }
                }
            });
            thread.setDaemon(true);
            thread.start();
            assertThatThrownBy(() -> Elections.connect("rediss://127.0.0.1:" + breaking.getLocalPort()))
                    .isInstanceOf(UnavailableException.class);
        }
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
    void certificatesBesideAClientOfTheApplicationsAreRefused() {
        var uri = "rediss://127.0.0.1:" + Ports.free() + "?truststore=" + certificates.trust("server")
                + "&truststorePassword=" + Certificates.PASSWORD;
        var client = RedisClient.create();
        try {
            assertThatThrownBy(() -> RedisElections.using(client, uri))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("the given client has its own")
                    .hasMessageNotContaining(Certificates.PASSWORD);
        } finally {
            client.shutdown();
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

    /** As when they run out, and a program writes those that follow into the same files. */
    @Test
    void certificatesThatWereReplacedInTheirFilesAreUsedByTheNextConnection() throws Exception {
        certificates.key("next-server");
        certificates.key("next-client");
        var own = copy(folder.resolve("client.p12"), "own.p12");
        var trusted = copy(certificates.trust("server"), "trusted.p12");
        var certificate = copy(certificates.certificate("server"), "changing.crt");
        var key = copy(certificates.secret("server"), "changing.key");
        var clients = copy(certificates.certificate("client"), "changing-clients.crt");
        var query =
                "truststore=" + trusted + "&truststorePassword=" + Certificates.PASSWORD + certificates.showing("own");
        try (var changing = start("yes", certificate, key, clients);
                var elections = Elections.connect(uri(changing, query));
                var leader = elections.stand("renewed", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();

            var whole = Files.readAllBytes(folder.resolve("next-client.p12"));
            Files.write(own, Arrays.copyOf(whole, whole.length / 2));
            changing.kill();
            changing.start();
            goesOn(leader);

            Files.write(own, whole);
            Files.write(trusted, Files.readAllBytes(certificates.trust("next-server")));
            changing.kill();
            Files.write(certificate, Files.readAllBytes(certificates.certificate("next-server")));
            Files.write(key, Files.readAllBytes(certificates.secret("next-server")));
            Files.write(clients, Files.readAllBytes(certificates.certificate("next-client")));
            changing.start();
            goesOn(leader);
        }
    }

    private static Path copy(Path from, String name) throws IOException {
        return Files.copy(from, folder.resolve(name));
    }

    private static String uri(ValkeyServer server, String query) {
        return server.uri("?" + query).replace("redis:", "rediss:");
    }
}
