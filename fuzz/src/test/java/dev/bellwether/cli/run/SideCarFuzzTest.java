package dev.bellwether.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.api.BugDetectors;
import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.cli.page.LocalHttp;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** Whatever somebody sends to the port of {@code serve}: the next one who asks who leads is answered. */
class SideCarFuzzTest {
    private static final LeasePlan PLAN =
            LeasePlan.of(Optional.of(Duration.ofHours(1)), Optional.of(Duration.ofSeconds(2)));
    /** So long nobody waits for an answer that comes at all. */
    private static final int HANGS_MILLIS = 60_000;

    private static final InetSocketAddress PLACE = start();

    private static InetSocketAddress start() {
        var elections = Elections.connect("memory:" + UUID.randomUUID());
        var settings = CandidacyConfig.builder()
                .candidate("ann")
                .lease(PLAN.lease())
                .standDownBudget(PLAN.budget())
                .build();
        var place = new LocalHttp.Place(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), List.of());
        var http = LocalHttp.listen(place, "fuzzed");
        var served = new ServedElection(elections, "billing", settings, PLAN);
        SideCar.start(http, List.of(served), "a token that nobody guesses"); // until this process ends
        return new InetSocketAddress(
                InetAddress.getLoopbackAddress(), URI.create(http.address()).getPort());
    }

    @FuzzTest(maxDuration = "5s")
    void whoAsksNextIsAnswered(byte[] bytes) throws IOException {
        var request = new String(bytes, StandardCharsets.ISO_8859_1).replace("\n", "\r\n");
        // At each call: when the fuzzer is ready, it forgets what was allowed before.
        var allowed = BugDetectors.allowNetworkConnections((host, port) -> port == PLACE.getPort());
        try {
            send(request.getBytes(StandardCharsets.ISO_8859_1));
            assertThat(send("GET /leader HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                            .getBytes(StandardCharsets.ISO_8859_1)))
                    .startsWith("HTTP/1.1 200 ");
        } finally {
            allowed.close();
        }
    }

    /** Returns the beginning of the answer; nothing if the other side hangs up. */
    private static String send(byte[] request) throws IOException {
        try (var socket = new Socket()) {
            socket.connect(PLACE, HANGS_MILLIS);
            socket.setSoTimeout(HANGS_MILLIS);
            socket.setTcpNoDelay(true);
            try {
                socket.getOutputStream().write(request);
                socket.shutdownOutput();
                return new String(socket.getInputStream().readNBytes(16), StandardCharsets.ISO_8859_1);
            } catch (SocketException e) {
                return ""; // it has hung up before we had said all
            }
        }
    }
}
