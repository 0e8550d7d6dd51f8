package dev.bellwether;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** What is refused, and that the refusal names the setting, the values, and what would be right. */
class CandidacyConfigTest {

    @Test
    void theDefaultsFollowTheLease() {
        var config = CandidacyConfig.ofLease(Duration.ofSeconds(30));
        assertThat(config.renewInterval()).isEqualTo(Duration.ofSeconds(10));
        assertThat(config.retryInterval()).isEqualTo(Duration.ofMillis(2_500));
        assertThat(config.standDownBudget()).isEqualTo(Duration.ofSeconds(6));
    }

    @Test
    void twoRenewalsComeRoundBeforeTheDeadlineHoweverLargeTheBudget() {
        var config = CandidacyConfig.builder()
                .lease(Duration.ofSeconds(20))
                .standDownBudget(Duration.ofSeconds(12))
                .build();
        assertThat(config.renewInterval()).isEqualTo(Duration.ofMillis(3_900));
        assertThat(config.toBuilder()
                        .standDownBudget(Duration.ofSeconds(4))
                        .build()
                        .renewInterval())
                .isEqualTo(Duration.ofSeconds(20).dividedBy(3));
    }

    @Test
    void aRenewalThatComesTooLateIsRefusedWithBothValues() {
        refused(
                () -> CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(10))
                        .standDownBudget(Duration.ofSeconds(4))
                        .renewInterval(Duration.ofSeconds(6))
                        .build(),
                "renewInterval 6 s",
                "lease 10 s",
                "standDownBudget 4 s",
                "5.9 s");
    }

    @Test
    void aBudgetThatLeavesNothingIsRefused() {
        refused(
                () -> CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(5))
                        .standDownBudget(Duration.ofSeconds(5))
                        .build(),
                "standDownBudget 5 s",
                "lease 5 s");
    }

    @Test
    void aRetrySlowerThanTheRenewalIsRefused() {
        refused(
                () -> CandidacyConfig.builder()
                        .renewInterval(Duration.ofSeconds(1))
                        .retryInterval(Duration.ofSeconds(2))
                        .build(),
                "retryInterval 2 s",
                "renewInterval 1 s");
    }

    @Test
    void durationsMustBeLongerThanZero() {
        var builder = CandidacyConfig.builder();
        refused(() -> builder.lease(Duration.ZERO), "lease is 0 s");
        refused(() -> builder.renewInterval(Duration.ZERO), "renewInterval is 0 s");
        refused(() -> builder.retryInterval(Duration.ofMillis(-1)), "retryInterval is -1 ms");
        refused(() -> builder.standDownBudget(Duration.ZERO), "standDownBudget is 0 s");
        refused(() -> builder.standbyBackoff(Duration.ZERO), "standbyBackoff is 0 s");
        refused(() -> builder.maxPulseInterval(Duration.ZERO), "maxPulseInterval is 0 s");
        refused(() -> builder.accessPatience(Duration.ZERO), "accessPatience is 0 s");
        refused(() -> builder.taskInterval(Duration.ZERO), "taskInterval is 0 s");
        refused(() -> builder.lease(Duration.ofDays(1000)), "lease is 1000 d", "at most");
        refused(() -> ElectionsConfig.builder().requestTimeout(Duration.ZERO), "requestTimeout is 0 s");
        refused(() -> ElectionsConfig.builder().pauseBound(Duration.ZERO), "pauseBound is 0 s");
    }

    @Test
    void refusedAccessIsToleratedForFiveMinutesUnlessSetOtherwise() {
        assertThat(CandidacyConfig.defaults().accessPatience()).isEqualTo(Duration.ofMinutes(5));
        var config =
                CandidacyConfig.builder().accessPatience(Duration.ofSeconds(7)).build();
        assertThat(config.accessPatience()).isEqualTo(Duration.ofSeconds(7));
        assertThat(config.toBuilder().build().accessPatience()).isEqualTo(Duration.ofSeconds(7));
    }

    @Test
    void numbersHaveBounds() {
        refused(() -> CandidacyConfig.builder().driftBound(0), "driftBound is 0.0", "0.0001");
        refused(() -> CandidacyConfig.builder().driftBound(Double.NaN), "driftBound is NaN");
        refused(() -> CandidacyConfig.builder().driftBound(0.6), "driftBound is 0.6", "0.5");
        refused(() -> CandidacyConfig.builder().priority(1001), "priority is 1001", "1000");
        refused(() -> CandidacyConfig.builder().metadata(Map.of("k", "x".repeat(1024))), "1025", "1024");
        refused(
                () -> CandidacyConfig.builder().metadata(Map.of("k", "a\0")),
                "metadata key \"k\"",
                "U+0000",
                "position 1");
        assertThat(CandidacyConfig.builder()
                        .metadata(Map.of("k", "two\nlines"))
                        .build()
                        .metadata())
                .hasSize(1);
        refused(() -> CandidacyConfig.builder().lease(Duration.ofMillis(9)), "lease is 9 ms", "10 ms");
    }

    @Test
    void namesMustBeShortAndPrintable() {
        refused(() -> CandidacyConfig.builder().candidate(" "), "candidate id is blank");
        refused(() -> CandidacyConfig.builder().candidate("x".repeat(201)), "201", "200");
        refused(() -> Names.election("a\nb"), "election name", "U+000A", "position 1");
        refused(() -> Names.election("a\ud800b"), "U+D800", "position 1");
        refused(() -> Names.election("ab\u2028c"), "U+2028", "position 2");
        refused(() -> Names.election(" billing"), "\" billing\"", "white space");
        assertThat(Names.election("München/売上.b 1")).isEqualTo("München/売上.b 1");
        assertThat(Names.election("😀".repeat(200))).hasSize(400);
    }

    @Test
    void aBuilderMadeOfSettingsMakesTheSameSettings() {
        var config = CandidacyConfig.builder()
                .candidate("a")
                .lease(Duration.ofSeconds(20))
                .renewInterval(Duration.ofSeconds(3))
                .retryInterval(Duration.ofSeconds(1))
                .standDownBudget(Duration.ofSeconds(5))
                .driftBound(0.02)
                .standbyBackoff(Duration.ofSeconds(9))
                .priority(3)
                .metadata(Map.of("zone", "b"))
                .maxPulseInterval(Duration.ofSeconds(7))
                .listener(event -> {})
                .executor(Runnable::run)
                .onTaskFailure(TaskFailure.END)
                .taskInterval(Duration.ofSeconds(2))
                .haltOnOverrun(true)
                .build();
        assertThat(config.toBuilder().build()).usingRecursiveComparison().isEqualTo(config);
    }

    @Test
    void whatFollowsTheLeaseFollowsItInACopyToo() {
        var copy = CandidacyConfig.defaults().toBuilder()
                .lease(Duration.ofSeconds(1))
                .build();
        assertThat(copy).usingRecursiveComparison().isEqualTo(CandidacyConfig.ofLease(Duration.ofSeconds(1)));
    }

    @Test
    void whatWasSetIsKeptInACopyThoughItWasWhatItIsByDefault() {
        var copy = CandidacyConfig.builder()
                .standDownBudget(Duration.ofSeconds(2))
                .renewInterval(CandidacyConfig.defaults().renewInterval())
                .retryInterval(CandidacyConfig.defaults().retryInterval())
                .build()
                .toBuilder()
                .lease(Duration.ofSeconds(60))
                .build();
        assertThat(copy.standDownBudget()).isEqualTo(Duration.ofSeconds(2));
        assertThat(copy.renewInterval()).isEqualTo(CandidacyConfig.defaults().renewInterval());
        assertThat(copy.retryInterval()).isEqualTo(CandidacyConfig.defaults().retryInterval());
    }

    @Test
    void idsAreUniqueInTheProcessUnlessGiven() {
        var config = CandidacyConfig.defaults();
        assertThat(config.candidateOrNew())
                .isNotEqualTo(config.candidateOrNew())
                .matches(".+_" + ProcessHandle.current().pid() + "_\\d+_\\d+");
    }

    /** To stand would take seconds while name servers are away, which are asked of nothing else. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void theHostNeedNotBeKnownToNameServers() throws Exception {
        var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        var classPath = System.getProperty("java.class.path")
                + File.pathSeparator
                + Objects.requireNonNullElse(System.getProperty("jdk.module.path"), "");
        var process = new ProcessBuilder(
                        java, "-Djdk.net.hosts.file=/dev/null", "-cp", classPath, PrintsAnId.class.getName())
                .redirectErrorStream(true)
                .start();
        var printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(printed)
                .startsWith(
                        Files.readString(Path.of("/proc/sys/kernel/hostname")).strip() + "_");
    }

    /** In a process of its own. */
    static final class PrintsAnId {
        private PrintsAnId() {}

        public static void main(String[] args) {
            System.out.println(CandidacyConfig.defaults().candidateOrNew());
        }
    }

    private static void refused(ThrowingCallable setting, String... named) {
        assertThatThrownBy(setting).isInstanceOf(ElectionException.class).hasMessageContainingAll(named);
    }
}
