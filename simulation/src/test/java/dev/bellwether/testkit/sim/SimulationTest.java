package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Phase;
import dev.bellwether.RosterMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("seeds")
class SimulationTest {
    @Test
    void coreKeepsItsPromisesWhateverHappens() {
        var report = Chaos.simulation().seeds(10_000).run();
        System.out.println("chaos: " + report);
        assertThat(report.mandates()).isGreaterThan(report.worlds());
    }

    @Test
    void coreKeepsItsPromisesOverRecordsWhateverHappens() {
        var report = Chaos.simulation().overRecords().seeds(10_000).run();
        System.out.println("chaos over records: " + report);
        assertThat(report.mandates()).isGreaterThan(report.worlds());
    }

    @Test
    void coreKeepsItsPromisesWhereSeatsShareSessions() {
        var report = Chaos.overSessions().seeds(10_000).run();
        System.out.println("chaos over sessions: " + report);
        assertThat(report.mandates()).isGreaterThan(report.worlds());
    }

    @Test
    void aSeatThatIsHandedOverWhenAllIsWellGoesToItsSuccessor() {
        var report = HandOvers.simulation().seeds(2_000).run();
        System.out.println("hand-overs: " + report);
        assertThat(report.mandates()).as("hand-overs in most worlds").isGreaterThan(2 * report.worlds());
    }

    @Test
    void aSeatThatIsHandedOverOverRecordsWhenAllIsWellGoesToItsSuccessor() {
        var report = HandOvers.simulation().overRecords().seeds(2_000).run();
        System.out.println("hand-overs over records: " + report);
        assertThat(report.mandates()).as("hand-overs in most worlds").isGreaterThan(2 * report.worlds());
    }

    @Test
    void nothingIsTakenForACandidacyThatHasLeft() {
        var report = ComingAndGoing.simulation().overRecords().seeds(300).run();
        System.out.println("coming and going: " + report);
        assertThat(report.mandates()).isGreaterThan(10 * report.worlds());
    }

    @Test
    void theSameSeedIsTheSameWorld() {
        for (var seed = 1; seed <= 20; seed++) {
            assertThat(traceOf(seed)).isEqualTo(traceOf(seed)).hasSizeGreaterThan(10);
        }
    }

    private static List<String> traceOf(long seed) {
        var world = new World(seed, Chaos.simulation(), true);
        assertThat(world.run()).isNull();
        return world.trace().lines();
    }

    @Test
    void aFailureNamesItsSeedAndReplaysToTheSameEnd() {
        var simulation =
                Simulation.of(() -> process -> process.check(process.clock().nanos() % 3 != 0, "no third"));
        var found = LongStream.range(1, 100)
                .mapToObj(simulation::replay)
                .flatMap(Optional::stream)
                .findFirst()
                .orElseThrow();
        assertThat(found.invariant()).isEqualTo("no third");
        assertThat(found).hasMessageContaining("-Dbellwether.seed=" + found.seed());
        assertThat(simulation.replay(found.seed()).orElseThrow().getMessage()).isEqualTo(found.getMessage());
    }

    @Test
    void aWorldThatCannotBeMadeIsAFailureAndNoneThatRan() {
        var simulation = Simulation.of(() -> {
            throw new IllegalStateException("no application");
        });
        assertThatThrownBy(simulation.seeds(300)::run)
                .isInstanceOf(Violation.class)
                .hasMessageContaining("the simulation runs")
                .hasMessageContaining("no application");
    }

    @Test
    void whateverEndsAWorldIsAFailure() {
        var world = new World(1, Chaos.simulation(), false);
        world.agenda().in(0, SimulationTest::fail);
        assertThat(world.run()).hasMessageContaining("\"the simulation runs\" does not hold");
        var rosters = new RosterWorld(1, RosterMode.EXCLUSIVE, false);
        rosters.agenda().in(0, SimulationTest::fail);
        assertThat(rosters.run()).hasMessageContaining("\"the simulation runs\" does not hold");
    }

    private static void fail() {
        throw new AssertionError("thrown on purpose");
    }

    @Test
    void codeOfAProcessMayWaitInVirtualTime() {
        var seen = new ArrayList<String>();
        var violation = Simulation.of(() -> process -> {
                    var elections = process.elections();
                    var candidacy = elections.stand("bell", CandidacyConfig.ofLease(process.lease()));
                    var before = process.clock().nanos();
                    var mandate = candidacy.await(Duration.ofHours(1)).orElseThrow();
                    assertThat(elections.election("bell").leader().orElseThrow().token())
                            .isEqualTo(mandate.token());
                    process.sleep(Duration.ofSeconds(30));
                    assertThat(process.clock().nanos() - before).isGreaterThan(29_000_000_000L);
                    elections.close();
                    assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
                    seen.add(process.name());
                })
                .without(Fault.values())
                .processes(1, 1)
                .replay(1);
        assertThat(violation).isEmpty();
        assertThat(seen).isNotEmpty();
    }

    @Test
    void aListenerThatOverrunsItsTimeIsInterruptedHalfWay() {
        var interrupted = new ArrayList<Duration>();
        var violation = Simulation.of(() -> process -> {
                    var budget = process.lease().dividedBy(5);
                    var config = CandidacyConfig.builder()
                            .lease(process.lease())
                            .standDownBudget(budget)
                            .listener(event -> {
                                if (event instanceof dev.bellwether.LeadershipEvent.Revoked) {
                                    var began = process.clock().nanos();
                                    try {
                                        process.sleep(Duration.ofDays(1));
                                    } catch (InterruptedException e) {
                                        interrupted.add(
                                                Duration.ofNanos(process.clock().nanos() - began));
                                    }
                                }
                            })
                            .build();
                    process.elections().stand("bell", config);
                })
                .without(Fault.values())
                .processes(1, 1)
                .replay(1);
        assertThat(violation).isEmpty();
        assertThat(interrupted)
                .singleElement()
                .satisfies(time -> assertThat(time).isBetween(Duration.ofMillis(290), Duration.ofMillis(310)));
    }
}
