package dev.bellwether.nats;

import static dev.bellwether.fixtures.Leading.goesOn;
import static dev.bellwether.fixtures.Leading.leads;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.nats.NatsServer;
import dev.bellwether.testkit.servers.Ports;
import io.nats.client.Nats;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
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
        server = NatsServers.alone(tls("server"));
        mutual = NatsServers.alone(mutual("server", "client"));
    }

    private static String tls(String key) {
        return "tls { cert_file: \"%s\", key_file: \"%s\" }"
                .formatted(certificates.certificate(key), certificates.secret(key));
    }

    @AfterAll
    static void stopServers() {
        server.close();
        mutual.close();
    }

    @Test
    void withTheRightTrustACandidateLeads() throws Exception {
        leads(uri(server, "tls", certificates.trusting("server")));
        leads(uri(server, "nats", "tls=true&" + certificates.trusting("server")));
    }

    @Test
    void aServerThatIsNotTrustedIsRefusedAndTheMessageSaysSo() {
        for (var query :
                new String[] {certificates.trusting("stranger"), "bucket=none"}) { // the JDK does not know it either
            assertThatThrownBy(() -> Elections.connect(uri(server, "tls", query)))
                    .as(query)
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("do not agree on TLS")
                    .hasMessageNotContaining(Certificates.PASSWORD);
        }
    }

    @Test
    void aServerWhoseTrustedCertificateIsForAnotherHostIsRefusedAndTheMessageNamesTheHost() throws Exception {
        certificates.key("elsewhere", "CN=127.0.0.1", "DNS:nats.example");
        certificates.key("named", "CN=named", "DNS:localhost");
        try (var elsewhere = NatsServers.alone(tls("elsewhere"));
                var named = NatsServers.alone(tls("named"))) {
            refused(uri(elsewhere, "tls", certificates.trusting("elsewhere")), "127.0.0.1");
            refused(uri(elsewhere, "nats", "tls=true&" + certificates.trusting("elsewhere")), "127.0.0.1");
            refused(byName(elsewhere, certificates.trusting("elsewhere")), "localhost");
            refused(
                    uri(named, "tls", certificates.trusting("named")),
                    "127.0.0.1"); // an address that the name has proves nothing
            leads(byName(named, certificates.trusting("named")));
        }
    }

    private static void refused(String uri, String host) {
        assertThatThrownBy(() -> Elections.connect(uri))
                .as(uri)
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("do not agree on TLS")
                .hasMessageContaining("is for the host that the URI names")
                .hasMessageMatching("(?s).*\\bmatching (IP address )?" + host + "\\b.*");
    }

    /** Servers tell clients of the others by their addresses. */
    @Test
    void aServerThatAnotherHasToldOfIsTrustedByTheNameOfTheUriOrByItsAddress() throws Exception {
        certificates.key("first", "CN=first", "DNS:localhost");
        certificates.key("second", "CN=second", "IP:127.0.0.2");
        certificates.key("wrong", "CN=wrong", "DNS:nats.example,IP:127.0.0.1");
        assertThat(isFollowed("first")).isTrue();
        assertThat(isFollowed("second")).isTrue();
        assertThat(isFollowed("wrong")).isFalse();
    }

    /** Returns whether a client goes to a server that shows this certificate when the one that told of it is gone. */
    @SuppressWarnings("try") // a connection may be interrupted as it is closed
    private static boolean isFollowed(String second) throws Exception {
        var program = Scripts.where("nats-server");
        var route = Ports.free();
        var port = Ports.free();
        var listening = "listen: \"127.0.0.2:" + port + "\"\n";
        try (var one = new NatsServer(program, "one", Ports.free(), tls("first") + cluster(route, route));
                var two =
                        new NatsServer(program, "two", port, listening + tls(second) + cluster(Ports.free(), route))) {
            one.awaitPort();
            var options = BucketClient.ourOptions().servers(new String[] {"tls://localhost:" + one.port()});
            NatsTls.of(ConnectUri.parse(byName(one, certificates.trusting("first", second))))
                    .applyTo(options);
            try (var connection = Nats.connect(options.build())) {
                var other = "127.0.0.2:" + two.port();
                Eventually.eventually(
                        "it is told of the other",
                        PATIENCE,
                        () -> connection.getServers().stream().anyMatch(server -> server.endsWith(other)));
                one.kill();
                for (var i = 0; i < 300; i++) {
                    if (String.valueOf(connection.getConnectedUrl()).endsWith(other)) {
                        return true;
                    }
                    TimeUnit.MILLISECONDS.sleep(10);
                }
                return false;
            }
        }
    }

    private static String cluster(int port, int route) {
        return "\ncluster { name: \"told\", listen: \"127.0.0.1:%d\", routes: [\"nats://127.0.0.1:%d\"] }"
                .formatted(port, route);
    }

    @Test
    void aServerThatWantsTlsSaysSoToWhoDoesNotSpeakIt() {
        assertThatThrownBy(() -> Elections.connect(uri(server, "nats", "bucket=none")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("wants TLS");
    }

    @Test
    void aServerThatWantsToSeeACertificateLetsInWhoShowsOne() throws Exception {
        leads(uri(mutual, "tls", certificates.trusting("server") + certificates.showing("client")));
        assertThatThrownBy(() -> Elections.connect(
                        uri(mutual, "tls", certificates.trusting("server") + certificates.showing("stranger"))))
                .isInstanceOf(ElectionException.class)
                .hasMessageNotContaining(Certificates.PASSWORD);
        assertThatThrownBy(() -> Elections.connect(uri(mutual, "tls", certificates.trusting("server"))))
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

    /** As when they run out, and a program writes those that follow into the same files. */
    @Test
    void certificatesThatWereReplacedInTheirFilesAreUsedByTheNextConnection() throws Exception {
        certificates.key("next-server");
        certificates.key("next-client");
        var own = copy(folder.resolve("client.p12"), "own.p12");
        var trusted = copy(certificates.trust("server"), "trusted.p12");
        var query =
                "truststore=" + trusted + "&truststorePassword=" + Certificates.PASSWORD + certificates.showing("own");
        try (var changing = NatsServers.alone(mutual("server", "client"));
                var elections = Elections.connect(uri(changing, "tls", query));
                var leader = elections.stand("renewed", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();

            var whole = Files.readAllBytes(folder.resolve("next-client.p12"));
            Files.write(own, Arrays.copyOf(whole, whole.length / 2));
            changing.crashAndRestart();
            goesOn(leader);

            Files.write(own, whole);
            Files.write(trusted, Files.readAllBytes(certificates.trust("next-server")));
            changing.reload(mutual("next-server", "next-client"));
            changing.crashAndRestart();
            goesOn(leader);
        }
    }

    private static Path copy(Path from, String name) throws IOException {
        return Files.copy(from, folder.resolve(name));
    }

    private static String mutual(String key, String client) {
        return tls(key).replace("}", ", ca_file: \"%s\", verify: true }".formatted(certificates.certificate(client)));
    }

    private static String uri(NatsServer server, String scheme, String query) {
        return scheme + "://127.0.0.1:" + server.port() + "?" + query;
    }

    private static String byName(NatsServer server, String query) {
        return "tls://localhost:" + server.port() + "?" + query;
    }
}
