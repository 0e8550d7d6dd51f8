package dev.bellwether.consul;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.fixtures.Leading;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tokens and what they may do. */
@Timeout(180)
class RightsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(40);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(6));
    private static final String MASTER = "11111111-1111-1111-1111-111111111111";
    private static final String APP = "22222222-2222-2222-2222-222222222222";
    private static final String LOOKER = "33333333-3333-3333-3333-333333333333";
    private static final String OTHER = "44444444-4444-4444-4444-444444444444";

    @SuppressWarnings("NullAway.Init")
    private static ConsulServers servers;

    @BeforeAll
    static void startServer() {
        servers = ConsulServers.start(
                1, "-hcl=acl { enabled = true default_policy = \"deny\" tokens { master = \"" + MASTER + "\" } }");
        token(APP, "app", "key_prefix \\\"secured/\\\" { policy = \\\"write\\\" }");
        token(LOOKER, "looker", "key_prefix \\\"secured/\\\" { policy = \\\"read\\\" }");
        token(OTHER, "other", "key_prefix \\\"others/\\\" { policy = \\\"write\\\" }");
    }

    private static void token(String secret, String name, String rules) {
        Eventually.eventually(
                "the policy is there",
                PATIENCE,
                () -> servers.member(0)
                        .put("/v1/acl/policy", "{\"Name\":\"" + name + "\",\"Rules\":\"" + rules + "\"}", MASTER)
                        .contains("\"Name\""));
        Eventually.eventually(
                "the token is there",
                PATIENCE,
                () -> servers.member(0)
                        .put(
                                "/v1/acl/token",
                                "{\"SecretID\":\"" + secret + "\",\"Policies\":[{\"Name\":\"" + name + "\"}]}",
                                MASTER)
                        .contains("\"SecretID\""));
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    private static String uri(String token) {
        return servers.uri("/secured?token=" + token);
    }

    @Test
    void theRightThatIsNamedIsEnough() throws Exception {
        Leading.isEnough(uri(APP), CONFIG);
        try (var backend = ConnectUri.parse(uri(APP)).connect()) {
            assertThat(backend.findings(CONFIG))
                    .anyMatch(finding -> finding.about().equals("rights"));
        }
    }

    @Test
    void whoMayOnlyReadLooksAndDoesNotLead() throws Exception {
        try (var elections = Elections.connect(uri(APP));
                var leader = elections.stand("looked-at", CONFIG);
                var lookers = Elections.connect(uri(LOOKER))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            assertThat(lookers.election("looked-at").leader().orElseThrow().token())
                    .isEqualTo(mandate.token());
        }
        refused(uri(LOOKER), "key_prefix \"secured/\" { policy = \"write\" }");
    }

    @Test
    void aWrongTokenAndNoneAndOneForElsewhereSayWhatIsMissing() {
        refused(uri("55555555-5555-5555-5555-555555555555"), "Check the token");
        refused(servers.uri("/secured"), "It wants a token");
        refused(uri(OTHER), "key_prefix \"secured/\" { policy = \"write\" }");
    }

    private static void refused(String uri, String says) {
        Leading.isRefused(uri, CONFIG, says, "5555-", LOOKER, OTHER);
    }
}
