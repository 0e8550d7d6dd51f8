package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.Phase;
import dev.bellwether.TaskFailure;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** What listeners hear, and what they can and cannot bring about. */
abstract class ListenerFacts extends SeatFacts {

    @Test
    void aCandidacyThatFailsPermanentlyIsLoud() {
        var failing =
                stage.standLong(stage.client(), new EventLog(), settings -> settings.onTaskFailure(TaskFailure.END));
        var token = failing.awaitLeads().token();
        var second = stage.standLong(stage.client());
        second.awaitFollows(failing);
        var candidacy = failing.candidacy();
        assertThat(candidacy.failure()).isEmpty();
        candidacy.whileLeading(mandate -> {
            throw new IllegalStateException("planted");
        });
        failing.awaitClosed();
        assertThat(candidacy.failure()).get().satisfies(ListenerFacts::isPlanted);
        assertThat(candidacy.status().failure()).isEqualTo(candidacy.failure());
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(candidacy.status().lastCause()).contains(Cause.FAILED);
        assertThatThrownBy(candidacy::awaitClose)
                .isInstanceOf(ElectionException.class)
                .satisfies(ListenerFacts::isPlanted);
        assertThatThrownBy(() -> candidacy.pulse(Duration.ZERO)).isInstanceOf(ElectionException.class);
        assertThat(failing.events().turns())
                .hasSize(3)
                .startsWith("Acquired " + token, "Revoked " + token + " FAILED")
                .last()
                .asString()
                .startsWith("Failed ");
        second.awaitLeadsWithin(stage.longLease().dividedBy(2));
        assertThat(candidacy.isLeader()).isFalse();
    }

    private static void isPlanted(Throwable failure) {
        assertThat(failure).rootCause().hasMessage("planted");
    }

    @Test
    void aLeaderThatIsNotPulsedStandsDownUntilItsNextPulse() throws InterruptedException {
        var interval = stage.lease();
        var pulsed = stage.standLong(stage.client(), new EventLog(), settings -> settings.maxPulseInterval(interval));
        var before = pulsed.awaitLeads();
        Eventually.throughout("pulses keep it leading", interval.multipliedBy(2), () -> pulse(pulsed, Duration.ZERO));
        assertThat(pulsed.candidacy().mandate()).contains(before);
        var second = stage.standLong(stage.client());
        var token = second.awaitLeadsWithin(stage.longLease().dividedBy(2)).token();
        assertThat(token).isGreaterThan(before.token());
        pulsed.awaitLoses(Cause.UNPULSED);
        second.candidacy().close();
        Eventually.throughout("nobody leads without a pulse", briefly(), () -> !pulsed.isLeader());
        assertThat(pulsed.candidacy().pulse(stage.patience())).as("a pulse").isTrue();
        assertThat(pulsed.awaitLeads().token()).isGreaterThan(token);
        assertThat(pulsed.events().turns())
                .startsWith("Acquired " + before.token(), "Revoked " + before.token() + " UNPULSED");
    }

