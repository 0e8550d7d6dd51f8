package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.testkit.Eventually;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class DoctorTest {
    @TempDir
    Path folder;

    @Test
    void healthyBackendIsToldWithItsArithmetic() {
        var spoken = on("--lease", "5s");

        assertThat(spoken.code()).as(spoken.all()).isZero();
        assertThat(spoken.out())
                .contains("each renewal gives 3950 ms: lease 5000 ms - drift 50 ms - stand-down budget 1000 ms")
                .contains("an outage of 1783 ms changes nothing, less a round trip")
                .contains("drift 50 ms + stand-down budget 1000 ms")
                .contains("vacant for 5500 ms at most, and a round trip: lease 5000 ms + retry 500 ms")
                .contains("an answer takes")
                .contains("we may read and write");
    }

    @Test
    void findingsComeAsJsonWithTheTermsOfEachSum() {
        var spoken = on("--json");

        var crash = finding(spoken.json(), "crash");
        assertThat(crash.get("level").asText()).isEqualTo("ok");
        assertThat(crash.get("terms").get("lease").asLong()).isEqualTo(10_000);
        assertThat(crash.get("millis").asLong())
                .isEqualTo(10_000 + crash.get("terms").get("retry").asLong());
        assertThat(crash.has("remedy")).isFalse();
        assertThat(spoken.json().get("on").asText()).startsWith("jdbc:sqlite:");
    }

    @Test
    void voidPromiseIsAnErrorWithItsRemedyAndExitsWith1() {
        var spoken = Spoken.of(Map.of(), "doctor", "--on", Commands.uri(folder) + "?synchronous=OFF", "--json");

        assertThat(spoken.code()).isEqualTo(ExitCode.FAILED);
        var durability = finding(spoken.json(), "durability");
        assertThat(durability.get("level").asText()).isEqualTo("error");
        assertThat(durability.get("remedy").asText()).contains("synchronous=FULL");
    }

    @Test
    void backendThatRefusesUsIsAnErrorAndNotAStackTrace() {
        var spoken = Spoken.of(Map.of(), "doctor", "--on", Commands.uri(folder) + "?bellwether.createTable=false");

        assertThat(spoken.code()).isEqualTo(ExitCode.FAILED);
        assertThat(spoken.out()).contains("error", "refused", "-> ").doesNotContain("Exception");
    }

    @Test
    void marginIsHalfOfWhatALargeBudgetLeavesOfTheLease() {
        var spoken = on("--lease", "5s", "--stand-down-budget", "2800ms", "--json");

        assertThat(spoken.code()).isZero();
        assertThat(finding(spoken.json(), "margin").get("says").asText())
                .startsWith("an outage of 752 ms changes nothing, less a round trip")
                .endsWith("mandate 2150 ms - renewal every 1075 ms - until a proof comes after it 322 ms");
    }

    @Test
    void settingsThatCannotBeAreMisuse() {
        assertThat(on("--lease", "1s", "--stand-down-budget", "2s").code()).isEqualTo(ExitCode.USAGE);
    }

    @Test
    void electionIsLookedAtToo() {
        var uri = Commands.uri(folder);
        assertThat(seat("billing")).isEqualTo("nobody leads billing");
        try (var elections = Elections.connect(uri)) {
            var ann = elections.stand("billing", named("ann"));
            Eventually.eventually("ann leads", Duration.ofSeconds(60), ann::isLeader);
            assertThat(seat("billing")).contains("ann leads billing, token 1, and nobody is known to stand by");
            elections.stand("billing", named("bob"));
            Eventually.eventually(
                    "bob stands by",
                    Duration.ofSeconds(60),
                    () -> seat("billing").matches("ann leads billing, token 1; 1 stand by, last heard: bob \\d+s ago"));
            elections.election("billing").end();
            assertThat(seat("billing")).contains("has ended");
        }
    }

    private String seat(String election) {
        return finding(on(election, "--json").json(), "election").get("says").asText();
    }

    private static CandidacyConfig named(String id) {
        return CandidacyConfig.builder()
                .candidate(id)
                .lease(Duration.ofSeconds(10))
                .build();
    }

    private Spoken on(String... more) {
        var line = new ArrayList<>(List.of("doctor", "--on", Commands.uri(folder)));
        line.addAll(List.of(more));
        return Spoken.of(Map.of(), line.toArray(String[]::new));
    }

    private static JsonNode finding(JsonNode document, String about) {
        return StreamSupport.stream(document.get("findings").spliterator(), false)
                .filter(one -> one.get("about").asText().equals(about))
                .findFirst()
                .orElseThrow(() -> new AssertionError("nothing about " + about + ": " + document));
    }
}
