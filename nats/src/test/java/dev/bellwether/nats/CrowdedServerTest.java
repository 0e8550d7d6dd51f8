package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.nats.NatsServer;
import io.nats.client.Connection;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server that takes no more connections, and what the log tells of it. */
@Timeout(120)
class CrowdedServerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String SAID = "maximum connections exceeded";

    private final LogSaid log = new LogSaid();

    @AfterEach
    void showTheLog() {
        log.close();
    }

    private int warnings() {
        return log.warnings(SAID).size();
    }

    /** It was a warning for each. */
    @Test
    void whatAServerSaysToEachAttemptIsToldOnce() throws Exception {
        try (var server = NatsServers.alone("max_connections: 1");
                var proxy = FaultProxy.to("127.0.0.1", server.port());
                var elections = Elections.connect(NatsServer.uri(proxy.port(), "bucket=crowded"));
                var candidacy = elections.stand("crowded", CandidacyConfig.ofLease(Duration.ofSeconds(2)))) {
            assertThat(candidacy.await(PATIENCE)).isPresent();
            proxy.refuse();
            proxy.reset();
            try (var other = Eventually.eventually("another is connected", PATIENCE, () -> connected(server.port()))) {
                assertThat(other.isConnected()).isTrue();
                proxy.heal();
                Eventually.eventually("it is told", PATIENCE, () -> warnings() > 0);
                Eventually.throughout("it is told once", Duration.ofSeconds(8), () -> warnings() == 1);
            }
            Eventually.eventually("it leads again", PATIENCE, candidacy::isLeader);
        }
    }

    /** As that a connection has too many subscriptions: each time, another watch hears nothing. */
    @Test
    void whatAServerSaysWhileWeAreConnectedIsToldEachTime() {
        var status = new AtomicReference<>(Connection.Status.CONNECTED);
        var connection = (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (self, method, given) -> {
                    assertThat(method.getName()).isEqualTo("getStatus");
                    return status.get();
                });
        var listener = new NatsProvider.Listener(ConnectUri.parse("nats://localhost"), new PermissionErrors());
        listener.errorOccurred(connection, SAID);
        listener.errorOccurred(connection, SAID);
        assertThat(warnings()).isEqualTo(2);
        status.set(Connection.Status.RECONNECTING);
        listener.errorOccurred(connection, SAID);
        listener.errorOccurred(connection, SAID);
        assertThat(warnings()).isEqualTo(3);
    }

    /** Returns a connection that takes the place of ours, unless the server has not seen yet that ours is gone. */
    private static Optional<Socket> connected(int port) {
        try {
            var socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setSoTimeout((int) PATIENCE.toMillis());
            socket.getOutputStream().write("CONNECT {\"verbose\":false}\r\nPING\r\n".getBytes(StandardCharsets.UTF_8));
            var said = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            for (var line = said.readLine(); line != null; line = said.readLine()) {
                if (line.equals("PONG")) {
                    return Optional.of(socket);
                }
                if (line.startsWith("-ERR")) {
                    break;
                }
            }
            socket.close();
            return Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
