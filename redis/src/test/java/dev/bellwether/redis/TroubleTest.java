package dev.bellwether.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Proofs;
import dev.bellwether.testkit.servers.Ports;
import io.lettuce.core.ConnectionFuture;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.RedisCodec;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** URIs that are wrong, and servers that are, or are gone. */
@Timeout(120)
class TroubleTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig LONG = CandidacyConfig.ofLease(Duration.ofSeconds(40));

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "redis:host|must be of the form redis://host:6379",
                "redis://|must be of the form redis://host:6379",
                "redis://a:6379,b:6379|of one server",
                "redis://word@host|must be of the form redis://host:6379",
                "redis://host/billing|the number of a database",
                "redis://host:99999|write a number from 1 to 65535",
                "redis://host?presence=10ms|it must be a second at least",
                "redis://host?prefix=|leave it out, or name one",
                "redis://host?durability=maybe|write durability=accepted",
                "redis://host?truststore=/x|write rediss://",
                "redis://host?lease=1s|unknown parameter \"lease\"",
            })
    void aUriThatIsWrongIsRefusedBeforeAnythingIsConnected(String uri, String says) {
        assertThatThrownBy(() -> ConnectUri.parse(uri).check())
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(says);
    }

    @Test
    void whereNobodyListensTheMessageSaysSo() {
        assertThatThrownBy(() -> Elections.connect("redis://127.0.0.1:" + Ports.free()))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("refused");
        assertThatThrownBy(() -> Elections.connect("redis://no-such-host.invalid"))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("no-such-host.invalid");
    }

    @Test
    void aMemberOfAClusterIsRefused() {
        try (var server = ValkeyServers.start("--cluster-enabled", "yes")) {
            assertThatThrownBy(() -> Elections.connect(server.uri("")))
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("is a member of a cluster");
        }
    }

    @Test
    void aDatabaseThatIsNotThereIsNamed() {
        try (var server = ValkeyServers.start()) {
            assertThatThrownBy(() -> Elections.connect(server.uri("/99")))
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("correct the path");
        }
    }

    @Test
    void aServerThatLoadsItsDataOrHasATroubleOfItsOwnIsWaitedFor() throws Exception {
        for (var said : new String[] {"LOADING Valkey is loading the dataset in memory", "MISCONF Errors writing"}) {
            try (var server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
                var thread = new Thread(() -> answer(server, said));
                thread.setDaemon(true);
                thread.start();
                assertThatThrownBy(() -> Elections.connect("redis://127.0.0.1:" + server.getLocalPort()))
                        .isInstanceOf(UnavailableException.class)
                        .hasMessageContaining(said);
            }
        }
    }

    /** Says the same to everything. */
    private static void answer(ServerSocket server, String said) {
        try {
            while (true) {
                try (var socket = server.accept()) {
                    while (socket.getInputStream().read() >= 0) {
                        if (socket.getInputStream().available() == 0) {
                            socket.getOutputStream().write(("-" + said + "\r\n").getBytes(StandardCharsets.UTF_8));
                        }
                    }
                } catch (IOException e) {
                    if (server.isClosed()) {
                        return;
                    }
                }
            }
        } catch (RuntimeException e) {
            // the test is over
        }
    }

    @Test
    void aConnectionThatWasGivenUpWhileItWasMadeIsNotWaitedFor() {
        var client = RedisClient.create();
        try (var server = ValkeyServers.start();
                var link = FaultProxy.to("127.0.0.1", server.port())) {
            var settings = RedisSettings.of(ConnectUri.parse("redis://127.0.0.1:" + link.port()));
            try (var first = new RedisConnection(settings, client)) { // what is done for the first time takes longer
                assertThat(ping(first, PATIENCE)).succeedsWithin(PATIENCE);
            }
            link.cut();
            try (var connection = new RedisConnection(settings, client)) {
                // who is half a second late to be sent has a second for its answer still, or would give nothing up;
                // both together take less than the client itself waits for a connection
                for (var tries = 0; tries < 2; tries++) {
                    assertThat(ping(connection, Duration.ofMillis(1_500))).failsWithin(PATIENCE);
                }
                link.abandon();
                link.heal();
                assertThat(ping(connection, PATIENCE)).succeedsWithin(PATIENCE).isEqualTo("PONG");
            }
        } finally {
            client.shutdown();
        }
    }

    /** It closed its connections once more, and warned of that, at each end of elections. */
    @Test
    void aClientThatIsShutDownFindsNothingToClose() {
        var shut = new CompletableFuture<Void>();
        var client = RedisClient.create();
        try (var log = new LogSaid();
                var server = ValkeyServers.start()) {
            var settings = RedisSettings.of(ConnectUri.parse(server.uri("")));
            RedisRecordStore.open(settings, client, () -> {
                        var unused = client.shutdownAsync().whenComplete((done, error) -> shut.complete(null));
                    })
                    .close();
            assertThat(shut).succeedsWithin(PATIENCE);
            assertThat(log.warnings()).isEmpty();
        }
    }

    /** As of classes that do not fit together, or without memory: nobody else has this connection, to close it. */
    @Test
    void anErrorBeforeTheElectionsAreThereLeavesNoConnectionOpen() {
        var closed = new AtomicBoolean();
        var connection = (StatefulRedisConnection<?, ?>) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {StatefulRedisConnection.class}, (it, method, given) -> {
                    if (method.getName().equals("isOpen")) {
                        throw new NoClassDefFoundError("planted");
                    }
                    if (method.getName().equals("closeAsync")) {
                        closed.set(true);
                        return CompletableFuture.completedFuture(null);
                    }
                    return null;
                });
        var client = new ClientOfOneConnection(connection);
        try {
            var settings = RedisSettings.of(ConnectUri.parse("redis://127.0.0.1"));
            assertThatThrownBy(() -> RedisRecordStore.open(settings, client, () -> {}))
                    .isInstanceOf(NoClassDefFoundError.class);
            assertThat(closed).isTrue();
        } finally {
            client.shutdown();
        }
    }

    /** Has this connection, whatever is asked for. */
    private static final class ClientOfOneConnection extends RedisClient {
        private final StatefulRedisConnection<?, ?> connection;

        private ClientOfOneConnection(StatefulRedisConnection<?, ?> connection) {
            this.connection = connection;
        }

        @Override
        @SuppressWarnings("unchecked")
        public <K, V> ConnectionFuture<StatefulRedisConnection<K, V>> connectAsync(
                RedisCodec<K, V> codec, RedisURI server) {
            return ConnectionFuture.completed(new InetSocketAddress(0), (StatefulRedisConnection<K, V>) connection);
        }
    }

    @Test
    void aRequestThatGetsItsTurnShortlyBeforeItsTimeIsOverBreaksNoOthers() {
        var client = RedisClient.create();
        try (var server = ValkeyServers.start();
                var link = FaultProxy.to("127.0.0.1", server.port());
                var connection = new RedisConnection(
                        RedisSettings.of(ConnectUri.parse("redis://127.0.0.1:" + link.port())), client)) {
            assertThat(ping(connection, PATIENCE)).succeedsWithin(PATIENCE);
            var session = connection.session();
            link.delay(Duration.ofMillis(200)); // each way
            Eventually.eventually("one is sent shortly before its time is over", PATIENCE, () -> {
                var places = new ArrayDeque<CompletableFuture<String>>();
                for (var place = 0; place < 256; place++) {
                    var taken = new CompletableFuture<String>();
                    places.add(taken);
                    var unused = connection.ask(Urgency.LIST, PATIENCE, commands -> taken);
                }
                var isSent = new AtomicBoolean();
                var timeout = Duration.ofMillis(500);
                var until = System.nanoTime() + timeout.toNanos();
                var late = connection.ask(Urgency.LOOK, timeout, commands -> {
                    isSent.set(true);
                    return commands.ping();
                });
                while (until - System.nanoTime() > TimeUnit.MILLISECONDS.toNanos(50)) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
                }
                places.remove().complete(""); // and it is sent
                places.remove().complete("");
                var renewal = ping(connection, PATIENCE);
                places.forEach(place -> place.complete(""));
                assertThat(late).failsWithin(PATIENCE);
                if (isSent.get()) {
                    assertThat(renewal).as("what others wait for").succeedsWithin(PATIENCE);
                    assertThat(connection.session()).isEqualTo(session);
                }
                return isSent.get();
            });
        } finally {
            client.shutdown();
        }
    }

    private static CompletableFuture<String> ping(RedisConnection connection, Duration timeout) {
        return connection.ask(Urgency.KEEP, timeout, commands -> commands.ping());
    }

    @Test
    void aLongLeaseRidesThroughARestartAndAFreezeOfTheServer() throws Exception {
        try (var server = ValkeyServers.start();
                var elections = Elections.connect(server.uri(""));
                var others = Elections.connect(server.uri(""));
                var leader = elections.stand("riding", LONG)) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = others.stand("riding", LONG);
            server.kill();
            server.start();
            awaitProofAfter(leader, System.nanoTime());
            server.pause();
            assertThatThrownBy(() -> elections.election("riding").leader()).isInstanceOf(UnavailableException.class);
            server.resume();
            awaitProofAfter(leader, System.nanoTime());
            assertThat(leader.mandate()).contains(mandate);
            leader.resign();
            assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
        }
    }

    private static void awaitProofAfter(Candidacy leader, long nanos) {
        Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, nanos));
    }
}
