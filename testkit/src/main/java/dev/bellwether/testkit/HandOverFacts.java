package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidate;
import dev.bellwether.Cause;
import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.HandOver.Outcome;
import dev.bellwether.Leader;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.Infrastructure.Capability;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Seats that are handed over to a candidate by name, and what a leader shows of itself. */
abstract class HandOverFacts extends LockFacts {
    private static final Duration SHORT = Duration.ofMillis(300);

    @Test
    void aSeatIsHandedOverToTheNamedStandbyWhenItIsReadyAndToNobodyElse() {
        var first = standPatient();
        var before = first.awaitLeads();
        if (lacks(Capability.HAND_OVER).isPresent()) {
            assertThatThrownBy(() -> stage.observe(stage.client()).handOver("nobody", SHORT))
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("hand over");
            return;
        }
        var second = standPatient();
        var ledThen = new AtomicBoolean();
        var third = stage.standLong(
                stage.client(),
                new EventLog(event -> {
                    if (event instanceof LeadershipEvent.Preparing preparing) {
                        ledThen.set(before.isValid() && preparing.leader().equals(first.id()));
                    }
                }),
                settings -> settings);
        second.awaitFollows(first);
        third.awaitFollows(first);
        awaitListed(third);
        var done = first.candidacy().handOver(third.id(), stage.patience());
        assertThat(done.outcome()).as("the outcome for %s: %s", third, done).isEqualTo(Outcome.DONE);
        var after = third.awaitLeads();
        assertThat(done.leader().map(Leader::token)).contains(after.token());
        assertThat(after.token()).isGreaterThan(before.token());
        assertThat(before.isValid()).as("the mandate that was handed over").isFalse();
        assertThat(ledThen)
                .as("the leader led on while its successor got ready")
                .isTrue();
        assertThat(second.events().count(LeadershipEvent.Preparing.class))
                .as("who was not named is asked nothing")
                .isZero();
        assertThat(first.events().turns())
                .containsExactly("Acquired " + before.token(), "Revoked " + before.token() + " " + Cause.HANDED_OVER);
        Eventually.throughout("the seat stays where it went", stage.lease(), after::isValid);
        assertThat(second.events().turns()).as("the other standby led").isEmpty();
    }

    @Test
    void aStandbyThatIsNotReadyLeavesTheLeaderWhereItIs() {
        if (lacks(Capability.HAND_OVER).isPresent()) {
            return;
        }
        var operator = stage.observe(stage.client());
        var first = standPatient();
        var mandate = first.awaitLeads();
        if (lacks(Capability.STANDBYS).isEmpty()) {
            assertThat(operator.handOver("nobody", SHORT).outcome()).isEqualTo(Outcome.NOT_A_CANDIDATE);
        }
        var fails = new AtomicBoolean(true);
        var second = stage.standLong(
                stage.client(),
                new EventLog(event -> {
                    if (event instanceof LeadershipEvent.Preparing && fails.get()) {
                        throw new IllegalStateException("this is a test: not ready");
                    }
                }),
                settings -> settings);
        second.awaitFollows(first);
        awaitListed(second);
        do { // until it was in time to hear of it
            var refused = operator.handOver(second.id(), stage.lease());
            assertThat(refused.outcome()).isEqualTo(Outcome.NOT_READY);
            assertThat(refused.leader().map(Leader::candidate)).contains(first.id());
        } while (second.events().last(LeadershipEvent.Preparing.class).isEmpty());
        Eventually.throughout("the leader leads on", stage.lease(), mandate::isValid);
        fails.set(false);
        var done = operator.handOver(stage.patience()); // to whichever is ready
        assertThat(done.outcome()).as("the outcome for %s: %s", second, done).isEqualTo(Outcome.DONE);
        assertThat(done.leader().map(Leader::candidate)).contains(second.id());
        assertThat(second.awaitLeads().token()).isGreaterThan(mandate.token());
    }

    @Test
    void nobodyWaitsForACandidateThatStandsAsideToTakeOver() {
        var operator = stage.observe(stage.client());
        var first = stage.standLong(stage.client());
        var mandate = first.awaitLeads();
        var second = stage.standLong(stage.client());
        second.awaitFollows(first);
        awaitListed(second);
        second.candidacy().standAside();
        stage.eventually(
                "it says that it stands aside",
                () -> second.candidacy().status().phase() == Phase.STANDING_ASIDE);
        if (lacks(Capability.STANDBYS).isEmpty()) {
            stage.eventually("it is listed no more", () -> !isListed(operator, second));
            if (lacks(Capability.HAND_OVER).isEmpty()) {
                assertThat(operator.handOver(second.id(), stage.patience()).outcome())
                        .isEqualTo(Outcome.NOT_A_CANDIDATE);
                assertThat(first.candidacy().handOver(stage.patience()).outcome())
                        .isEqualTo(Outcome.NOT_A_CANDIDATE);
            }
        }
        second.candidacy().standAgain();
        awaitListed(second);
        stage.eventually("it stands by again", () -> second.candidacy().status().phase() == Phase.STANDING_BY);
        assertThat(mandate.isValid()).as("the leader does not care").isTrue();
    }

    /** How a successor is lost that has said that it is ready. */
    enum Loss {
        /** It is cut off, and comes back when somebody else leads. */
        CUT_OFF,
        /** It leaves the election. */
        LEAVES
    }

