package dev.bellwether.kubernetes;

import static dev.bellwether.fixtures.Leading.leads;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.kubernetes.ClusterAccess.Surroundings;
import dev.bellwether.spi.ConnectUri;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where the API server is, and as whom we come: in a pod, and by kubeconfig files. */
@Tag("kubernetes")
@Timeout(180)
class AccessTest {
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(10));
    private static final Duration PATIENCE = Duration.ofSeconds(40);
    private static final String FILE = """
            apiVersion: v1
            kind: Config
            current-context: here
            contexts:
            - {name: here, context: {cluster: one, user: me, namespace: team}}
            - {name: there, context: {cluster: two, user: me}}
            clusters:
            - {name: one, cluster: {server: "SERVER", OF_CLUSTER}}
            - {name: two, cluster: {server: "https://two.invalid/k8s/clusters/c-1/"}}
            users:
            - {name: me, user: {OF_USER}}
            """;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    static Path folder;

    @SuppressWarnings("NullAway.Init")
    private static KubernetesServers servers;

    @BeforeAll
    static void startServer() {
        servers = KubernetesServers.start(1, 1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    // ---------------------------------------------------------------- kubeconfig files

    @Test
    void whatAFileHoldsAsDataIsUsedAndItsNamespaceToo() throws Exception {
        var file = write(
                server(),
                "certificate-authority-data: " + data(servers.certificates().certificate("server")),
                "client-certificate-data: " + data(servers.certificates().certificate("client")) + ", client-key-data: "
                        + data(servers.certificates().secret("client")));
        leads("k8s:?kubeconfig=" + file);
        assertThat(servers.get(0, KubernetesServers.leases("team"))).contains("\"name\":\"secured\"");
    }

    @Test
    void aContextIsChosenByItsNameAndAServerMayHaveAPath() throws Exception {
        var file = write("http://one.invalid", "", "token: hush-hush");
        var access = access("k8s:payments?context=there&kubeconfig=" + file, Map.of(), folder);
        assertThat(access.server()).isEqualTo(URI.create("https://two.invalid:443/k8s/clusters/c-1"));
        assertThat(access.namespace()).isEqualTo("payments");
        assertThat(access.token().current()).isEqualTo("hush-hush");
        assertThat(access("k8s:?context=there&kubeconfig=" + file, Map.of(), folder)
                        .namespace())
                .isEqualTo("default");
        assertThat(access("k8s:", Map.of("KUBECONFIG", file.toString()), folder).server())
                .isEqualTo(URI.create("http://one.invalid:80"));
        assertThatThrownBy(() -> access("k8s:?context=nowhere&kubeconfig=" + file, Map.of(), folder))
                .hasMessageContainingAll("has no context \"nowhere\"", "[here, there]");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'' | exec: {command: aws} | uses exec | kubectl create token",
                "'' | auth-provider: {name: gcp} | uses auth-provider | kubectl proxy",
                "'' | username: me, password: hush-hush | uses username | give the user a token",
                "'' | as: admin | uses as | give the user the rights itself",
                "'insecure-skip-tls-verify: true' | token: hush-hush | uses insecure-skip-tls-verify | name the certificate-authority",
                "'proxy-url: http://proxy' | token: hush-hush | uses proxy-url | KubernetesElections.using",
                "'tls-server-name: k8s' | token: hush-hush | uses tls-server-name | name as the server",
                "'certificate-authority-data: \"%%\"' | token: hush-hush | certificate-authority-data | not in base64",
                "'certificate-authority: nowhere.crt' | token: hush-hush | cannot read | nowhere.crt",
                "'' | tokenFile: nowhere | cannot read | nowhere",
            })
    void whatIsNotSupportedInAFileIsRefusedByItsNameWithARemedy(String cluster, String user, String says, String remedy)
            throws IOException {
        var file = write("https://one.invalid", cluster, user);
        assertThatThrownBy(() -> Elections.connect("k8s:?kubeconfig=" + file))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContainingAll(says, remedy)
                .hasMessageNotContaining("hush-hush");
    }

    @Test
    void whereNoServerIsKnownTheMessageSaysWhatToDo() throws IOException {
        assertThatThrownBy(() -> access("k8s:", Map.of(), folder))
                .hasMessageContainingAll(".kube", "?kubeconfig=", "automountServiceAccountToken");
        var nothing = Files.writeString(folder.resolve("nothing"), "{]");
        assertThatThrownBy(() -> access("k8s:?kubeconfig=" + nothing, Map.of(), folder))
                .hasMessageContaining("it is no YAML");
        for (var server : List.of("https://one.invalid:66443", "https://one.invalid:0", "one.invalid:6443")) {
            var odd = write(server, "", "");
            assertThatThrownBy(() -> access("k8s:?kubeconfig=" + odd, Map.of(), folder))
                    .as(server)
                    .hasMessageContainingAll("must be like https://host:6443", "a port from 1 to 65535");
        }
    }

    @Test
    void keysAreReadInAllThreeForms() throws Exception {
        for (var kind : new String[][] {{"rsa", "RSA PRIVATE KEY"}, {"ec", "EC PRIVATE KEY"}}) {
            var made = kind[0].equals("rsa")
                    ? new String[] {"openssl", "genrsa", "-traditional", "2048"}
                    : new String[] {"openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"};
            var process = new ProcessBuilder(made).start();
            var pem = new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            assertThat(process.waitFor()).isZero();
            assertThat(pem).contains(kind[1]);
            assertThat(dev.bellwether.kubernetes.Certificates.key(pem).getAlgorithm())
                    .isEqualToIgnoringCase(kind[0]);
        }
        var modern = Files.readString(servers.certificates().secret("client"));
        assertThat(dev.bellwether.kubernetes.Certificates.key(modern).getAlgorithm())
                .isEqualTo("EC");
    }

    // ---------------------------------------------------------------- TLS

    @Test
    void aServerThatIsNotTrustedIsRefusedAndTheMessageSaysSo() throws Exception {
        var strangers = new Certificates(folder);
        strangers.key("stranger");
        var file = write(
                server(),
                "certificate-authority: " + strangers.certificate("stranger"),
                "client-certificate: " + servers.certificates().certificate("client") + ", client-key: "
                        + servers.certificates().secret("client"));
        assertThatThrownBy(() -> Elections.connect("k8s:?kubeconfig=" + file))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("do not agree on TLS");
    }

    /** As one that is being killed does: the certificates are not at fault. */
    @Test
    void aServerThatResetsTheConnectionWhileTlsBeginsIsOnlyAway() throws Exception {
        try (var resetting = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            var thread = new Thread(() -> {
                while (!resetting.isClosed()) {
                    try (var socket = resetting.accept()) {
                        socket.setSoLinger(true, 0);
                        assertThat(socket.getInputStream().read()).isNotNegative();
                    } catch (IOException e) {
                        // the next one
                    }
                }
            });
            thread.setDaemon(true);
            thread.start();
            var file = write(
                    "https://127.0.0.1:" + resetting.getLocalPort(),
                    "certificate-authority: " + servers.certificates().certificate("server"),
                    "token: hush-hush");
            assertThatThrownBy(() -> Elections.connect("k8s:?kubeconfig=" + file))
                    .isInstanceOf(UnavailableException.class);
        }
    }

    @Test
    void whoComesWithoutACertificateIsToldThatNobodyKnowsThem() throws Exception {
        var file = write(
                server(), "certificate-authority: " + servers.certificates().certificate("server"), "token: hush-hush");
        assertThatThrownBy(() -> Elections.connect("k8s:?kubeconfig=" + file))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContainingAll("401", "The credentials are from context \"here\"")
                .hasMessageNotContaining("hush-hush");
    }

    @Test
    void aClientOfTheApplicationsIsUsedAsItIs() throws Exception {
        var file = write(server(), "", "");
        try (var elections = KubernetesElections.using(servers.client(), "k8s:given?kubeconfig=" + file);
                var leader = elections.stand("access", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    // ---------------------------------------------------------------- in a pod

    @Test
    void inAPodItsServiceAccountIsUsedAndReadAgain() throws Exception {
        var pod = Files.createDirectory(folder.resolve("pod"));
        Files.writeString(pod.resolve("token"), "first\n");
        Files.writeString(pod.resolve("namespace"), "payments");
        Files.copy(servers.certificates().certificate("server"), pod.resolve("ca.crt"));
        var around = Map.of(
                "KUBERNETES_SERVICE_HOST",
                "127.0.0.1",
                "KUBERNETES_SERVICE_PORT",
                Integer.toString(servers.member(0).port()));
        var access = access("k8s:", around, pod);
        assertThat(access.namespace()).isEqualTo("payments");
        assertThat(access.server()).isEqualTo(URI.create(server()));
        var client = access.client();
        assertThat(access.client()).as("one for the same certificates").isSameAs(client);

        assertThat(access.token().isReplaced("first")).isFalse();
        Files.writeString(pod.resolve("token"), "second\n");
        assertThat(access.token().current()).as("it is not read each time").isEqualTo("first");
        assertThat(access.token().isReplaced("first")).isTrue();
        assertThat(access.token().current()).isEqualTo("second");
        Files.writeString(pod.resolve("ca.crt"), Files.readString(pod.resolve("ca.crt")) + "\n#");
        assertThat(access.authority().isReplaced("")).isTrue();
        assertThat(access.client()).isNotSameAs(client);

        assertThat(access("k8s:", Map.of("KUBERNETES_SERVICE_HOST", "fd00::1"), pod)
                        .server())
                .isEqualTo(URI.create("https://[fd00::1]:443"));
        assertThat(access("k8s:billing", around, pod).namespace()).isEqualTo("billing");
    }

    private static ClusterAccess access(String uri, Map<String, String> environment, Path pod) {
        return ClusterAccess.of(
                KubernetesSettings.of(ConnectUri.parse(uri)), new Surroundings(environment, pod, folder));
    }

    private static String server() {
        return "https://127.0.0.1:" + servers.member(0).port();
    }

    private static Path write(String server, String cluster, String user) throws IOException {
        return Files.writeString(
                Files.createTempFile(folder, "kubeconfig", ""),
                FILE.replace("SERVER", server).replace("OF_CLUSTER", cluster).replace("OF_USER", user));
    }

    private static String data(Path file) throws IOException {
        return Base64.getEncoder().encodeToString(Files.readAllBytes(file));
    }
}
