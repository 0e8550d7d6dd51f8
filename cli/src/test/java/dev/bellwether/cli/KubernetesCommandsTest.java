package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.testkit.Eventually;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The commands against a real API server. */
@Timeout(180)
@Tag("kubernetes")
class KubernetesCommandsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @SuppressWarnings("NullAway.Init")
    private static KubernetesServers servers;

    @TempDir
    Path folder;

    @BeforeAll
    static void startServer() {
        servers = KubernetesServers.start(1, 1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @Test
    void aCommandRunsUnderTheTokenOfItsMandate() throws Exception {
        var trace = folder.resolve("trace");
        var run = spoken("run", "--id", "ann", "nightly", "--", "sh", "-c", "echo $BELLWETHER_TOKEN >" + trace);
        assertThat(run.code()).as(run.all()).isZero();
        assertThat(Long.parseLong(Files.readString(trace).strip())).isPositive();
    }

    @Test
    void whoLeadsAndWhoStandsByIsListedAndTheLeaderCanBeSentAway() throws Exception {
        var lease = CandidacyConfig.ofLease(Duration.ofSeconds(20));
        try (var elections = Elections.connect(servers.uri("cli", ""));
                var ann = elections.stand(
                        "billing", lease.toBuilder().candidate("ann").build())) {
            var first = ann.await(PATIENCE).orElseThrow();
            var bob = elections.stand(
                    "billing", lease.toBuilder().candidate("bob").build());
            Eventually.eventually(
                    "both are shown",
                    PATIENCE,
                    () -> spoken("show", "billing").out().contains("ann")
                            && spoken("show", "billing").out().contains("bob"));
            assertThat(spoken("ls").out()).contains("billing", "ann");
            assertThat(spoken("stand-down", "billing", "--yes").out()).contains("Ordered ann");
            assertThat(bob.await(PATIENCE).orElseThrow().token()).isGreaterThan(first.token());
        }
        assertThat(spoken("stand-down", "vacant", "--yes").code()).isEqualTo(ExitCode.NOBODY_LEADS);
    }

    @Test
    void theDoctorTellsOfItsServersAndWhatMustBeMended() {
        var doctor = spoken("doctor", "--lease", "10s");
        assertThat(doctor.code()).as(doctor.all()).isZero();
        assertThat(doctor.out())
                .contains(
                        "Leases of namespace cli at 127.0.0.1:",
                        "a higher resourceVersion is a later one",
                        "an answer takes")
                .contains("no server's clock decides")
                .doesNotContain("Exception");
    }

    @Test
    void aUriWithoutSenseIsRefusedInOneLine() {
        var refused = Spoken.of(Map.of(), "ls", "--on", "k8s:cli?bucket=x");
        assertThat(refused.code()).isNotZero();
        assertThat(refused.err())
                .contains("unknown parameter \"bucket\"", "presence")
                .doesNotContain("Exception");
    }

    private static Spoken spoken(String... words) {
        return Spoken.of(Map.of("BELLWETHER_ON", servers.uri("cli", "")), words);
    }
}
