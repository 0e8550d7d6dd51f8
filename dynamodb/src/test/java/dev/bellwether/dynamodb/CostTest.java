package dev.bellwether.dynamodb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.DynamoDbGateway;
import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What elections ask for, as each request costs money. */
@Timeout(180)
@Tag("full") // it counts requests for two minutes
class CostTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final Duration LOOK = Duration.ofSeconds(25);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(10));
    private static final CandidacyConfig SHORT = CandidacyConfig.ofLease(Duration.ofSeconds(3));
    private static final CandidacyConfig LONG = CandidacyConfig.ofLease(Duration.ofSeconds(30));

    private static final Pattern TOLD =
            Pattern.compile("takes (?<writes>\\d+) write units an hour by .* and (?<reads>\\d+) read units by each");

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

    @Test
    void aStandbyReadsNoMoreThanThePollAndWritesNothing() throws Exception {
        try (var gateway = DynamoDbGateway.to(server);
                var leading = Elections.connect(server.uri("cost", "&create=true"));
                var leader = leading.stand("polled", CONFIG);
                var standing = Elections.connect(gateway.uri("cost", ""))) {
            assertThat(leader.await(PATIENCE)).isPresent();
            follows(standing.stand("polled", CONFIG));
            var reads = gateway.count("GetItem");
            var writes = gateway.count("PutItem");

            pass(LOOK);

            assertThat(gateway.count("GetItem") - reads)
                    .as("every 2 s, and no more")
                    .isBetween(8, 14);
            assertThat(gateway.count("PutItem") - writes).isZero();
        }
    }

    @Test
    void theDoctorTellsWhatIsAskedFor() throws Exception {
        try (var one = DynamoDbGateway.to(server);
                var other = DynamoDbGateway.to(server);
                var leading = Elections.connect(one.uri("cost", "&create=true&poll=1s"));
                var leader = leading.stand("told", SHORT);
                var standing = Elections.connect(other.uri("cost", "&poll=1s"));
                var backend = ConnectUri.parse(one.uri("cost", "&poll=1s")).connect()) {
            assertThat(leader.await(PATIENCE)).isPresent();
            var standby = standing.stand("told", SHORT);
            Eventually.eventually(
                    "one leads and the other follows",
                    PATIENCE,
                    () -> Stream.of(leader, standby)
                            .anyMatch(
                                    candidacy -> candidacy.status().following().isPresent()));
            pass(Duration.ofSeconds(3));
            var told = TOLD.matcher(backend.findings(SHORT).stream()
                    .filter(finding -> finding.about().equals("cost"))
                    .map(Finding::says)
                    .findFirst()
                    .orElseThrow());
            assertThat(told.find()).isTrue();
            var begun = System.nanoTime();
            var writes = one.count("PutItem") + other.count("PutItem"); // who leads may change on a machine that stalls
            var reads = Map.of(one, readUnits(one), other, readUnits(other));

            pass(LOOK);

            var hours = (System.nanoTime() - begun) / 3_600e9;
            assertThat((one.count("PutItem") + other.count("PutItem") - writes) / hours)
                    .as("write units of the leader")
                    .isCloseTo(Integer.parseInt(told.group("writes")), Percentage.withPercentage(25));
            reads.forEach((gateway, before) -> assertThat((readUnits(gateway) - before) / hours)
                    .as("read units of %s", gateway == one ? "the leader" : "the standby")
                    .isCloseTo(Integer.parseInt(told.group("reads")), Percentage.withPercentage(25)));
        }
    }

    /** All of them are eventually consistent here. */
    private static double readUnits(DynamoDbGateway gateway) {
        return (gateway.count("GetItem") + gateway.count("Query")) / 2.0;
    }

    @Test
    void withoutAPollAStandbyReadsOnceALease() throws Exception {
        try (var gateway = DynamoDbGateway.to(server);
                var leading = Elections.connect(server.uri("cost", "&create=true"));
                var leader = leading.stand("unpolled", CONFIG);
                var standing = Elections.connect(gateway.uri("cost", "&poll=0"))) {
            assertThat(leader.await(PATIENCE)).isPresent();
            follows(standing.stand("unpolled", CONFIG));
            var gets = gateway.count("GetItem");

            pass(LOOK);

            assertThat(gateway.count("GetItem") - gets).isBetween(1, 4);
        }
    }

    @Test
    void seatsThatShareASessionAreRenewedByOneWrite() throws Exception {
        try (var gateway = DynamoDbGateway.to(server);
                var elections = Elections.connect(gateway.uri("cost", "&create=true"))) {
            var all = IntStream.range(0, 24)
                    .mapToObj(i -> elections.stand("shared-" + i, LONG))
                    .toList();
            for (var one : all) {
                assertThat(one.await(PATIENCE)).isPresent();
            }
            Eventually.eventually("all have joined", PATIENCE, () -> {
                var before = gateway.count("PutItem");
                pass(LONG.renewInterval());
                return gateway.count("PutItem") - before <= 2;
            });
            assertThat(all).allMatch(Candidacy::isLeader);
        }
    }

    private static void pass(Duration time) {
        var until = System.nanoTime() + time.toNanos();
        Eventually.eventually("time passes", PATIENCE, () -> System.nanoTime() - until > 0);
    }

    private static void follows(Candidacy standby) {
        Eventually.eventually(
                "it follows", PATIENCE, () -> standby.status().following().isPresent());
        pass(Duration.ofSeconds(3));
    }
}
