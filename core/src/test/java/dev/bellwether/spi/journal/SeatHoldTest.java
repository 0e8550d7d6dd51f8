package dev.bellwether.spi.journal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.journal.SeatHold.Phase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The machine step by step, on a clock in milliseconds that is wound by hand. */
class SeatHoldTest implements SeatHold.Effects {
    private static final CandidacyConfig CONFIG = CandidacyConfig.builder()
            .lease(Duration.ofMillis(1_000))
            .renewInterval(Duration.ofMillis(300))
            .retryInterval(Duration.ofMillis(50))
            .standDownBudget(Duration.ofMillis(200))
            .build();

    private final List<String> done = new ArrayList<>();
    private long millis = 10_000;
    private long barredMillis;
    private final SeatHold hold = new SeatHold(CONFIG, now(), this);

    private Moment now() {
        return new Moment(nanos(), millis);
    }

    private long nanos() {
        return millis * 1_000_000;
    }

    private List<String> did() {
        var since = List.copyOf(done);
        done.clear();
        return since;
    }

    private void claimed() {
        hold.claiming(now());
        hold.claimRead(7, true, nanos());
    }

    @Test
    void aMandateCountsFromBeforeTheCommitAndSoDoesEachProof() {
        var sent = now();
        hold.claiming(sent);
        millis += 20;
        hold.claimRead(7, true, nanos());
        assertThat(did()).containsExactly("granted 7 since 10000");
        millis += 300;
        var commit = now();
        millis += 40;
        hold.beatRead(commit, nanos());
        assertThat(did()).containsExactly("proven 7 since 10320");
    }

    @Test
    void aClaimThatWasReadLateIsNoProofAndABeatIs() {
        hold.claiming(now());
        millis += 300;
        hold.claimRead(7, true, nanos());
        assertThat(did()).isEmpty();
        assertThat(hold.phase()).isEqualTo(Phase.BARRED);
        hold.beatRead(now(), nanos());
        assertThat(did()).containsExactly("granted 7 since 10300");
    }

    @Test
    void oneThatIsBarredLeadsByABeatBehindTheBar() {
        barredMillis = 10_400;
        claimed();
        assertThat(hold.barredUntilNanos(nanos())).isEqualTo(10_400 * 1_000_000L);
        millis = 10_399;
        hold.beatRead(now(), nanos());
        assertThat(did()).isEmpty();
        millis = 10_400;
        hold.beatRead(now(), nanos());
        assertThat(did()).containsExactly("granted 7 since 10400");
    }

    @Test
    void aClaimThatDoesNotCountIsReleasedSinceOthersMayWaitForIt() {
        hold.claiming(now());
        hold.claimRead(7, false, nanos());
        assertThat(did()).containsExactly("release 7", "dropped");
        assertThat(hold.phase()).isEqualTo(Phase.STANDING);
        hold.claimRead(7, true, nanos());
        hold.beatRead(now(), nanos());
        assertThat(did()).as("given up").isEmpty();
    }

    @Test
    void aMandateThatIsLostIsReleasedOnlyWhenTheWorkHasEnded() {
        claimed();
        did();
        millis += 100;
        hold.lose(Cause.REPLACED, nanos());
        hold.lose(Cause.EXPIRED, nanos());
        assertThat(did()).containsExactly("lost 7 REPLACED");
        assertThat(hold.endAtNanos()).as("the lease of its last proof").isEqualTo(11_000 * 1_000_000L);
        hold.drop(nanos());
        assertThat(did()).containsExactly("release 7, led", "dropped");
    }

    @Test
    void aClaimThatIsLostBeforeItLedIsReleasedAtOnceAndAnotherWaitsALittle() {
        barredMillis = 20_000;
        claimed();
        hold.lose(Cause.REPLACED, nanos());
        assertThat(did()).containsExactly("release 7", "dropped");
        assertThat(hold.waitUntilNanos()).isEqualTo(10_050 * 1_000_000L);
    }

    @Test
    void aConcessionNeverPutsTheEndOff() {
        claimed();
        did();
        millis += 500;
        hold.concede(Duration.ofMillis(200), nanos());
        assertThat(did()).containsExactly("concede 7 within PT0.2S");
        millis += 10;
        hold.concede(Duration.ofMillis(600), nanos());
        assertThat(did()).as("its lease ends before that").isEmpty();
        hold.beatRead(now(), nanos());
        assertThat(did()).as("no proof any more").isEmpty();
    }

    @Test
    void oneThatConcedesWithoutATimeHasItsLease() {
        claimed();
        did();
        hold.concede(Duration.ZERO, nanos());
        assertThat(did()).isEmpty();
        assertThat(hold.endAtNanos()).isEqualTo(11_000 * 1_000_000L);
    }

    @Test
    void workThatOverrunsIsWaitedForNoLongerAndNotReleased() {
        claimed();
        hold.concede(Duration.ofMillis(200), nanos());
        did();
        millis += 199;
        assertThat(hold.endOverrun(nanos())).isFalse();
        millis += 1;
        assertThat(hold.endOverrun(nanos())).isTrue();
        assertThat(hold.phase()).isEqualTo(Phase.STANDING);
        hold.drop(nanos());
        assertThat(did()).containsExactly("dropped");
    }

    @Test
    void aClaimThatWasNotReadForHalfALeaseIsTakenForLost() {
        hold.claiming(now());
        assertThat(hold.unreadAtNanos()).isEqualTo(10_500 * 1_000_000L + 1);
        hold.drop(nanos());
        hold.claimRead(7, true, nanos());
        assertThat(did()).containsExactly("dropped");
    }

    // ---------------------------------------------------------------- effects

    @Override
    public long barredNanosAt(long nanos) {
        return barredMillis * 1_000_000 - nanos;
    }

    @Override
    public void granted(long token, Proof proof) {
        assertThat(proof.guarantee()).isEqualTo(CONFIG.lease());
        done.add("granted " + token + " since " + proof.since().wallMillis());
    }

    @Override
    public void proven(long token, Proof proof) {
        assertThat(proof.guarantee()).isEqualTo(CONFIG.lease());
        done.add("proven " + token + " since " + proof.since().wallMillis());
    }

    @Override
    public void lost(long token, Cause cause) {
        done.add("lost " + token + ' ' + cause);
    }

    @Override
    public void concede(long token, Duration within) {
        done.add("concede " + token + " within " + within);
    }

    @Override
    public void release(long token, boolean led) {
        done.add("release " + token + (led ? ", led" : ""));
    }

    @Override
    public void dropped() {
        done.add("dropped");
    }
}
