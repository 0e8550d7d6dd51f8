package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.testkit.Eventually;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the commands do on every store of records, against a real server of each kind. */
@Timeout(180)
abstract class StoreCommandsFacts {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path folder;

    /** Returns where elections are held. */
    abstract String uri();

    /** Returns the same with {@code bucket=x}, which no such store knows. */
    abstract String uriWithoutSense();

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
        try (var elections = Elections.connect(uri());
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
    void theSeatIsHandedOverToTheStandbyThatIsNamed() throws Exception {
        var lease = CandidacyConfig.ofLease(Duration.ofSeconds(20));
        try (var elections = Elections.connect(uri());
                var ann = elections.stand(
                        "hand-over", lease.toBuilder().candidate("ann").build())) {
            var first = ann.await(PATIENCE).orElseThrow();
            var bob = elections.stand(
                    "hand-over", lease.toBuilder().candidate("bob").build());
            Eventually.eventually(
                    "both are shown",
                    PATIENCE,
                    () -> spoken("show", "hand-over").out().contains("bob"));
            var nobody = spoken("hand-over", "hand-over", "--to", "eve", "--yes");
            assertThat(nobody.code()).isEqualTo(ExitCode.FAILED);
            assertThat(nobody.out()).contains("\"eve\" does not stand");
            assertThat(ann.isLeader()).isTrue();
            var done = spoken("hand-over", "hand-over", "--to", "bob", "--yes", "--json");
            assertThat(done.code()).isZero();
            assertThat(done.json().get("outcome").asText()).isEqualTo("done");
            assertThat(done.json().toString()).contains("bob");
            assertThat(bob.await(PATIENCE).orElseThrow().token()).isGreaterThan(first.token());
        }
        assertThat(spoken("hand-over", "nobody-here", "--yes").code()).isEqualTo(ExitCode.NOBODY_LEADS);
    }

    @Test
    void aUriWithoutSenseIsRefusedInOneLine() {
        var refused = Spoken.of(Map.of(), "ls", "--on", uriWithoutSense());
        assertThat(refused.code()).isNotZero();
        assertThat(refused.err())
                .contains("unknown parameter \"bucket\"", "presence")
                .doesNotContain("Exception");
    }

    final Spoken spoken(String... words) {
        return Spoken.of(Map.of("BELLWETHER_ON", uri()), words);
    }
}
