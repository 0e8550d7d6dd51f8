package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.Metrics;
import dev.bellwether.Metrics.Attempt;
import dev.bellwether.testkit.Infrastructure.Capability;
import dev.bellwether.testkit.Link.Way;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What holds while packets vanish, clients die and servers stop. */
abstract class OutageFacts extends ListenerFacts {

    @Test
    void aKilledClientsSuccessorLeadsAfterTheLeaseAndNotBefore() {
        var killed = stage.linkedClient();
        var victim = stage.stand(killed.elections());
        var mandate = victim.awaitLeads();
        var standby = stage.stand(stage.client());
        standby.awaitFollows(victim);
        killed.link().cut(); // and nobody ever closes it: to the others this is what a crash looks like
        var deadline = lastDeadline(mandate);
        var acquired = standby.awaitLeads();
        var seen = earliest(standby, acquired);
        var budget = stage.infrastructure().settings(stage.lease()).build().standDownBudget();
        assertThat(victim.isLeader()).isFalse();
        assertThat(Duration.ofNanos(seen - deadline))
                .as("from the deadline of the victim to the first sign of its successor: the rest of the lease")
                .isGreaterThanOrEqualTo(budget);
        assertThat(acquired.token()).isGreaterThan(mandate.token());
        assertThat(Duration.ofNanos(seen - deadline))
                .as("and not much longer")
                .isLessThan(stage.longLease().dividedBy(2));
    }

    @Test
    void anOutageIsToldOnceAndThatItIsOverOnce() {
        var outages = new OutageCount();
        var linked =
                stage.linkedClient(ElectionsConfig.builder().metrics(outages).build());
        stage.standFirm(linked.elections()).awaitLeads(); // else a stall of the machine may look like an outage
        passes(linked.link(), outages);
    }

    @Test
    void theOutcomeOfAResignationCanBeHad() {
        var linked = stage.linkedClient();
        var orderly = stage.standLong(linked.elections());
        orderly.awaitLeads();
        assertThat(orderly.candidacy().departure()).isEmpty();
        orderly.candidacy().resign();
        orderly.awaitClosed();
        assertThat(orderly.candidacy().departure()).contains(Departure.CONFIRMED);

        var leader = stage.stand(linked.elections());
        leader.awaitLeads();
        linked.link().cut();
        leader.candidacy().resign();
        Eventually.throughout(
                "nothing is confirmed while nobody answers",
                stage.lease().multipliedBy(2),
                () -> leader.candidacy()
                        .departure()
                        .filter(Departure.CONFIRMED::equals)
                        .isEmpty());
        linked.link().heal();
        leader.awaitClosed(); // some go on asking until there is an answer
        assertThat(leader.candidacy().departure()).isPresent();
    }

    @Test
    void anOutageIsToldToAStandbyToo() {
        // not for the long lease: a standby may ask as rarely as the leader's lease lets it
        var leader = stage.standFirm(stage.client());
        leader.awaitLeads();
        var outages = new OutageCount();
        var linked =
                stage.linkedClient(ElectionsConfig.builder().metrics(outages).build());
        stage.stand(linked.elections()).awaitFollows(leader);
        passes(linked.link(), outages);
        assertThat(leader.isLeader()).isTrue();
    }

    private void passes(Link link, OutageCount outages) {
        stage.eventually("all is well", () -> !outages.isOut());
        link.cut();
        stage.eventually("the outage is told", outages::isOut);
        var told = outages.began();
        Eventually.throughout("it is told once", stage.lease(), () -> outages.isOut() && outages.began() == told);
        link.heal();
        stage.eventually("that it is over is told", () -> !outages.isOut());
        Eventually.throughout(
                "and nothing more is told", stage.lease(), () -> outages.began() == told && outages.ended() == told);
    }

