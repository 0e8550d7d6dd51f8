package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Leader;
import dev.bellwether.Phase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(BellwetherExtension.class)
class ControlledElectionsTest {
    private static final Duration LEASE = Duration.ofSeconds(10); // a mandate holds for 7.9 s after a proof

    private final EventLog log = new EventLog();
    private ControlledElections controlled;
    private ControlledElection billing;
    private Candidacy candidacy;

    // JUnit calls stand before anything else can look
    @SuppressWarnings("NullAway.Init")
    ControlledElectionsTest() {}

    @BeforeEach
    void stand(ControlledElections controlled, Elections elections) {
        this.controlled = controlled;
        billing = controlled.election("billing");
        candidacy = elections.stand("billing", config().listener(log).build());
    }

    private static CandidacyConfig.Builder config() {
        return CandidacyConfig.builder().candidate("a").lease(LEASE);
    }

    @Test
    void nobodyLeadsBeforeTheTestSaysSo() {
        controlled.advance(Duration.ofHours(1));
        assertThat(candidacy.isLeader()).isFalse();
        assertThat(log.turns()).isEmpty();
        assertThat(billing.acquire()).isEqualTo(1);
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(log.turns()).containsExactly("Acquired 1");
    }

    @Test
    void aLeaderLeadsForAsLongAsTimePasses() {
        billing.acquire();
        controlled.advance(Duration.ofHours(1));
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(log.turns()).containsExactly("Acquired 1");
    }

