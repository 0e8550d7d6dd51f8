package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Clock;
import java.lang.reflect.Proxy;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The auditor looks at candidacies of stores that know nothing of each other, as if their election were one. */
class LeadershipAuditorTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(30));

    @Test
    void twoWhoLeadAtOnceAreReported() throws InterruptedException {
        var auditor = new LeadershipAuditor();
        try (var one = store();
                var other = store()) {
            lead(other, auditor, "warm-up").close();
            var first = lead(one, auditor, "x");
            lead(other, auditor, "x");
            Eventually.eventually(
                    "the overlap is seen",
                    PATIENCE,
                    () -> auditor.violations().stream().anyMatch(violation -> violation.contains("two lead at once")));
            first.close();
        }
        assertThatThrownBy(auditor::close)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("leads under token 1, and 1 was seen before")
                .hasMessageContaining("NEVER: two lead at once");
    }

    @Test
    void aTokenThatDoesNotRiseIsReported() throws InterruptedException {
        var auditor = new LeadershipAuditor();
        try (var one = store();
                var other = store()) {
            var first = lead(one, auditor, "x");
            var token = first.mandate().orElseThrow().token();
            Eventually.eventually(
                    "it is seen",
                    PATIENCE,
                    () -> auditor.firstSeenNanos(first, token).isPresent());
            first.close();
            lead(other, auditor, "x");
            Eventually.eventually(
                    "the token is seen", PATIENCE, () -> !auditor.violations().isEmpty());
        }
        assertThatThrownBy(auditor::close)
                .hasMessageStartingWith(Never.MARK)
                .hasMessageContaining("leads under token 1, and 1 was seen before");
    }

    @Test
    void oneAfterAnotherIsFine() throws InterruptedException {
        var auditor = new LeadershipAuditor();
        try (var one = store()) {
            for (var i = 0; i < 20; i++) {
                lead(one, auditor, "x").close();
            }
        }
        assertThatCode(auditor::close).doesNotThrowAnyException();
    }

    @Test
    void whatCannotBeLookedAtIsReportedAndTheThreadLooksOn() throws InterruptedException {
        var blind = new LeadershipAuditor();
        blind.audit((Candidacy) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Candidacy.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("isLeader")) {
                        throw new StackOverflowError("thrown on purpose");
                    }
                    return "nobody";
                }));
        assertThatThrownBy(blind::close).hasMessageContaining("the auditor cannot look: java.lang.StackOverflowError");
        twoWhoLeadAtOnceAreReported();
    }

    @Test
    void aStageThatCannotBeClearedAsksItsAuditorFirst() throws InterruptedException {
        var stage = new Stage(new MemoryInfrastructure(), "clear");
        try (var one = store();
                var other = store()) {
            lead(one, stage.auditor(), "x");
            lead(other, stage.auditor(), "x");
            Eventually.eventually(
                    "the overlap is seen",
                    PATIENCE,
                    () -> !stage.auditor().violations().isEmpty());
        }
        stage.onClose(() -> {
            throw new IllegalStateException("thrown on purpose");
        });
        assertThatThrownBy(stage::close)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining(Never.MARK)
                .satisfies(failure -> assertThat(failure.getSuppressed())
                        .singleElement()
                        .asString()
                        .contains("thrown on purpose"));
    }

    private static Elections store() {
        return Elections.over(new MemoryLeaseStore(Clock.system()), ElectionsConfig.defaults());
    }

    private static Candidacy lead(Elections elections, LeadershipAuditor auditor, String election)
            throws InterruptedException {
        var candidacy = elections.stand(election, CONFIG);
        auditor.audit(candidacy);
        assertThat(candidacy.await(PATIENCE)).isPresent();
        return candidacy;
    }
}