    @Test
    void anOutageShorterThanTheDeadlineChangesNothing() {
        var lease = ridingLease();
        var linked = stage.linkedClient();
        var leader = stage.stand(linked.elections(), new EventLog(), settings -> settings.lease(lease));
        var mandate = leader.awaitLeads();
        var standby = stage.stand(stage.client());
        standby.awaitFollows(leader);
        var usable = usable(leaseOf(lease));
        for (var outage = 0; outage < 2; outage++) {
            linked.link().cut();
            stage.eventually(
                    "most of the time is used up",
                    () -> left(mandate).compareTo(usable.multipliedBy(3).dividedBy(10)) < 0);
            linked.link().heal();
            stage.eventually("the mandate is extended", () -> left(mandate).compareTo(usable.dividedBy(2)) > 0);
        }
        assertThat(mandate.isValid()).isTrue();
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
        assertThat(standby.events().turns()).isEmpty();
    }

    @Test
    void aConnectionThatBreaksAndLosesWhatWasUnderWayChangesNothing() {
        var lease = ridingLease();
        var linked = stage.linkedClient();
        var leader = stage.stand(linked.elections(), new EventLog(), settings -> settings.lease(lease));
        var mandate = leader.awaitLeads();
        var usable = usable(leaseOf(lease));
        linked.link().cut();
        stage.eventually(
                "a renewal has been sent and is held", () -> left(mandate).compareTo(usable.dividedBy(2)) < 0);
        linked.link().reset();
        linked.link().heal();
        stage.eventually("the mandate is extended", () -> left(mandate).compareTo(usable.dividedBy(2)) > 0);
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
    }

    /** Returns a lease of which what an outage leaves outlasts a stall of a busy machine. */
    private Duration ridingLease() {
        var half = stage.longLease().dividedBy(2);
        var thrice = stage.lease().multipliedBy(3);
        return half.compareTo(thrice) > 0 ? half : thrice;
    }

    /** Returns what is left of it: one that has ended is never extended, so nobody waits for that. */
    private static Duration left(Mandate mandate) {
        var left = mandate.remaining();
        assertThat(left)
                .as("what is left of the mandate, which was to outlast the outage")
                .isPositive();
        return left;
    }

    @ParameterizedTest
    @EnumSource
    void inALongerOutageIsLeaderTurnsFalseByTheDeadline(Way way) {
        var linked = stage.linkedClient();
        var victim = stage.stand(linked.elections());
        var mandate = victim.awaitLeads();
        var standby = stage.stand(stage.client());
        standby.awaitFollows(victim);
        linked.link().cut(way);
        var cut = System.nanoTime();
        // nothing that was sent after the cut can have been answered, so no deadline is later than this
        var latest = cut + usable(leaseOf(stage.lease())).toNanos();
        Eventually.eventually("the deadline passes", stage.patience(), () -> {
            var overdue = System.nanoTime() - latest >= 0; // read before isLeader() reads its clock
            assertThat(overdue && victim.isLeader())
                    .as("leads after the deadline")
                    .isFalse();
            return overdue && !victim.isLeader();
        });
        assertThat(mandate.isValid()).isFalse();
        victim.awaitHears(LeadershipEvent.Fenced.class);
        assertThat(victim.candidacy().status().lastCause()).get().isIn(Cause.UNREACHABLE, Cause.PAUSED);
        standby.awaitLeads();
    }