    @Test
    void revokedItStandsByAndMayAcquireAgain() {
        billing.acquire();
        billing.revoke();
        assertThat(candidacy.isLeader()).isFalse();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.STANDING_BY);
        assertThat(billing.acquire()).isEqualTo(2);
        assertThat(log.turns()).containsExactly("Acquired 1", "Revoked 1 MOVED", "Acquired 2");
    }

    @Test
    void anOperatorsOrderMakesItHoldBackForALease() {
        billing.acquire();
        assertThat(controlled.elections().election("billing").standDown()).isTrue();
        assertThat(log.turns()).containsExactly("Acquired 1", "Revoked 1 REVOKED_BY_OPERATOR");
        assertThatThrownBy(billing::acquire).hasMessageContaining("holds back");
        controlled.advance(LEASE);
        billing.acquire();
        billing.revoke(Cause.REVOKED_BY_OPERATOR);
        assertThatThrownBy(billing::acquire).hasMessageContaining("holds back");
    }

    @Test
    void fencedItHearsSoAndMayAcquireAgain() {
        billing.acquire();
        billing.fence();
        assertThat(candidacy.isLeader()).isFalse();
        billing.acquire();
        billing.fence(Cause.REPLACED);
        assertThat(log.turns()).containsExactly("Acquired 1", "Fenced 1 EXPIRED", "Acquired 2", "Fenced 2 REPLACED");
    }

    @Test
    void anErrorEndsTheCandidacyAndIsThrownByPulse() throws InterruptedException {
        billing.acquire();
        assertThat(candidacy.pulse(Duration.ZERO)).isTrue();
        var error = new ElectionException("no right to write");
        billing.fail(error);
        assertThat(log.turns()).containsExactly("Acquired 1", "Revoked 1 FAILED", "Failed no right to write");
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        assertThatThrownBy(() -> candidacy.pulse(Duration.ZERO)).hasRootCause(error);
    }

    @Test
    void aSilentElectionIsLostAtTheDeadline() {
        billing.acquire();
        billing.goSilent();
        controlled.advance(Duration.ofMillis(7_900)
                .minusNanos(2_000_000)); // the wall clock's deadline comes in whole milliseconds
        assertThat(candidacy.isLeader()).isTrue();
        controlled.advance(Duration.ofMillis(2));
        assertThat(candidacy.isLeader()).isFalse();
        assertThat(log.turns()).containsExactly("Acquired 1", "Fenced 1 UNREACHABLE");
    }

    @Test
    void aShortSilenceChangesNothing() {
        billing.acquire();
        billing.goSilent();
        controlled.advance(Duration.ofSeconds(7));
        billing.answerAgain();
        controlled.advance(Duration.ofMinutes(1));
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(log.turns()).containsExactly("Acquired 1");
    }

    @Test
    void aPauseBeyondTheDeadlineIsTheCauseOfTheLoss() {
        billing.acquire();
        controlled.pause(Duration.ofSeconds(20));
        assertThat(candidacy.isLeader()).isFalse();
        assertThat(log.turns()).containsExactly("Acquired 1", "Fenced 1 PAUSED");
    }

    @Test
    void aTaskRunsWhileLeadingByTheClockOfTheTest() {
        var tokens = new ArrayList<Long>();
        var other = controlled
                .elections()
                .stand("ledger", config().taskInterval(Duration.ofSeconds(1)).build());
        other.whileLeading(mandate -> tokens.add(mandate.token()));
        controlled.advance(Duration.ofSeconds(5));
        assertThat(tokens).isEmpty();
        controlled.election("ledger").acquire();
        controlled.advance(Duration.ofSeconds(3));
        assertThat(tokens).containsExactly(1L, 1L, 1L, 1L);
        controlled.election("ledger").revoke();
        controlled.advance(Duration.ofSeconds(5));
        assertThat(tokens).hasSize(4);
    }

    @Test
    void anUnpulsedLeaderStandsDown() throws InterruptedException {
        var pulsed = controlled
                .elections()
                .stand(
                        "pulsed",
                        config().maxPulseInterval(Duration.ofSeconds(2)).build());
        var election = controlled.election("pulsed");
        election.acquire();
        controlled.advance(Duration.ofSeconds(1));
        assertThat(pulsed.pulse(Duration.ZERO)).isTrue();
        controlled.advance(Duration.ofSeconds(3));
        assertThat(pulsed.isLeader()).isFalse();
        assertThat(pulsed.status().lastCause()).contains(Cause.UNPULSED);
        assertThatThrownBy(election::acquire).hasMessageContaining("holds back");
        assertThat(pulsed.pulse(Duration.ZERO)).isFalse();
        election.acquire();
        assertThat(pulsed.pulse(Duration.ZERO)).isTrue();
    }

    @Test
    void twoCandidatesAreToldApartByName() {
        var other = controlled
                .elections()
                .stand("billing", CandidacyConfig.builder().candidate("b").build());
        assertThatThrownBy(billing::acquire).hasMessageContaining("[a, b]");
        billing.acquire("b");
        assertThat(other.isLeader()).isTrue();
        assertThat(candidacy.status().following()).contains("b");
        assertThatThrownBy(() -> billing.acquire("a")).hasMessageContaining("b leads");
        billing.fence();
        assertThat(billing.acquire("a")).isEqualTo(2);
        assertThatThrownBy(() -> billing.acquire("c")).hasMessageContaining("\"c\" does not stand");
    }

    @Test
    void somebodyElsewhereIsFollowed() {
        var seen = new ArrayList<Optional<String>>();
        var watch = controlled.elections().election("billing").watch(leader -> seen.add(leader.map(Leader::candidate)));
        billing.leadsElsewhere("z");
        assertThat(candidacy.status().following()).contains("z");
        assertThatThrownBy(billing::acquire).hasMessageContaining("z leads");
        billing.vacate();
        assertThat(billing.acquire()).isEqualTo(2);
        watch.close();
        assertThat(seen).containsExactly(Optional.empty(), Optional.of("z"), Optional.empty(), Optional.of("a"));
        assertThat(candidacy.status().followed()).contains("z");
    }

    @Test
    void theEndIsToldToLeaderAndStandby() {
        var standby = new EventLog();
        controlled
                .elections()
                .stand("billing", CandidacyConfig.builder().listener(standby).build());
        billing.acquire("a");
        billing.end();
        assertThat(log.turns()).containsExactly("Acquired 1", "Revoked 1 ENDED", "Ended");
        assertThat(standby.turns()).containsExactly("Ended");
        assertThat(controlled.elections().list()).containsExactly("billing");
        controlled.elections().election("billing").delete();
        assertThat(controlled.elections().list()).isEmpty();
    }

    @Test
    void misuseIsNamed() {
        assertThatThrownBy(billing::revoke).hasMessage("nobody here leads \"billing\"");
        assertThatThrownBy(() -> controlled.election("typo").acquire()).hasMessage("nobody stands for \"typo\"");
        billing.acquire();
        assertThatThrownBy(billing::acquire).hasMessageContaining("a leads");
        candidacy.close();
        assertThatThrownBy(billing::acquire).hasMessageContaining("nobody stands");
        controlled.close();
        assertThatThrownBy(billing::acquire).hasMessageContaining("closed");
    }

    @Test
    void controlFromAListenerIsRefused() {
        var refused = new CompletableFuture<Throwable>();
        controlled
                .elections()
                .stand(
                        "nested",
                        CandidacyConfig.builder()
                                .listener(event -> {
                                    try {
                                        controlled.election("nested").revoke();
                                    } catch (IllegalStateException e) {
                                        refused.complete(e);
                                    }
                                })
                                .build());
        controlled.election("nested").acquire();
        assertThat(refused.getNow(new AssertionError("was let in"))).hasMessageContaining("from outside");
    }

    @Test
    void anotherThreadThatWaitsForLeadershipIsWoken() {
        var waiting = CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return candidacy
                                .await(Duration.ofSeconds(10))
                                .orElseThrow()
                                .token();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                },
                task -> new Thread(task).start());
        billing.acquire();
        assertThat(waiting.join()).isEqualTo(1);
    }

    @Test
    void closeIsInOrderAndIdempotent() {
        billing.acquire();
        controlled.close();
        controlled.close();
        assertThat(log.turns()).isEqualTo(List.of("Acquired 1", "Revoked 1 RESIGNED"));
        log.requirePaired(true);
    }
}
