package dev.bellwether.dynamodb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Leader;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.fixtures.DynamoDbGateway;
import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Proofs;
import dev.bellwether.testkit.servers.Ports;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Collections;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.http.async.AsyncExecuteRequest;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;

/** URIs that are wrong, tables that are, servers that are gone, and what becomes of a leader. */
@Timeout(240)
class TroubleTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(3));
    private static final CandidacyConfig LONG = CandidacyConfig.ofLease(Duration.ofMinutes(2));
    private static final DynamoDbSettings SETTINGS =
            DynamoDbSettings.of(ConnectUri.parse("dynamodb://eu-west-1/elections"));
    private static final String KEYS = "\"AttributeDefinitions\":[{\"AttributeName\":\"id\",\"AttributeType\":\"S\"}],"
            + "\"KeySchema\":[{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"}],\"BillingMode\":\"PAY_PER_REQUEST\"";

    private static final int READERS = 6;

    @SuppressWarnings("NullAway.Init")
    private static DynamoDbServer server;

    @BeforeAll
    static void startServer() {
        server = DynamoDbServer.launch();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "dynamodb:table|must be of the form dynamodb://region/table",
                "dynamodb://eu-west-1|must be of the form dynamodb://region/table",
                "dynamodb://eu-west-1/ab|the table of 3 to 255 letters",
                "dynamodb://eu-west-1/a/b|must be of the form",
                "dynamodb://EU/elections|must be of the form",
                "dynamodb://key:secret@eu-west-1/elections|credentials are found as the AWS SDK finds them",
                "dynamodb://eu-west-1/elections?endpoint=localhost:8000|endpoint is \"localhost:8000\": it must be like",
                "dynamodb://eu-west-1/elections?endpoint=http://a b|it must be like",
                "dynamodb://eu-west-1/elections?endpoint=http://a{b|which is no address",
                "dynamodb://eu-west-1/elections?prefix=a b|prefix is \"a b\": it must be",
                "dynamodb://eu-west-1/elections?poll=10ms|poll is 10 ms: it must be 100 ms at least, or 0 for never",
                "dynamodb://eu-west-1/elections?replicas=yes|replicas is \"yes\": it must be refused or accepted",
                "dynamodb://eu-west-1/elections?presence=10ms|it must be a second at least",
                "dynamodb://eu-west-1/elections?lease=1s|unknown parameter \"lease\"",
            })
    void aUriThatIsWrongIsRefusedBeforeAnythingIsConnected(String uri, String says) {
        assertThatThrownBy(() -> ConnectUri.parse(uri).check())
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(says)
                .hasMessageNotContaining("secret@");
    }

    private static DynamoDbAsyncClient sdk() {
        return DynamoDbAsyncClient.builder()
                .region(Region.EU_WEST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("a", "b")))
                .build();
    }

    @Test
    void whatIsDoneAgainAndAgainOutlivesAnError() throws Exception {
        var runs = new CountDownLatch(3);
        try (var sdk = sdk();
                var client = new TableClient(SETTINGS, sdk, () -> {})) {
            client.every(Duration.ofMillis(50), () -> {
                runs.countDown();
                throw new OutOfMemoryError("planted");
            });
            assertThat(runs.await(20, TimeUnit.SECONDS)).isTrue();
        }
    }

    /** As while a program that is to print credentials hangs: nothing ends it, and the threads wait for it. */
    @Test
    void whatIsNotBegunInItsTimeIsForgotten() {
        var released = new CountDownLatch(1);
        try (var sdk = sdk();
                var client = new TableClient(SETTINGS, sdk, () -> {})) {
            for (var hung = 0; hung < 3; hung++) {
                assertThat(client.send(Urgency.KEEP, "GetItem", Duration.ofMillis(100), any -> hung(released)))
                        .failsWithin(PATIENCE);
            }
            var forgotten = new WeakReference<>(late(client));
            Eventually.eventually("it is not kept for later", Duration.ofSeconds(20), () -> {
                System.gc();
                return forgotten.get() == null;
            });
        } finally {
            released.countDown();
        }
    }

    private static CompletableFuture<String> hung(CountDownLatch released) {
        try {
            assertThat(released.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return CompletableFuture.completedFuture("late");
    }

    /** Returns what a request holds that nobody has begun in its time. */
    private static Object late(TableClient client) {
        var held = new Object();
        assertThat(client.send(
                        Urgency.KEEP,
                        "GetItem",
                        Duration.ofMillis(100),
                        any -> CompletableFuture.completedFuture(held)))
                .failsWithin(PATIENCE);
        return held;
    }

    /** The SDK fetches credentials on the thread of one caller, and has the others use those that are still valid. */
    @Test
    void credentialsThatAreFetchedSlowlyEndNoMandate() throws Exception {
        var released = new CountDownLatch(1);
        var isSlow = new AtomicBoolean();
        AwsCredentialsProvider credentials = () -> {
            if (isSlow.compareAndSet(true, false)) {
                try {
                    assertThat(released.await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                            .isTrue();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            return AwsBasicCredentials.create("a", "b");
        };
        try (var sdk = DynamoDbAsyncClient.builder()
                        .region(Region.US_EAST_1)
                        .credentialsProvider(credentials)
                        .endpointOverride(URI.create("http://127.0.0.1:" + server.port()))
                        .build();
                var elections = DynamoDbElections.using(sdk, server.uri("slow", "&create=true"));
                var leader = elections.stand("slow", CandidacyConfig.ofLease(Duration.ofSeconds(6)))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            isSlow.set(true);
            Eventually.eventually("one is being fetched", PATIENCE, () -> !isSlow.get());
            Eventually.throughout("the same mandate is valid", Duration.ofSeconds(15), mandate::isValid);
        } finally {
            released.countDown();
        }
    }

    @Test
    void whereNobodyListensTheMessageSaysSo() {
        var port = Ports.free();
        assertThatThrownBy(() -> Elections.connect(DynamoDbServer.uri(port, "elections", "")))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("refused")
                .hasMessageContaining("127.0.0.1:" + port);
    }

    @Test
    void whoSpeaksTlsWhereNobodyDoesIsToldSo() {
        assertThatThrownBy(() ->
                        Elections.connect("dynamodb://us-east-1/elections?endpoint=https://127.0.0.1:" + server.port()))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("does it speak TLS, or not?");
    }

    /** As one that is being stopped does: the certificates are not at fault. */
    @Test
    void aServerThatBreaksOffWhileTlsBeginsIsOnlyAway() throws Exception {
        try (var breaking = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            var thread = new Thread(() -> {
                while (!breaking.isClosed()) {
                    try (var socket = breaking.accept()) {
                        assertThat(socket.getInputStream().read(new byte[10_000]))
                                .isPositive();
                    } catch (IOException e) {
                        // the next one
                    }
                }
            });
            thread.setDaemon(true);
            thread.start();
            assertThatThrownBy(() -> Elections.connect(
                            "dynamodb://us-east-1/elections?endpoint=https://127.0.0.1:" + breaking.getLocalPort()))
                    .isInstanceOf(UnavailableException.class);
        }
    }

    @Test
    void whoseCertificateIsNotTrustedIsRefusedAndAClientThatTrustsItIsUsed(@TempDir Path folder) throws Exception {
        var certificates = new Certificates(folder);
        var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(
                KeyStore.getInstance(certificates.key("server").toFile(), Certificates.PASSWORD.toCharArray()),
                Certificates.PASSWORD.toCharArray());
        var context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(KeyStore.getInstance(certificates.trust("server").toFile(), Certificates.PASSWORD.toCharArray()));
        try (var gateway = DynamoDbGateway.secure(server, context);
                var trusting = DynamoDbAsyncClient.builder()
                        .region(Region.US_EAST_1)
                        .endpointOverride(gateway.endpoint())
                        .httpClientBuilder(
                                NettyNioAsyncHttpClient.builder().tlsTrustManagersProvider(trust::getTrustManagers))
                        .build()) {
            var uri = gateway.uri("secure", "&create=true");
            assertThatThrownBy(() -> Elections.connect(uri))
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("do not agree on TLS")
                    .hasMessageContaining("truststore of the JDK");
            try (var elections = DynamoDbElections.using(trusting, uri);
                    var leader = elections.stand("secure", CONFIG)) {
                assertThat(leader.await(PATIENCE)).isPresent();
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "500|InternalServerError|try again|true|try again",
                "503|ServiceUnavailable|busy|true|busy",
                "400|ProvisionedThroughputExceededException|too fast|true|too fast",
                "400|ThrottlingException|rate exceeded|true|rate exceeded",
                "400|UnrecognizedClientException|The security token is invalid|false|Check the credentials",
                "400|InvalidSignatureException|Signature expired|false|the clock of this machine",
                "400|ValidationException|bad|false|Check region, table and endpoint",
                "403|MissingAuthenticationTokenException|none|false|Check the credentials",
            })
    void whatIsSaidIsToldAndWhatPassesIsWaitedFor(
            int status, String code, String message, boolean passes, String says) {
        try (var gateway = DynamoDbGateway.to(server)) {
            gateway.refuse("DescribeTable", status, code, message);
            gateway.refuse("GetItem", status, code, message);
            assertThatThrownBy(() -> Elections.connect(gateway.uri("elections", "")))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(says)
                    .satisfies(error ->
                            assertThat(error instanceof UnavailableException).isEqualTo(passes));
        }
    }

    @Test
    void withoutCredentialsTheMessageSaysWhereTheyAreLookedFor() {
        try (var nobody = DynamoDbAsyncClient.builder()
                .region(Region.US_EAST_1)
                .endpointOverride(URI.create("http://127.0.0.1:" + server.port()))
                .credentialsProvider(() -> {
                    throw SdkClientException.create("Unable to load credentials from any of the providers");
                })
                .build()) {
            assertThatThrownBy(() -> DynamoDbElections.using(nobody, server.uri("elections", "")))
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("set AWS_ACCESS_KEY_ID");
        }
    }

    /** As of jars of the application's that do not fit together. Others wait for an answer until their time is over. */
    @Test
    void anErrorOfTheSdkIsToldAtOnceAndAsWhatItIs() {
        Error planted = new NoSuchMethodError("planted");
        try (var sdk = sdk();
                var client = new TableClient(SETTINGS, sdk, () -> {})) {
            for (var isThrown : new boolean[] {true, false}) {
                assertThat(client.send(Urgency.LOOK, "GetItem", PATIENCE.multipliedBy(2), any -> {
                            if (isThrown) {
                                throw planted;
                            }
                            return CompletableFuture.failedFuture(planted);
                        }))
                        .failsWithin(PATIENCE)
                        .withThrowableThat()
                        .havingCause()
                        .isInstanceOf(ElectionException.class)
                        .isNotInstanceOf(UnavailableException.class)
                        .withMessageContaining("jars on the class path")
                        .withMessageContaining("java.lang.NoSuchMethodError: planted");
            }
            assertThat(client.send(Urgency.LOOK, "GetItem", PATIENCE.multipliedBy(2), any -> {
                        throw new OutOfMemoryError("planted");
                    }))
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .havingCause()
                    .isInstanceOf(UnavailableException.class)
                    .withMessageContaining("java.lang.OutOfMemoryError: planted");
        }
    }

    /** As it says of a file in ~/.aws that is no profile file, each time that a client is made. */
    @Test
    void settingsThatTheSdkCannotReadAreNamedAndLeaveNoConnectionsOpen() {
        var pool = new FakePool();
        var connections = new ReplaceableConnections(() -> pool, PATIENCE);
        var settings = DynamoDbSettings.of(ConnectUri.parse(server.uri("elections", "")));
        assertThatThrownBy(() -> DynamoDbProvider.connect(settings, connections, http -> {
                    throw new IllegalArgumentException("Expected a profile definition on line 1");
                }))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("~/.aws/config")
                .hasMessageContaining("Expected a profile definition on line 1");
        assertThat(pool.closed).isTrue();
    }

    /** As of classes that do not fit together, or without memory. */
    @Test
    void anErrorWhileAClientIsMadeLeavesNoConnectionsOpen() {
        var pool = new FakePool();
        var connections = new ReplaceableConnections(() -> pool, PATIENCE);
        assertThatThrownBy(() -> DynamoDbProvider.connect(SETTINGS, connections, http -> {
                    throw new NoClassDefFoundError("planted");
                }))
                .isInstanceOf(NoClassDefFoundError.class);
        assertThat(pool.closed).isTrue();
    }

    @Test
    void aClientOfTheApplicationsIsUsedAsItIsAndLeftOpen() throws Exception {
        try (var client = DynamoDbAsyncClient.builder()
                .region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("given", "hush-hush")))
                .endpointOverride(URI.create("http://127.0.0.1:" + server.port()))
                .build()) {
            for (var i = 0; i < 2; i++) {
                try (var elections = DynamoDbElections.using(client, server.uri("given", "&create=true"));
                        var leader = elections.stand("given", CONFIG)) {
                    assertThat(leader.await(PATIENCE)).isPresent();
                }
            }
        }
    }

    // ---------------------------------------------------------------- tables

    @Test
    void aMissingTableIsNamedWithTheCommandThatMakesItAndIsMadeIfThatIsWanted() {
        var uri = server.uri("missing", "");
        assertThatThrownBy(() -> Elections.connect(uri))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining(
                        "there is no table \"missing\" in us-east-1. Add create=true to the URI, or make it:"
                                + " aws dynamodb create-table --region us-east-1 --endpoint-url http://127.0.0.1:"
                                + server.port()
                                + " --table-name missing --attribute-definitions AttributeName=pk,AttributeType=S"
                                + " AttributeName=sk,AttributeType=S --key-schema AttributeName=pk,KeyType=HASH"
                                + " AttributeName=sk,KeyType=RANGE --billing-mode PAY_PER_REQUEST"
                                + " --deletion-protection-enabled");
        Elections.connect(uri + "&create=true").close();
        Elections.connect(uri).close();
    }

    @Test
    void whoIsInterruptedWhileATableIsMadeIsToldSo() throws Exception {
        try (var gateway = DynamoDbGateway.to(server)) {
            var uri = gateway.uri("unfinished", "&create=true");
            Elections.connect(uri).close();
            gateway.change("DescribeTable", said -> said.replace("\"ACTIVE\"", "\"CREATING\""));
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> Elections.connect(uri).close())
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("interrupted while the table was being made");
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void aTableWithOtherKeysIsRefused() {
        server.ask("CreateTable", "{\"TableName\":\"other-keys\"," + KEYS + "}");
        assertThatThrownBy(() -> Elections.connect(server.uri("other-keys", "&create=true")))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining(
                        "the table has the keys id (HASH); it must have the strings pk (HASH) and sk (RANGE)");
    }

    @Test
    void theDoctorTellsHowTheTableIsMade() {
        try (var backend =
                ConnectUri.parse(server.uri("doctor", "&create=true")).connect()) {
            assertThat(backend.findings(CONFIG))
                    .noneMatch(finding -> finding.level() == Finding.Level.ERROR)
                    .anyMatch(finding -> finding.says().contains("on demand"))
                    .anyMatch(finding -> finding.says().contains("a process that lists standbys removes"))
                    .anyMatch(finding -> finding.says().contains("protected against deletion"))
                    .anyMatch(finding -> finding.says().contains(" write units an hour"));
            server.ask("UpdateTable", "{\"TableName\":\"doctor\",\"DeletionProtectionEnabled\":false}");
            server.ask(
                    "UpdateTimeToLive",
                    "{\"TableName\":\"doctor\",\"TimeToLiveSpecification\":{\"AttributeName\":\"until\",\"Enabled\":true}}");
            assertThat(backend.findings(CONFIG))
                    .anyMatch(finding -> finding.level() == Finding.Level.WARNING
                            && finding.remedy().contains("--deletion-protection-enabled"))
                    .anyMatch(finding -> finding.level() == Finding.Level.WARNING
                            && finding.says().contains("drops items that bear \"until\""));
        }
    }

    @Test
    void aTableThatEachRegionDecidesAboutIsRefusedUnlessThatIsAccepted() throws Exception {
        try (var gateway = DynamoDbGateway.to(server)) {
            var uri = gateway.uri("replicas", "&create=true");
            Elections.connect(uri).close();
            gateway.change(
                    "DescribeTable",
                    said -> said.replace(
                            "\"TableStatus\"", "\"Replicas\":[{\"RegionName\":\"eu-west-1\"}],\"TableStatus\""));
            try (var elections = Elections.connect(uri)) {
                assertThat(elections.list()).as("who looks may").isEmpty();
                assertThatThrownBy(() -> elections.stand("replicated", CONFIG).awaitClose())
                        .isInstanceOf(ElectionException.class)
                        .hasMessageContaining("the table has replicas in eu-west-1")
                        .hasMessageContaining("replicas=accepted");
            }
            try (var backend = ConnectUri.parse(uri).connect()) {
                assertThat(backend.findings(CONFIG))
                        .anyMatch(finding -> finding.level() == Finding.Level.ERROR
                                && finding.says().contains("each region decides for itself"));
            }
            try (var elections = Elections.connect(uri + "&replicas=accepted");
                    var leader = elections.stand("accepted", CONFIG)) {
                assertThat(leader.await(PATIENCE)).isPresent();
            }
            gateway.change(
                    "DescribeTable",
                    said -> said.replace(
                            "\"TableStatus\"",
                            "\"MultiRegionConsistency\":\"STRONG\",\"Replicas\":[{\"RegionName\":\"eu-west-1\"}],\"TableStatus\""));
            try (var elections = Elections.connect(uri);
                    var leader = elections.stand("together", CONFIG)) {
                assertThat(leader.await(PATIENCE)).isPresent();
            }
        }
    }

    // ---------------------------------------------------------------- what becomes of a leader

    /** As a balancer, or a gateway, forgets what went through it. */
    @Test
    void connectionsThatWereForgottenOnTheWayCostOneTryAndNoLeadership() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var elections = Elections.connect(DynamoDbServer.uri(link.port(), "kept", "&create=true"));
                var leader = elections.stand("kept", CandidacyConfig.ofLease(Duration.ofSeconds(10)))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            readAtOnce(elections, link);
            link.abandon();
            Eventually.throughout("the same mandate is valid", Duration.ofSeconds(15), mandate::isValid);
        }
    }

    /** That is an answer, and says nothing of what was written: no leader has to read before its next renewal. */
    @Test
    void aLeaderNeedsNoReadsWhereTheyAreThrottled() throws Exception {
        try (var gateway = DynamoDbGateway.to(server);
                var elections = Elections.connect(gateway.uri("throttled", "&create=true&poll=200ms"));
                var leader = elections.stand("throttled", CandidacyConfig.ofLease(Duration.ofSeconds(6)))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            gateway.refuse("GetItem", 400, "ProvisionedThroughputExceededException", "too fast");
            var before = gateway.count("GetItem");
            Eventually.throughout("the same mandate is valid", Duration.ofSeconds(8), mandate::isValid);
            assertThat(gateway.count("GetItem")).as("of the poll").isGreaterThan(before);
        }
    }

    @Test
    void connectionsThatAreLeftAreClosedAWhileLater() {
        var pools = new CopyOnWriteArrayList<FakePool>();
        try (var connections = new ReplaceableConnections(
                () -> {
                    var made = new FakePool();
                    pools.add(made);
                    return made;
                },
                Duration.ofSeconds(2))) {
            var request = AsyncExecuteRequest.builder().build();
            connections.execute(request).complete(null);
            Eventually.eventually("another pool is made", PATIENCE, () -> {
                connections.unanswered();
                return pools.size() > 1;
            });
            Eventually.eventually("the first is closed", PATIENCE, () -> pools.get(0).closed);
            connections.unanswered();
            assertThat(pools).as("one without an answer stays").hasSize(2);
            assertThat(pools.get(1).closed).isFalse();
        }
        assertThat(pools.get(1).closed).isTrue();
    }

    private static final class FakePool implements SdkAsyncHttpClient {
        private volatile boolean closed;

        @Override
        public CompletableFuture<Void> execute(AsyncExecuteRequest request) {
            return new CompletableFuture<>();
        }

        @Override
        public void close() {
            closed = true;
        }
    }

    /** Leaves as many connections behind as there are readers, since each of them waits. */
    private static void readAtOnce(Elections elections, FaultProxy link) throws Exception {
        var readers = Executors.newFixedThreadPool(READERS);
        try {
            link.delay(Duration.ofMillis(200));
            readers.invokeAll(Collections.nCopies(
                            READERS, () -> elections.election("kept").leader()))
                    .forEach(read -> assertThat(read).succeedsWithin(PATIENCE));
            link.heal();
        } finally {
            readers.shutdown();
        }
        assertThat(link.connections()).isGreaterThanOrEqualTo(READERS);
    }

    @Test
    void whenTheStoreHasForgottenALeaderNobodyLeadsBesideItAndTokensRise() throws Exception {
        try (var own = DynamoDbServer.launch();
                var auditor = new LeadershipAuditor();
                var one = Elections.connect(own.uri("forgetful", "&create=true&poll=200ms"));
                var first = one.stand("forgotten", CONFIG);
                var two = Elections.connect(own.uri("forgetful", "&poll=200ms"))) {
            auditor.audit(first);
            assertThat(first.await(PATIENCE)).isPresent();
            own.save();
            assertThat(first.await(PATIENCE)).isPresent();
            var second = two.stand("forgotten", CONFIG);
            auditor.audit(second);
            first.resign();
            var token = second.await(PATIENCE).orElseThrow().token();

            own.restore(); // the first one's record is there again

            Eventually.eventually(
                    "it answers", PATIENCE, () -> own.ask("ListTables", "{}").contains("forgetful"));
            try (var newcomers = Elections.connect(own.uri("forgetful", ""))) {
                var third = newcomers.stand("forgotten", CONFIG);
                auditor.audit(third);
                var later = Eventually.eventually(
                        "one leads under a higher token",
                        PATIENCE,
                        () -> second.mandate().or(third::mandate).filter(mandate -> mandate.token() > token));
                assertThat(later.token()).isGreaterThan(token);
                third.close();
            }
        }
    }

    @Test
    void aSeatThatIsDeletedByHandUnderItsLeaderMakesNoSecondLeaderForWhoKnewIt() throws Exception {
        try (var auditor = new LeadershipAuditor();
                var one = Elections.connect(server.uri("deleted", "&create=true&poll=200ms"));
                var first = one.stand("deleted", CONFIG);
                var two = Elections.connect(server.uri("deleted", "&poll=200ms"))) {
            auditor.audit(first);
            var token = first.await(PATIENCE).orElseThrow().token();
            var second = two.stand("deleted", CONFIG);
            auditor.audit(second);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> second.status().following().isPresent());
            var later = System.nanoTime() + 2_000_000_000L;
            Eventually.eventually("a clock's step is over", PATIENCE, () -> System.nanoTime() - later > 0);

            server.ask(
                    "DeleteItem",
                    "{\"TableName\":\"deleted\",\"Key\":{\"pk\":{\"S\":\"bellwether#seats\"},\"sk\":{\"S\":\"deleted\"}}}");

            var next = Eventually.eventually(
                    "one leads under a higher token",
                    PATIENCE,
                    () -> first.mandate().or(second::mandate).filter(mandate -> mandate.token() > token));
            assertThat(next.token()).isGreaterThan(token);
        }
    }

    @Test
    void aLongLeaseRidesThroughTheDeathOfTheServerAndAFreeze() throws Exception {
        try (var own = DynamoDbServer.launch();
                var elections = Elections.connect(own.uri("riding", "&create=true"));
                var leader = elections.stand("riding", LONG);
                var others = Elections.connect(own.uri("riding", "&poll=200ms"), ElectionsConfig.defaults())) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = others.stand("riding", LONG);
            own.kill();
            var killed = System.nanoTime();
            own.start();
            Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, killed));
            own.pause();
            assertThatThrownBy(() -> others.election("riding").leader()).isInstanceOf(UnavailableException.class);
            own.resume();
            assertThat(Eventually.eventually("it is read", PATIENCE, () -> {
                        try {
                            return others.election("riding").leader();
                        } catch (UnavailableException e) { // a connection may have to be made again
                            return Optional.<Leader>empty();
                        }
                    }))
                    .isNotNull();
            assertThat(leader.mandate()).contains(mandate);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            leader.resign();
            assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
        }
    }
}
