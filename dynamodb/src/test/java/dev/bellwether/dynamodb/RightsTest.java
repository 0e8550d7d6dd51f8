package dev.bellwether.dynamodb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.DynamoDbGateway;
import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.fixtures.Leading;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Proofs;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rights that are missing: the local server knows none, so what AWS would say stands before it. */
@Timeout(180)
class RightsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(40);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(6));

    @SuppressWarnings("NullAway.Init")
    private static DynamoDbServer server;

    @SuppressWarnings("NullAway.Init")
    private DynamoDbGateway gateway;

    @BeforeAll
    static void startServer() {
        server = DynamoDbServer.launch();
        ConnectUri.parse(server.uri("rights", "&create=true")).connect().close();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void startGateway() {
        gateway = DynamoDbGateway.to(server);
    }

    @AfterEach
    void stopGateway() {
        gateway.close();
    }

    @Test
    void theRightsThatAreNamedAreEnough() throws Exception {
        gateway.deny("DescribeTable", "CreateTable", "DescribeTimeToLive", "Scan");
        var uri = gateway.uri("rights", "");
        Leading.isEnough(uri, CONFIG);
        try (var backend = ConnectUri.parse(uri).connect()) {
            assertThat(backend.findings(CONFIG))
                    .filteredOn(finding -> finding.about().equals("rights"))
                    .extracting(finding -> finding.says().replaceAll(".* ", ""))
                    .containsExactlyInAnyOrder("dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"GetItem", "PutItem"})
    void aRightThatIsMissingEndsTheCandidacyAndIsNamed(String action) {
        gateway.deny(action);
        assertThatThrownBy(() -> {
                    try (var elections = Elections.connect(gateway.uri("rights", ""));
                            var leader = elections.stand("refused-" + action, CONFIG)) {
                        leader.awaitClose();
                    }
                })
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("It needs the right dynamodb:" + action + " on the table rights");
    }

    @Test
    void withoutBothDescribeAndGetNothingIsReached() {
        gateway.deny("DescribeTable", "GetItem");
        assertThatThrownBy(() -> Elections.connect(gateway.uri("rights", "")).close())
                .isInstanceOf(AccessRefusedException.class)
                .hasMessageContaining("dynamodb:GetItem");
    }

    @ParameterizedTest
    @ValueSource(strings = {"DescribeTable", "CreateTable"})
    void theRightThatATableWhichIsToBeMadeLacksIsNamed(String action) {
        gateway.deny(action);
        assertThatThrownBy(() -> Elections.connect(gateway.uri("not-made", "&create=true"))
                        .close())
                .isInstanceOf(AccessRefusedException.class)
                .hasMessageContaining("It needs the right dynamodb:" + action + " on the table not-made");
    }

    @Test
    void withoutTheRightsToListAStandbyTakesOverAnyway() throws Exception {
        gateway.deny("Query", "DeleteItem");
        try (var elections = Elections.connect(gateway.uri("rights", "&poll=100ms"));
                var others = Elections.connect(gateway.uri("rights", "&poll=100ms"));
                var leader = elections.stand("unlisted", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            var standby = others.stand("unlisted", CONFIG);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            leader.resign();
            assertThat(standby.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void whoMayOnlyReadLooksAndDoesNotLead() throws Exception {
        try (var elections = Elections.connect(server.uri("rights", ""));
                var leader = elections.stand("looked-at", CONFIG)) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            gateway.deny("PutItem", "DeleteItem", "DescribeTable");
            try (var lookers = Elections.connect(gateway.uri("rights", ""))) {
                assertThat(lookers.election("looked-at").leader().orElseThrow().token())
                        .isEqualTo(mandate.token());
            }
        }
    }

    @Test
    void aRightThatIsTakenAwayForAWhileIsTolerated() throws Exception {
        try (var elections = Elections.connect(gateway.uri("rights", ""));
                var leader = elections.stand("borne", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            var before = gateway.count("PutItem");
            gateway.refuse("PutItem", 400, "ExpiredTokenException", "The security token included is expired");
            Eventually.eventually("renewals are refused", PATIENCE, () -> gateway.count("PutItem") > before + 1);
            gateway.allow();
            var allowed = System.nanoTime();
            Eventually.eventually(
                    "a mandate is extended or new", PATIENCE, () -> Proofs.isProvenSince(leader, allowed));
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }
}
