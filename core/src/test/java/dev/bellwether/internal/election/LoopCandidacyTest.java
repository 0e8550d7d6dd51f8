package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.NotLeaderException;
import dev.bellwether.Phase;
import dev.bellwether.TaskFailure;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What users' code may do to a candidacy, and an executor to both. */
class LoopCandidacyTest {
    private final LogSaid log = new LogSaid();
    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
        log.close();
    }

    @Test
    void aTaskThatStopsWithItsMandateHasNotFailed() {
        var candidacy = rig.stand("a", rig.config().onTaskFailure(TaskFailure.END));
        candidacy.whileLeading(mandate -> {
            if (mandate.token() == 1) {
                rig.clock.forward(mandate.remaining()); // the machine has not noticed yet
                mandate.ensure();
            }
        });
        rig.pass(Duration.ofSeconds(1));
        assertThat(rig.heard).containsExactly("Acquired", "Fenced UNREACHABLE", "Acquired");
        assertThat(rig.figures.failures).isEmpty();
    }

    @Test
    void aTaskThatThrowsAfterItsDeadlineEndsNoCandidacy() {
        failAfterTheDeadline(new IllegalStateException("planted"));
        assertThat(rig.figures.failures).singleElement().isInstanceOf(IllegalStateException.class);
        assertThat(warnings()).singleElement().asString().contains("failed while its mandate was ending");
    }

    @Test
    void aTaskThatIsInterruptedAfterItsDeadlineHasNotFailed() {
        failAfterTheDeadline(new InterruptedException());
        assertThat(rig.figures.failures).isEmpty();
    }

    private void failAfterTheDeadline(Exception failure) {
        var candidacy = rig.stand("a", rig.config().onTaskFailure(TaskFailure.END));
        candidacy.whileLeading(mandate -> {
            if (mandate.token() == 1) {
                rig.clock.forward(mandate.remaining()); // the machine has not noticed yet
                throw failure;
            }
        });
        rig.pass(Duration.ofSeconds(1));
        assertThat(rig.heard).containsExactly("Acquired", "Fenced UNREACHABLE", "Acquired");
    }

    @Test
    void aListenerThatOverranWhileTheProcessStoodStillIsTold() {
        var candidacy = rig.stand("a", rig.config());
        rig.executor.keeps = true;
        candidacy.resign();
        rig.settle();
        rig.stall(Duration.ofSeconds(3)); // the budget is 2 s
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.heard).containsExactly("Acquired", "Revoked RESIGNED", "Fenced RESIGNED");
        assertThat(rig.figures.overruns).containsExactly(1L);
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    /** It would put away its work in order, which nobody interrupts any more, beside the next leader. */
    @Test
    void aListenerThatIsLateDoesNotHearThatTheSeatIsOursWhenItMayBeAnothers() {
        rig.executor.keeps = true;
        var candidacy = rig.stand("a", rig.config());
        candidacy.resign();
        rig.pass(Duration.ofSeconds(3)); // the budget is 2 s
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.heard).containsExactly("Acquired", "Fenced RESIGNED");
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void theLoopEndsAfterWorkThatMayHaveToBeHalted() {
        var interval = Duration.ofMillis(100); // until the end is waited for no more, in real time
        var candidacy = rig.stand(
                "a",
                rig.config()
                        .lease(interval.multipliedBy(10))
                        .standDownBudget(interval)
                        .renewInterval(interval)
                        .haltOnOverrun(true));
        rig.executor.keeps = true;
        rig.elections.close(); // while the loop stands still
        rig.settle();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.LEAVING);
        assertThat(rig.loop.closed).isFalse();
        rig.executor.letGo();
        rig.settle();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        rig.pass(Duration.ofSeconds(1));
        assertThat(rig.loop.closed).isTrue();
        assertThat(rig.heard).containsExactly("Acquired", "Revoked RESIGNED");
    }

    @Test
    void aTaskThatOverranWhileTheProcessStoodStillIsCountedThoughNobodyListens() {
        var candidacy = rig.stand("a", CandidacyConfig.builder().lease(Duration.ofSeconds(10)));
        rig.executor.keeps = true;
        candidacy.whileLeading(mandate -> {});
        rig.settle();
        candidacy.resign();
        rig.settle();
        rig.stall(Duration.ofSeconds(3));
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.figures.overruns).containsExactly(1L);
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void aTaskThatFindsTooLittleTimeLeftTriesAgainLater() {
        var candidacy = rig.stand("a", rig.config().onTaskFailure(TaskFailure.END));
        var steps = new ArrayList<Duration>();
        candidacy.whileLeading(mandate -> {
            mandate.ensure(Duration.ofMillis(7_890)); // only right after a renewal
            steps.add(mandate.remaining());
        });
        rig.pass(Duration.ofSeconds(30));
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(rig.figures.failures).isEmpty();
        assertThat(steps).isNotEmpty();
    }

    /** It never does anything: each step ends as if its mandate did, and the next one is as fruitless. */
    @Test
    void aTaskThatAsksForMoreTimeThanItsMandateEverHasIsWarnedOfOnce() {
        var candidacy = rig.stand("a", rig.config());
        candidacy.whileLeading(mandate -> mandate.ensure(Duration.ofSeconds(30)));
        rig.pass(Duration.ofMinutes(1));
        assertThat(log.said("WARN"))
                .singleElement()
                .asString()
                .startsWith("mandate 1 of a in election \"billing\" holds for ")
                .endsWith(" only, and you asked for 30 s: the last renewal gave it no more than 7.9 s."
                        + " Ask for less, or make the lease longer");
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(rig.figures.failures).isEmpty();
    }

    @Test
    void aTaskThatFailsWhileItsMandateEndsIsCountedAndWarnedOf() {
        failWhileStandingDown(new IllegalStateException("planted"));
        assertThat(rig.figures.failures).singleElement().isInstanceOf(IllegalStateException.class);
        assertThat(warnings())
                .singleElement()
                .asString()
                .isEqualTo(
                        "the task of candidacy a in \"billing\" failed while its mandate was ending; what it had begun"
                                + " may be half done");
    }

    @Test
    void aTaskThatStopsBecauseItsMandateEndsHasNotFailed() {
        failWhileStandingDown(new NotLeaderException("planted"));
        failWhileStandingDown(new InterruptedException());
        failWhileStandingDown(new IllegalStateException("planted", new InterruptedException()));
        assertThat(rig.figures.failures).isEmpty();
        assertThat(warnings()).isEmpty();
    }

    private List<String> warnings() {
        return log.said("WARN").stream()
                .filter(line -> line.startsWith("the task of candidacy"))
                .toList();
    }

    private void failWhileStandingDown(Exception failure) {
        try (var candidacy = rig.stand("a", rig.config())) {
            candidacy.whileLeading(mandate -> {
                candidacy.standDown();
                rig.settle(); // another turn of the loop, while the step runs
                throw failure;
            });
            rig.pass(Duration.ofSeconds(1));
            candidacy.resign();
            rig.pass(Duration.ofSeconds(1));
        }
    }

    @Test
    void anExecutorThatBreaksCostsTheCallAndNeverTheSeat() {
        rig.executor.thrown = new OutOfMemoryError("planted: unable to create native thread");
        var candidacy = rig.stand("a", rig.config());
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(rig.figures.failures).hasSize(1);
        rig.executor.thrown = null;
        candidacy.resign();
        rig.settle();
        assertThat(rig.heard).containsExactly("Revoked RESIGNED");
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(rig.server.read("billing").toCompletableFuture().join().holder())
                .isEmpty();
    }

    @Test
    void aListenerMayDoAnythingToItsOwnCandidacyButWaitForItsEnd() {
        var self = new CompletableFuture<LoopCandidacy>();
        var refused = new ArrayList<Throwable>();
        var candidacy = rig.stand("a", rig.config().listener(event -> {
            rig.heard.add(Rig.told(event));
            if (event instanceof LeadershipEvent.Revoked) {
                var own = self.get();
                own.pulse(Duration.ZERO);
                own.await(Duration.ZERO);
                own.resign();
                own.close();
                try {
                    own.awaitClose();
                } catch (IllegalStateException e) {
                    refused.add(e);
                }
            }
        }));
        self.complete(candidacy);
        candidacy.resign();
        rig.settle();
        assertThat(rig.heard).containsExactly("Acquired", "Revoked RESIGNED");
        assertThat(rig.figures.failures).isEmpty();
        assertThat(refused).hasSize(1).first().satisfies(e -> assertThat(e).hasMessageContaining("listener or task"));
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void aCandidacyIsClosedWhenItsLastEventHasBeenHeard() {
        rig.stand("a", rig.config().listener(event -> {}));
        var standby = rig.stand("b", rig.config());
        rig.executor.keeps = true;
        rig.server.order("billing", Order.END);
        rig.settle();
        assertThat(standby.status().phase()).isEqualTo(Phase.LEAVING);
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.heard).contains("Ended");
        assertThat(standby.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void waitingForeverIsNotTooLong() throws Exception {
        var candidacy = rig.stand("a", rig.config());
        assertThat(candidacy.await(Duration.ofSeconds(Long.MAX_VALUE))).isPresent();
        assertThat(candidacy.pulse(Duration.ofSeconds(Long.MAX_VALUE))).isTrue();
    }

    @Test
    void metricsThatFailWithAnErrorHarmNothing() {
        rig.figures.thrown = new AssertionError("planted");
        var candidacy = rig.stand("a", rig.config());
        candidacy.resign();
        rig.settle();
        assertThat(rig.heard).containsExactly("Acquired", "Revoked RESIGNED");
    }

    @Test
    void aCandidacyThatIsToldToLeaveBeforeItHasBegunDoesNotBegin() {
        var claims = new ArrayList<String>();
        var standing = new Standing("billing", "a", "i", rig.config().build());
        var machine = new CandidacyMachine(
                standing,
                rig.clock,
                new SettingsTest.NoSeat(claims),
                new SettingsTest.Written(),
                Duration.ofMillis(500));
        machine.resign(rig.clock.now());
        machine.start();
        assertThat(claims).containsExactly("leave");
    }

    @Test
    void whatABackendReportsWhileWeLeaveIsNoFailureOfOurs() {
        var standing = new Standing("billing", "a", "i", rig.config().build());
        var effects = new SettingsTest.Written();
        var machine = new CandidacyMachine(
                standing, rig.clock, new SettingsTest.NoSeat(new ArrayList<>()), effects, Duration.ofMillis(500));
        machine.start();
        machine.resign(rig.clock.now());
        machine.fail(rig.clock.now(), new dev.bellwether.ElectionException("planted"));
        machine.left(Departure.CONFIRMED);
        assertThat(machine.failure()).isNull();
        assertThat(effects.done).isEmpty();
    }

    @Test
    void oneThatBrokeWhileItLedEndsInTimeThoughNobodyAnswersWhenItLeaves() {
        var standing = new Standing("billing", "a", "i", rig.config().build());
        var machine = new CandidacyMachine(
                standing,
                rig.clock,
                new SettingsTest.NoSeat(new ArrayList<>()),
                new SettingsTest.Written(),
                Duration.ofMillis(500));
        var now = rig.clock.now();
        machine.start();
        machine.granted(now, 1, new dev.bellwether.spi.Proof(now, Duration.ofSeconds(10)));
        machine.broken(now, new dev.bellwether.ElectionException("planted"));
        machine.workEnded(now);
        assertThat(machine.phase()).isEqualTo(Phase.LEAVING);
        for (var seconds = 0; seconds < 8; seconds++) {
            rig.clock.forward(Duration.ofSeconds(1));
            machine.tick(rig.clock.now());
        }
        assertThat(machine.phase()).isEqualTo(Phase.CLOSED);
        assertThat(machine.departure()).isEqualTo(Departure.UNCONFIRMED);
    }

    @Test
    void theEndIsToldThoughItComesWithTheLossOfASeatThatWasConceded() {
        var standing = new Standing("billing", "a", "i", rig.config().build());
        var effects = new SettingsTest.Written();
        var machine = new CandidacyMachine(
                standing, rig.clock, new SettingsTest.NoSeat(new ArrayList<>()), effects, Duration.ofMillis(500));
        var now = rig.clock.now();
        machine.start();
        machine.granted(now, 1, new dev.bellwether.spi.Proof(now, Duration.ofSeconds(10)));
        machine.asked(now, 1, Cause.REVOKED_BY_OPERATOR, Duration.ofSeconds(2));
        machine.lost(now, 1, Cause.ENDED);
        machine.workEnded(now);
        assertThat(effects.done)
                .containsSubsequence(
                        List.of("Acquired", "Revoked REVOKED_BY_OPERATOR", "Fenced REVOKED_BY_OPERATOR", "Ended"));
    }
}
