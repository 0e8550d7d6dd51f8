package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import dev.bellwether.testkit.Proofs;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Beside candidates that keep Choria's rules, in a bucket that three servers keep, as Choria's brokers make it. */
@Tag("cluster")
@Timeout(300)
class ChoriaClusterTest {
    private static final Duration TTL = Duration.ofSeconds(20);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(15));
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final String QUERY = "choria=true&ttl=PT20S";

    @SuppressWarnings("NullAway.Init")
    private static NatsCluster cluster;

    @BeforeAll
    static void startServers() {
        cluster = new NatsCluster();
    }

    @AfterAll
    static void stopServers() {
        cluster.close();
    }

    @Test
    void theBucketIsKeptOnAllThreeAndTheirNamesAreTold() throws Exception {
        try (var backend = ConnectUri.parse(cluster.uri(QUERY)).connect()) {
            var storage = backend.findings(CONFIG).stream()
                    .filter(finding -> finding.about().equals("storage"))
                    .map(Finding::says)
                    .findFirst()
                    .orElseThrow();
            assertThat(storage).startsWith("KV_" + NatsConfig.CHORIA_BUCKET).contains("TTL 20 s, 3 replicas on ");
            for (var i = 0; i < 3; i++) {
                assertThat(storage).contains(cluster.server(i).name());
            }
        }
    }

    @Test
    void oursLeadsOnWhileTheServerThatLeadsTheBucketIsKilledAndTheirsDoesNotLeadBeside() throws Exception {
        var election = "tally";
        var both = new AtomicBoolean();
        try (var elections = Elections.connect(cluster.uri(QUERY));
                var ours = elections.stand(election, CONFIG)) {
            var mandate = ours.await(PATIENCE).orElseThrow();
            var leading = cluster.leader(NatsConfig.CHORIA_BUCKET);
            try (var admin = cluster.admin((leading + 1) % 3);
                    var theirs = new ChoriaLike(
                            admin.ask(connection -> connection.keyValue(NatsConfig.CHORIA_BUCKET)),
                            election,
                            "theirs",
                            TTL,
                            Duration.ZERO);
                    var auditor = new ChoriaTest.Auditor(theirs::isLeader, ours, both)) {
                assertThat(auditor).isNotNull();
                cluster.server(leading).kill();
                var killed = System.nanoTime();
                Eventually.eventually("it is proven again", PATIENCE, () -> Proofs.isProvenSince(ours, killed));
                assertThat(ours.mandate()).as("a lease that rides through").contains(mandate);
                cluster.server(leading).start();
                ours.resign();
                Eventually.eventually("theirs succeeds it", PATIENCE, theirs::isLeader);
            }
        }
        assertThat(both).as(Never.mark("both led at once")).isFalse();
    }
}