    @ParameterizedTest
    @EnumSource
    void aSuccessorThatIsLostOnceItIsReadyCostsAMomentAndAnotherLeads(Loss loss) {
        if (lacks(Capability.HAND_OVER).isPresent()) {
            return;
        }
        var linked = stage.linkedClient();
        var lost = new CompletableFuture<Actor>();
        // the leader stands down because the successor is ready; it vacates the seat when its listener has returned
        var first = stage.standLong(
                stage.client(),
                new EventLog(event -> {
                    if (event instanceof LeadershipEvent.Revoked revoked && revoked.cause() == Cause.HANDED_OVER) {
                        lose(lost.join(), linked.link(), loss);
                    }
                }),
                settings -> settings);
        var before = first.awaitLeads();
        var successor = stage.stand(linked.elections()); // its lease is short: where candidates queue, it stays next
        var third = stage.standLong(stage.client());
        successor.awaitFollows(first);
        third.awaitFollows(first);
        awaitListed(successor);
        awaitListed(third);
        lost.complete(successor);
        var operator = stage.observe(stage.client());
        var ordered = CompletableFuture.supplyAsync(
                () -> operator.handOver(successor.id(), stage.patience()), order -> new Thread(order).start());
        var vacated = first.awaitHears(LeadershipEvent.Revoked.class);
        var next = Eventually.eventually( // the third, or on a busy machine the former leader
                "another leads", stage.patience(), () -> leadsAfter(before.token(), third, first));
        var after = next.awaitLeads();
        assertThat(Duration.ofNanos(System.nanoTime() - vacated.beganNanos()))
                .as("from the order to stand down until another leads: not the lease of the leader")
                .isLessThan(stage.longLease().dividedBy(2));
        assertThat(after.token()).isGreaterThan(before.token());
        assertThat(before.isValid()).as("the mandate that was given up").isFalse();
        stage.eventually("the outcome is known", ordered::isDone);
        var outcome = ordered.join();
        assertThat(outcome.outcome())
                .as("the outcome for %s, which never led: %s", successor, outcome)
                .isEqualTo(Outcome.TAKEN_BY_ANOTHER);
        assertThat(outcome.leader().map(Leader::candidate)).contains(next.id());
        linked.link().heal(); // what the successor has sent since arrives now
        Eventually.throughout("the seat stays where it went", stage.lease(), after::isValid);
        assertThat(successor.events().turns()).as("the successor led").isEmpty();
        next.candidacy().close();
        Eventually.eventually(
                "one leads again, under a higher token",
                stage.patience(),
                () -> leadsAfter(after.token(), first, successor, third));
    }

    private static Optional<Actor> leadsAfter(long token, Actor... actors) {
        return Stream.of(actors)
                .filter(actor -> actor.candidacy()
                        .mandate()
                        .filter(mandate -> mandate.token() > token)
                        .isPresent())
                .findFirst();
    }

    private static void lose(Actor successor, Link link, Loss loss) {
        switch (loss) {
            case CUT_OFF -> link.cut();
            case LEAVES -> successor.candidacy().close();
        }
    }

    /**
     * Stands with the long lease, and leaves the seat to a successor that is ready for as long as can be set: else it
     * claims the seat itself, should a busy machine keep the successor from it for two seconds.
     */
    private Actor standPatient() {
        return stage.standLong(
                stage.client(),
                new EventLog(),
                settings -> settings.retryInterval(settings.build().renewInterval()));
    }

    private void awaitListed(Actor actor) {
        if (lacks(Capability.STANDBYS).isEmpty()) {
            var observed = stage.observe(stage.client());
            stage.eventually(actor.id() + " is listed", () -> isListed(observed, actor));
        }
    }

    private static boolean isListed(Election observed, Actor actor) {
        return observed.candidates().stream().map(Candidate::id).anyMatch(actor.id()::equals);
    }

    @Test
    void whatALeaderProclaimsIsSeenAndAfterAHandOverWhatTheNextOneDid() {
        var first = stage.standLong(stage.client());
        var before = first.awaitLeads();
        if (lacks(Capability.PROCLAIM).isPresent()) {
            assertThatThrownBy(() -> first.candidacy().proclaim(Map.of("version", "2")))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("metadata");
            return;
        }
        var seen = new CopyOnWriteArrayList<Optional<Leader>>();
        var observed = stage.observe(stage.client());
        stage.onClose(observed.watch(seen::add)::close);
        var second = stage.standLong(stage.client());
        second.awaitFollows(first);
        first.candidacy().proclaim(Map.of("version", "2"));
        second.candidacy().proclaim(Map.of("version", "3"));
        stage.eventually("the watcher sees it", () -> shows(seen, "2", before.token()));
        assertThat(observed.leader().orElseThrow().metadata()).containsEntry("version", "2");
        first.candidacy().close();
        var after = second.awaitLeads();
        stage.eventually("the watcher sees the next", () -> shows(seen, "3", after.token()));
        assertThat(observed.leader().orElseThrow().metadata()).containsEntry("version", "3");
    }

    private static boolean shows(CopyOnWriteArrayList<Optional<Leader>> seen, String version, long token) {
        return seen.stream()
                .flatMap(Optional::stream)
                .anyMatch(leader -> leader.token() == token
                        && version.equals(leader.metadata().get("version")));
    }
}
