package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.bellwether.Elections;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class KubernetesStepsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @Test
    void aStandbyIsReadyAndAliveAndWhatHasEndedIsNotAlive() throws Exception {
        var serves = new AtomicBoolean(true);
        var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        try (var elections = Elections.connect("memory:probes");
                var leader = elections.stand("billing");
                var standby = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
            KubernetesSteps.probe(server, standby, serves::get);
            server.start();
            assertThat(status(server, "/ready")).isEqualTo(200);
            assertThat(status(server, "/live")).isEqualTo(200);
            serves.set(false);
            assertThat(status(server, "/ready")).isEqualTo(503);
            elections.election("billing").end();
            standby.awaitClose();
            assertThat(status(server, "/live")).isEqualTo(503);
        } finally {
            server.stop(0);
        }
    }

    private static int status(HttpServer server, String path) throws IOException, InterruptedException {
        var uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
        return HttpClient.newHttpClient()
                .send(HttpRequest.newBuilder(uri).timeout(PATIENCE).build(), HttpResponse.BodyHandlers.discarding())
                .statusCode();
    }
}
