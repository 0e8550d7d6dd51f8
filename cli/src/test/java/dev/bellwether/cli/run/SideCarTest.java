package dev.bellwether.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.cli.page.LocalHttp;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What {@code serve} answers, and what a hand-over then waits for. */
@Timeout(120)
class SideCarTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String TOKEN = "a token for orders";
    private static final LeasePlan PLAN =
            LeasePlan.of(Optional.of(Duration.ofSeconds(20)), Optional.of(Duration.ofSeconds(2)));

    private final String uri = "memory:" + UUID.randomUUID();
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final List<AutoCloseable> opened = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (var i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    @Test
    void leaderIsToldSoForNoLongerThanTheGraceAndItsToken() throws Exception {
        var ann = sideCar("ann", "billing");

        Eventually.eventually("it leads", PATIENCE, () -> ann.get("/isleader").statusCode() == 200);

        var words = ann.get("/isleader").body().strip().split(" ", -1);
        assertThat(words).hasSize(2);
        assertThat(Long.parseLong(words[0])).isBetween(1L, PLAN.grace().toMillis());
        assertThat(words[1]).isEqualTo("1");
        var one = ann.json("/elections/billing");
        assertThat(one.get("election").asText()).isEqualTo("billing");
        assertThat(one.get("candidate").asText()).isEqualTo("ann");
        assertThat(one.get("leader").asText()).isEqualTo("ann");
        assertThat(one.get("leads").asBoolean()).isTrue();
        assertThat(one.get("token").asLong()).isEqualTo(1);
        assertThat(one.get("remainingMillis").asLong())
                .isBetween(1L, PLAN.grace().toMillis());
        assertThat(one.get("phase").asText()).isEqualTo("leading");
        assertThat(ann.json("/elections").get("elections")).hasSize(1);
        assertThat(ann.send("HEAD", "/isleader", "").statusCode()).isEqualTo(200);
    }

    @Test
    void standbyIsTold503AndWhoLeads() throws Exception {
        var ann = sideCar("ann", "billing");
        Eventually.eventually("it leads", PATIENCE, () -> ann.get("/isleader").statusCode() == 200);
        var bob = sideCar("bob", "billing");

        Eventually.eventually(
                "it knows who leads",
                PATIENCE,
                () -> bob.json("/leader").get("name").asText().equals("ann"));

        var answer = bob.get("/isleader");
        assertThat(answer.statusCode()).isEqualTo(503);
        assertThat(answer.body()).isEqualTo("0 0\n");
        assertThat(bob.json("/").get("last_update").asText()).matches("\\d{4}-.*Z");
        assertThat(bob.json("/elections/billing").get("phase").asText()).isEqualTo("standing-by");
    }

    @Test
    void anotherOfOurNameIsNotTakenForUs() throws Exception {
        var ann = sideCar("host-a", "billing");
        Eventually.eventually("it leads", PATIENCE, () -> ann.get("/isleader").statusCode() == 200);
        var twin = sideCar("host-a", "billing");
        Eventually.eventually(
                "it stands by",
                PATIENCE,
                () -> twin.served.get(0).candidacy().status().following().isPresent());

        assertThat(ann.json("/leader").get("name").asText()).isEqualTo("host-a");
        assertThat(twin.json("/leader").get("name").asText()).isEmpty();
    }

    @Test
    void withSeveralElectionsTheQuestionNamesOne() throws Exception {
        var ann = sideCar("ann", "billing", "a/b c");
        Eventually.eventually(
                "it leads",
                PATIENCE,
                () -> ann.get("/isleader?election=a%2Fb+c").statusCode() == 200);

        assertThat(ann.json("/elections/a%2Fb%20c").get("election").asText()).isEqualTo("a/b c");
        assertThat(ann.json("/elections").get("elections")).hasSize(2);
        for (var path : List.of("/leader", "/isleader", "/events", "/")) {
            assertThat(ann.get(path).statusCode()).as(path).isEqualTo(400);
            assertThat(ann.get(path).body()).contains("?election=NAME", "\"billing\", \"a/b c\"");
        }
        for (var path : List.of("/leader?election=x", "/elections/x", "/elections/")) {
            assertThat(ann.get(path).statusCode()).as(path).isEqualTo(404);
            assertThat(ann.get(path).body()).contains("Nobody stands in \"", "\"billing\", \"a/b c\"");
        }
    }

    @Test
    void whatIsNotThereSaysWhatIs() throws Exception {
        var ann = sideCar("ann", "billing");

        assertThat(ann.get("/isLeader").statusCode()).isEqualTo(404);
        assertThat(ann.get("/isLeader").body()).contains("There is no /isLeader: there are /leader, /isleader,");
        assertThat(ann.send("POST", "/isleader", "").statusCode()).isEqualTo(405);
        assertThat(ann.send("GET", "/stand-down", TOKEN).statusCode()).isEqualTo(405);
    }

    @Test
    void ordersNeedTheToken() throws Exception {
        var ann = sideCar("ann", "billing");
        Eventually.eventually("it leads", PATIENCE, () -> ann.get("/isleader").statusCode() == 200);
        var bob = sideCar("bob", "billing");

        assertThat(ann.send("POST", "/stand-down", "").statusCode()).isEqualTo(403);
        assertThat(ann.send("POST", "/stand-down", "another").statusCode()).isEqualTo(403);
        assertThat(ann.get("/isleader").statusCode()).isEqualTo(200);
        assertThat(ann.send("POST", "/stand-down?election=x", TOKEN).statusCode())
                .isEqualTo(404);

        assertThat(ann.send("POST", "/stand-down?election=billing", TOKEN).statusCode())
                .isEqualTo(204);

        Eventually.eventually(
                "the other leads", PATIENCE, () -> bob.get("/isleader").statusCode() == 200);
        assertThat(ann.get("/isleader").statusCode()).isEqualTo(503);
    }

    @Test
    void whoIsToldToStandByLeadsNoMoreUntilItIsToStandAgain() throws Exception {
        var ann = sideCar("ann", "billing", "other");
        Eventually.eventually(
                "it leads",
                PATIENCE,
                () -> ann.get("/isleader?election=billing").statusCode() == 200);

        assertThat(ann.send("POST", "/stand-aside", TOKEN).statusCode()).isEqualTo(400);
        assertThat(ann.send("POST", "/stand-aside?election=billing", "").statusCode())
                .isEqualTo(403);
        assertThat(ann.send("POST", "/stand-aside?election=billing", TOKEN).statusCode())
                .isEqualTo(204);

        Eventually.eventually(
                "it leads no more",
                PATIENCE,
                () -> ann.json("/elections/billing").get("phase").asText().equals("standing-aside"));
        Eventually.throughout(
                "it does not take the seat",
                Duration.ofSeconds(1),
                () -> ann.get("/isleader?election=billing").statusCode() == 503);
        assertThat(ann.send("POST", "/stand-again?election=billing", TOKEN).statusCode())
                .isEqualTo(204);
        Eventually.eventually(
                "it leads again",
                PATIENCE,
                () -> ann.get("/isleader?election=billing").statusCode() == 200);
    }

    @Test
    void anOrderToOneThatHasEndedIsRefused() throws Exception {
        var ann = sideCar("ann", "billing");
        Eventually.eventually("it leads", PATIENCE, () -> ann.get("/isleader").statusCode() == 200);
        open(Elections.connect(uri)).election("billing").end();
        Eventually.eventually(
                "it has ended",
                PATIENCE,
                () -> ann.json("/elections/billing").get("phase").asText().equals("closed"));

        for (var path : List.of("/stand-down", "/stand-aside", "/stand-again")) {
            assertThat(ann.send("POST", path, TOKEN).statusCode()).as(path).isEqualTo(409);
            assertThat(ann.send("POST", path, TOKEN).body())
                    .contains("\"billing\" has ended here", "start this process again");
        }
    }

    @Test
    void anOrderToOneThatIsLeavingIsRefused() throws Exception {
        var ann = sideCar("ann", "billing");
        Eventually.eventually("it leads", PATIENCE, () -> ann.get("/isleader").statusCode() == 200);
        var heard = new CountDownLatch(1);
        opened.add(ann.served.get(0).candidacy().listen(event -> {
            if (event instanceof LeadershipEvent.Ended) {
                heard.await();
            }
        }));
        open(Elections.connect(uri)).election("billing").end();
        try {
            Eventually.eventually(
                    "it is leaving",
                    PATIENCE,
                    () -> ann.json("/elections/billing").get("phase").asText().equals("leaving"));

            assertThat(ann.send("POST", "/stand-again", TOKEN).statusCode()).isEqualTo(409);
        } finally {
            heard.countDown();
        }
    }

    @Test
    void handOverWaitsForWhatWasPromised() throws Exception {
        var ann = sideCar("ann", "billing");
        Eventually.eventually("it leads", PATIENCE, () -> ann.get("/isleader").statusCode() == 200);
        var successor = new CompletableFuture<Long>();
        var elections = open(Elections.connect(uri));
        var next = elections.stand(
                "billing",
                CandidacyConfig.builder()
                        .lease(PLAN.lease())
                        .listener(event -> {
                            if (event instanceof LeadershipEvent.Acquired) {
                                successor.complete(System.nanoTime());
                            }
                        })
                        .build());
        Eventually.eventually(
                "it follows", PATIENCE, () -> next.status().following().isPresent());

        var sent = System.nanoTime();
        var left = Long.parseLong(ann.get("/isleader").body().split(" ", -1)[0]);
        assertThat(ann.send("POST", "/stand-down", TOKEN).statusCode()).isEqualTo(204);

        var until = sent + TimeUnit.MILLISECONDS.toNanos(left);
        assertThat(successor.get(PATIENCE.toSeconds(), TimeUnit.SECONDS) - until)
                .as(Never.mark("another leads before what was promised is over"))
                .isPositive();
    }

    @Test
    void streamTellsChangesAndCallsToAskAgainMeanwhile() throws Exception {
        var ann = sideCar("ann", "billing");
        Eventually.eventually("it leads", PATIENCE, () -> ann.get("/isleader").statusCode() == 200);
        var stream = ann.stream("/events");

        assertThat(stream.readLine()).contains("\"name\":\"ann\"", "\"leads\":true", "\"token\":1");
        assertThat(stream.readLine()).isEmpty();
        assertThat(stream.readLine()).isEqualTo("event: ask");
        assertThat(stream.readLine()).isEqualTo("data: {}");
        assertThat(ann.send("POST", "/stand-down", TOKEN).statusCode()).isEqualTo(204);

        var told = stream.readLine();
        while (!told.contains("\"leads\"")) {
            told = stream.readLine();
        }
        assertThat(told).contains("\"name\":\"\"", "\"leads\":false", "\"token\":0");

        ann.server.close();
        var last = List.of(stream.lines().toArray(String[]::new));
        assertThat(last).contains("event: over");
    }

    private Asked sideCar(String id, String... names) {
        var elections = open(Elections.connect(uri));
        var settings = CandidacyConfig.builder()
                .candidate(id)
                .lease(PLAN.lease())
                .standDownBudget(PLAN.budget())
                .build();
        var served = Arrays.stream(names)
                .map(name -> new ServedElection(elections, name, settings, PLAN))
                .toList();
        var http = LocalHttp.listen(
                new LocalHttp.Place(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), List.of()), "test");
        return new Asked(open(SideCar.start(http, served, TOKEN)), served, http.address());
    }

    private <T extends AutoCloseable> T open(T one) {
        opened.add(one);
        return one;
    }

    /** One side-car, as those see it who ask. */
    private final class Asked {
        private final SideCar server;
        private final List<ServedElection> served;
        private final String address;

        private Asked(SideCar server, List<ServedElection> served, String address) {
            this.server = server;
            this.served = served;
            this.address = address;
        }

        private HttpResponse<String> get(String path) {
            return send("GET", path, "");
        }

        private JsonNode json(String path) {
            try {
                return new ObjectMapper().readTree(get(path).body());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private HttpResponse<String> send(String method, String path, String token) {
            var request = request(path).method(method, HttpRequest.BodyPublishers.noBody());
            if (!token.isEmpty()) {
                request.header(LocalHttp.TOKEN_HEADER, token);
            }
            try {
                return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError(e);
            }
        }

        private BufferedReader stream(String path) throws IOException, InterruptedException {
            var answer = client.send(request(path).build(), HttpResponse.BodyHandlers.ofInputStream());
            assertThat(answer.headers().firstValue("Content-Type")).contains("text/event-stream");
            return open(new BufferedReader(new InputStreamReader(answer.body(), StandardCharsets.UTF_8)));
        }

        private HttpRequest.Builder request(String path) {
            return HttpRequest.newBuilder(URI.create(address + path.substring(1)));
        }
    }
}
