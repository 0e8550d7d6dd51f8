package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Cause;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** What listeners hear, and what they can and cannot bring about. */
abstract class ListenerFacts extends SeatFacts {

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
        var leader = stage.stand(stage.client(), log, settings -> settings);
        var mandate = leader.awaitLeads();
        var standby = stage.stand(stage.client());
        standby.awaitFollows(leader);
        leader.awaitHears(LeadershipEvent.Acquired.class);
        Eventually.throughout("the mandate holds", stage.lease().multipliedBy(3), mandate::isValid);
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
        var first = stage.stand(stage.client(), log, settings -> settings);
        var mandate = first.awaitLeads();
        var second = stage.stand(stage.client(), log(), settings -> settings);
        second.awaitFollows(first);
        Eventually.throughout("the mandate holds", stage.lease().multipliedBy(2), mandate::isValid);
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
        var closing = CompletableFuture.runAsync(leader.candidacy()::close, task -> new Thread(task).start());
        stage.eventually("close returns", closing::isDone);
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
        var first = stage.stand(one);
        first.awaitLeads();
        var second = stage.stand(other);
        second.awaitFollows(first);
        orders.standDown();
        var after = second.awaitLeads();
        // until the first holds back no more: the next order is for the second alone
        Eventually.throughout("the successor leads", stage.lease().multipliedBy(2), after::isValid);
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

    /** A good while for whatever would happen too early; a tenth of the stand-down budget of the long lease. */
    private Duration briefly() {
        return stage.longLease().dividedBy(50);
    }

    /** Blocks on events of this kind, whoever interrupts. */
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