    @Test
    void isLeaderTurnsFalseByTheDeadlineThoughNoneOfOurThreadsRuns() {
        var stuck = new CompletableFuture<Void>();
        var released = stage.closing();
        var linked = stage.linkedClient(ElectionsConfig.builder()
                .metrics(new Metrics() {
                    @Override
                    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                        if (stuck.isDone()) {
                            released.join(); // on the loop: from here on it does nothing, not even notice the time
                        }
                    }
                })
                .build());
        var victim = stage.stand(linked.elections(), new EventLog(), settings -> settings);
        var mandate = victim.awaitLeads();
        stuck.complete(null);
        Eventually.eventually("the mandate runs out", stage.patience(), () -> !mandate.isValid());
        assertThat(victim.isLeader()).isFalse();
        assertThat(victim.candidacy().mandate()).isEmpty();
    }

    @Test
    void everyAttemptIsToldWithItsOutcome() {
        var attempts = new AttemptLog();
        var config = ElectionsConfig.builder().metrics(attempts).build();
        var linked = stage.linkedClient(config);
        var leader = stage.standFirm(linked.elections());
        leader.awaitLeads();
        stage.eventually("its renewals are told", () -> attempts.has(leader, Attempt.RENEWED));
        assertThat(attempts.of(leader).indexOf(Attempt.WON))
                .as("the claim that was won: %s", attempts.of(leader))
                .isNotNegative()
                .isLessThan(attempts.of(leader).indexOf(Attempt.RENEWED));
        var standby = stage.stand(stage.client(config));
        standby.awaitFollows(leader);
        if (stage.infrastructure().asks()) {
            stage.eventually("its refusal is told", () -> attempts.has(standby, Attempt.REFUSED));
        }
        linked.link().cut();
        stage.eventually("a renewal without an answer is told", () -> attempts.has(leader, Attempt.MISSED));
        standby.awaitLeads();
        for (var actor : List.of(leader, standby)) {
            stage.eventually(
                    "each mandate of " + actor + " is told as won: " + attempts.of(actor),
                    () -> attempts.of(actor).stream()
                                    .filter(Attempt.WON::equals)
                                    .count()
                            == actor.events().count(LeadershipEvent.Acquired.class));
        }
        assertThat(attempts.nonsense()).isEmpty();
    }

    @Test
    void aListenerThatBlocksWhenFencedDoesNotKeepTheSeatFromOthers() {
        var linked = stage.linkedClient();
        var log = new EventLog(blockingOn(LeadershipEvent.Fenced.class, stage.closing()));
        var victim = stage.stand(linked.elections(), log, settings -> settings);
        victim.awaitLeads();
        linked.link().cut(Way.ANSWERS); // whatever the victim still asks for is done
        victim.awaitHears(LeadershipEvent.Fenced.class);
        var successor = stage.stand(stage.client());
        successor.awaitLeads();
        assertThat(log.last(LeadershipEvent.Fenced.class).orElseThrow().endedNanos())
                .as("the listener blocks still")
                .isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void afterALongOutageTheCandidateStandsAgainByItself(Way way) {
        var linked = stage.linkedClient();
        var victim = stage.stand(linked.elections());
        var before = victim.awaitLeads();
        linked.link().cut(way);
        victim.awaitLeadsNoMore();
        victim.awaitHears(LeadershipEvent.Fenced.class);
        var successor = stage.standFirm(stage.client());
        var between = successor.awaitLeads();
        linked.link().heal(); // and whatever was held arrives now: old renewals, old claims
        victim.awaitFollows(successor);
        Eventually.throughout("the successor keeps the seat", stage.lease().multipliedBy(2), between::isValid);
        successor.candidacy().close();
        var after = victim.awaitLeads();
        assertThat(between.token()).isGreaterThan(before.token());
        assertThat(after.token()).isGreaterThan(between.token());
        assertThat(before.isValid()).as("the old mandate").isFalse();
        victim.events().requirePaired(false);
    }

    @Test
    void aLoneCandidateLeadsAgainAfterALongOutageUnderAHigherToken() {
        var linked = stage.linkedClient();
        var lone = stage.stand(linked.elections());
        var before = lone.awaitLeads();
        linked.link().cut();
        lone.awaitLeadsNoMore();
        lone.awaitHears(LeadershipEvent.Fenced.class);
        linked.link().heal();
        assertThat(lone.awaitLeads().token()).isGreaterThan(before.token());
        assertThat(before.isValid()).isFalse();
        stage.eventually("it has heard both", () -> lone.events().count(LeadershipEvent.Acquired.class) == 2);
        lone.events().requirePaired(false);
    }

    @Test
    void aStandbysOutageDisturbsNobody() {
        var leader = stage.standFirm(stage.client());
        var mandate = leader.awaitLeads();
        var linked = stage.linkedClient();
        var standby = stage.stand(linked.elections());
        standby.awaitFollows(leader);
        linked.link().cut();
        Eventually.throughout("the leader leads", stage.lease().multipliedBy(2), mandate::isValid);
        linked.link().heal();
        Eventually.throughout("the leader leads", stage.lease(), mandate::isValid);
        leader.candidacy().close();
        standby.awaitLeads();
    }

    @Test
    void closeEndsWithinItsBoundThoughTheServerIsOutOfReach() {
        var linked = stage.linkedClient();
        var victim = stage.stand(linked.elections());
        victim.awaitLeads();
        linked.link().cut();
        closesWithinItsBound(victim);
        assertThat(victim.isLeader()).isFalse();
        assertThat(stage.stand(stage.client()).awaitLeads().token())
                .as("the seat passes on when the lease has run out")
                .isPositive();
    }

    @Test
    @AloneOnServer
    void aServerRestartKeepsTheTokenRising() {
        var first = stage.stand(stage.client());
        var before = first.awaitLeads();
        if (lacks(Capability.RESTART).isEmpty()) {
            stage.infrastructure().restartServer();
        }
        var second = stage.stand(stage.client());
        first.candidacy().close();
        var after = second.awaitLeads();
        assertThat(after.token()).isGreaterThan(before.token());
        assertThat(first.events().entries())
                .as("who led before may have been given the seat again")
                .extracting(EventLog.Entry::event)
                .filteredOn(LeadershipEvent.Acquired.class::isInstance)
                .extracting(
                        event -> ((LeadershipEvent.Acquired) event).mandate().token())
                .isSorted()
                .doesNotHaveDuplicates();
    }

    @Test
    @AloneOnServer
    void aLeaderOutlivesOrStandsAgainAfterAServerRestart() {
        if (lacks(Capability.RESTART).isPresent()) {
            return; // printed
        }
        var leader = stage.stand(stage.client());
        var before = leader.awaitLeads();
        stage.infrastructure().restartServer();
        leader.awaitProven();
        assertThat(leader.awaitLeads().token()).isGreaterThanOrEqualTo(before.token());
    }

    @Test
    @AloneOnServer
    void aServerThatIsPausedForLongerThanTheLeaseCostsTheMandateAndNoMore() {
        if (lacks(Capability.PAUSE).isPresent()) {
            return; // printed
        }
        var one = stage.stand(stage.client());
        one.awaitLeads();
        var other = stage.stand(stage.client());
        other.awaitFollows(one);
        var before = one.awaitLeads(); // another, if a busy machine cost it the first
        stage.onClose(stage.infrastructure()::resumeServer);
        stage.infrastructure().pauseServer();
        var paused = System.nanoTime();
        Eventually.eventually("the mandate runs out", stage.patience(), () -> !before.isValid());
        Eventually.throughout(
                "nobody leads",
                stage.lease().minusNanos(Math.min(stage.lease().toNanos(), System.nanoTime() - paused)),
                () -> !one.isLeader() && !other.isLeader());
        stage.infrastructure().resumeServer();
        stage.eventually("one leads", () -> one.isLeader() || other.isLeader());
        var leader = one.isLeader() ? one : other;
        assertThat(leader.awaitLeads().token()).isGreaterThan(before.token());
    }

    // ---------------------------------------------------------------- reckoning

    private CandidacyConfig leaseOf(Duration lease) {
        return stage.infrastructure().settings(lease).build();
    }

    /** How long a mandate holds at most after a proof. */
    private static Duration usable(CandidacyConfig config) {
        var drift = (long) (config.lease().toNanos() * config.driftBound());
        return config.lease().minusNanos(drift).minus(config.standDownBudget());
    }

    /** Follows the mandate of one who is cut off to its end, and returns when that is. */
    private long lastDeadline(Mandate mandate) {
        var deadline = System.nanoTime();
        var until = deadline + stage.patience().toNanos();
        while (true) {
            var now = System.nanoTime(); // read first: the deadline comes out early rather than late
            var remaining = mandate.remaining();
            if (remaining.isZero()) {
                return deadline;
            }
            if (now - until >= 0) {
                throw new AssertionError(mandate + " does not end");
            }
            deadline = Math.max(deadline, now + remaining.toNanos());
            Thread.onSpinWait();
        }
    }

    /** The first sign that this one led. */
    private long earliest(Actor actor, Mandate mandate) {
        var seen = stage.auditor().firstSeenNanos(actor.candidacy(), mandate.token());
        var now = System.nanoTime();
        return seen.isPresent() && seen.getAsLong() - now < 0 ? seen.getAsLong() : now;
    }
}