    private static boolean pulse(Actor actor, Duration timeout) {
        try {
            return actor.candidacy().pulse(timeout);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void listenersThatComeLaterHearTheSameFromThenOn() {
        var actor = stage.standLong(stage.client());
        var token = actor.awaitLeads().token();
        var later = new EventLog();
        var gone = new EventLog();
        actor.candidacy().listen(later);
        var watch = actor.candidacy().listen(gone);
        stage.eventually(
                "both hear of the present mandate",
                () -> later.turns().size() == 1 && gone.turns().size() == 1);
        watch.close();
        actor.candidacy().close();
        actor.awaitClosed();
        assertThat(later.turns()).containsExactly("Acquired " + token, "Revoked " + token + " RESIGNED");
        assertThat(actor.events().turns()).isEqualTo(later.turns());
        assertThat(gone.turns()).containsExactly("Acquired " + token);
        later.requirePaired(true);
    }

    @Test
    void theSuccessorIsToldAfterTheLeavingLeadersListenerHasReturned() {
        var done = new CompletableFuture<Void>();
        stage.onClose(() -> done.complete(null));
        var first = stage.standLong(
                stage.client(), new EventLog(blockingOn(LeadershipEvent.Revoked.class, done)), settings -> settings);
        first.awaitLeads();
        var second = stage.standLong(stage.client());
        second.awaitFollows(first);
        first.candidacy().resign();
        first.awaitHears(LeadershipEvent.Revoked.class);
        Eventually.throughout(
                "nobody leads while the listener puts things away",
                briefly(),
                () -> !first.isLeader() && !second.isLeader());
        done.complete(null);
        second.awaitLeadsWithin(stage.longLease().dividedBy(2));
        var acquired = second.awaitHears(LeadershipEvent.Acquired.class);
        var revoked = first.events().last(LeadershipEvent.Revoked.class).orElseThrow();
        assertThat(acquired.beganNanos() - revoked.endedNanos().orElseThrow())
                .as("from the return of the listener to the successor's event")
                .isPositive();
        assertThat(first.events().count(LeadershipEvent.Fenced.class)).isZero();
    }

    @Test
    void aBlockedListenerDelaysTheSuccessorAtMostByTheStandDownBudget() {
        var lease = stage.longLease();
        var log = new EventLog(blockingOn(LeadershipEvent.Revoked.class, stage.closing()));
        var first = stage.standLong(stage.client(), log, settings -> settings.standDownBudget(lease.dividedBy(10)));
        first.awaitLeads();
        var second = stage.standLong(stage.client());
        second.awaitFollows(first);
        first.candidacy().resign();
        second.awaitLeadsWithin(lease.dividedBy(2)); // the budget is a tenth
        assertThat(log.last(LeadershipEvent.Revoked.class).orElseThrow().endedNanos())
                .as("the listener blocks still")
                .isEmpty();
        assertThat(first.isLeader()).isFalse();
        stage.closing().complete(null);
        first.awaitHears(LeadershipEvent.Fenced.class);
        first.awaitClosed();
        first.events().requirePaired(true);
    }

    @Test
    void aBlockedListenerDelaysRenewalNever() {
        var log = new EventLog(blockingOn(LeadershipEvent.Acquired.class, stage.closing()));
        var leader = stage.standFirm(stage.client(), log);
        var mandate = leader.awaitLeads();
        var standby = stage.stand(stage.client());
        standby.awaitFollows(leader);
        leader.awaitHears(LeadershipEvent.Acquired.class);
        Eventually.throughout("the mandate holds", stage.firmLease().multipliedBy(3), mandate::isValid);
        assertThat(log.last(LeadershipEvent.Acquired.class).orElseThrow().endedNanos())
                .as("the listener blocks still")
                .isEmpty();
        assertThat(standby.events().turns()).isEmpty();
    }

    @Test
    void aThrowingListenerHarmsNothing() {
        var log = new EventLog(event -> {
            if (event instanceof LeadershipEvent.Revoked) {
                throw new AssertionError("thrown on purpose: an error");
            }
            throw new Exception("thrown on purpose: an exception");
        });
        var first = stage.standFirm(stage.client(), log);
        var mandate = first.awaitLeads();
        var second = stage.stand(stage.client(), log(), settings -> settings);
        second.awaitFollows(first);
        Eventually.throughout("the mandate holds", stage.firmLease().plus(stage.lease()), mandate::isValid);
        first.candidacy().resign();
        second.awaitLeads();
        first.awaitClosed();
        assertThat(log.turns())
                .containsExactly("Acquired " + mandate.token(), "Revoked " + mandate.token() + " " + Cause.RESIGNED);
    }

    private static EventLog log() {
        return new EventLog(event -> {
            throw new IllegalStateException("thrown on purpose: by a standby");
        });
    }

    @Test
    void closeEndsWithinItsBoundThoughTheListenerBlocks() {
        var log = new EventLog(blockingOn(LeadershipEvent.Revoked.class, stage.closing()));
        var leader = stage.stand(stage.client(), log, settings -> settings);
        leader.awaitLeads();
        closesWithinItsBound(leader);
        assertThat(log.last(LeadershipEvent.Revoked.class).orElseThrow().endedNanos())
                .as("the listener blocks still")
                .isEmpty();
        stage.stand(stage.client()).awaitLeads();
    }

    @Test
    void eventsArePairedAndInOrderAlsoOnClose() {
        var one = stage.client();
        var other = stage.client();
        var orders = stage.observe(stage.client());
        var first = stage.standFirm(one);
        first.awaitLeads();
        var second = stage.standFirm(other);
        second.awaitFollows(first);
        orders.standDown();
        var after = second.awaitLeads();
        // until the first holds back no more: the next order is for the second alone
        Eventually.throughout("the successor leads", stage.firmLease().plus(stage.lease()), after::isValid);
        orders.standDown();
        first.awaitLeads();
        one.close();
        first.awaitClosed();
        second.awaitLeads();
        second.candidacy().close();
        second.awaitClosed();
        first.events().requirePaired(true);
        second.events().requirePaired(true);
        assertThat(first.events().count(LeadershipEvent.Acquired.class)).isGreaterThanOrEqualTo(2);
        assertThat(first.events().turns())
                .last()
                .asString()
                .startsWith("Revoked")
                .endsWith("RESIGNED");
        assertThat(second.events().turns())
                .last()
                .asString()
                .startsWith("Revoked")
                .endsWith("RESIGNED");
    }

    /**
     * Closes it, which takes the stand-down budget and two renew intervals at most; here also a lease, and twice the
     * time that this machine has kept a thread from running in this test.
     */
    final void closesWithinItsBound(Actor actor) {
        var closing = CompletableFuture.supplyAsync(
                () -> {
                    var began = System.nanoTime();
                    actor.candidacy().close();
                    return Duration.ofNanos(System.nanoTime() - began);
                },
                task -> new Thread(task).start());
        stage.eventually("close returns", closing::isDone);
        var config = stage.infrastructure().settings(stage.lease()).build();
        assertThat(closing.join())
                .as("close() takes the stand-down budget and two renew intervals")
                .isLessThan(config.standDownBudget()
                        .plus(config.renewInterval().multipliedBy(2))
                        .plus(stage.lease())
                        .plusNanos(2 * stage.auditor().longestRoundNanos()));
    }

    /** A good while for whatever would happen too early; a tenth of the stand-down budget of the long lease. */
    private Duration briefly() {
        return stage.longLease().dividedBy(50);
    }

    /** Blocks on events of this kind, anybody who interrupts. */
    static LeadershipListener blockingOn(Class<? extends LeadershipEvent> kind, Future<?> until) {
        return event -> {
            while (kind.isInstance(event) && !until.isDone()) {
                try {
                    until.get();
                } catch (InterruptedException ignored) {
                    // this listener is the worst of its kind: it does not stop when told
                } catch (ExecutionException e) {
                    throw new IllegalStateException(e);
                }
            }
        };
    }
}
