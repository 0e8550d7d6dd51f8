package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.RosterMode;
import dev.bellwether.testkit.sim.PlantedFaultsTest.Plant;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Shows that the simulator of rosters finds faults, as {@link PlantedFaultsTest} does for elections. */
@Tag("full") // it tests the simulation, for minutes: ./check seeds
@Tag("seeds")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // of loops that never end
class PlantedRosterFaultsTest {
    private static final long SEEDS = Long.getLong(Simulation.SEEDS, 10_000);
    private static final List<String> TABLE = new ArrayList<>();

    /** What is planted, and the mode that it breaks: the others need not be simulated. */
    record Fault(RosterMode mode, Plant plant) {}

    @TempDir
    private Path directory;

    static Stream<Fault> faults() {
        return Stream.of(
                fault(
                        RosterMode.TIMED,
                        "the time of receipt instead of the broker's",
                        "internal/roster/BroadcastRosterDriver.java",
                        "timed ? writtenAt(writtenMillis) : loop.clock().now()",
                        "loop.clock().now()"),
                fault(
                        RosterMode.TIMED,
                        "no grace period",
                        "internal/roster/BroadcastRosterDriver.java",
                        "(timed ? config.gracePeriod().toNanos() : 0)",
                        "0"),
                fault(
                        RosterMode.TIMED,
                        "T above the session in exclusive mode",
                        "internal/roster/BroadcastRosterDriver.java",
                        "guarantee = config.candidacy().lease();",
                        "guarantee = timed ? config.lease().multipliedBy(2) : config.candidacy().lease();"),
                fault(
                        RosterMode.OVERLAPPING,
                        "T below the session in overlapping mode",
                        "internal/roster/BroadcastRosterDriver.java",
                        "guarantee = config.candidacy().lease();",
                        "guarantee = timed ? config.candidacy().lease() : config.lease().dividedBy(2);"),
                fault(
                        RosterMode.TIMED,
                        "a message taken for a proof where reads are not fenced",
                        "internal/roster/BroadcastRosterDriver.java",
                        "commits = timed && !readsAreFenced;",
                        "commits = false;"),
                fault(
                        RosterMode.OVERLAPPING,
                        "an overlapping leader that leaves stops at once",
                        "internal/roster/BroadcastRosterDriver.java",
                        "return config.threshold().minus(config.lease());",
                        "return Duration.ZERO;"),
                fault(
                        RosterMode.OVERLAPPING,
                        "an overlapping leader stops when its partition moves",
                        "internal/roster/BroadcastRosterDriver.java",
                        "dueNanos = provenNanos + threshold - Math.min(20_000_000, threshold / 20);",
                        "dueNanos = loop.clock().nanos();"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "a token above the log before its end is known",
                        "internal/roster/RosterLedger.java",
                        "return fellBehind && base",
                        "return base"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "who claims leads by a token lower than one that it was told of",
                        "internal/roster/PartitionSeat.java",
                        "counts == claimToken && claimToken > known",
                        "counts == claimToken"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "a claimant does not wait for the former leader",
                        "spi/journal/JournalSeat.java",
                        "return barred;",
                        "return 0;"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "a beat counts behind a foreign claim",
                        "internal/roster/RosterLedger.java",
                        "return last != null && last.instance().equals(instance) ? last.token() : 0;",
                        "return last != null && last.instance().equals(instance) ? last.token()"
                                + " : seats[partition].state().earlier().stream()"
                                + ".filter(claim -> claim.instance().equals(instance))"
                                + ".mapToLong(SeatClaim::token).findFirst().orElse(0);"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "who missed records does not wait for a leader of whom it has read nothing",
                        "spi/journal/JournalSeat.java",
                        "earlier.add(new SeatClaim(UNSEEN, \"\", 0, unseenUntilNanos, false));",
                        ""),
                fault(
                        RosterMode.EXCLUSIVE,
                        "a proof counted from when it was read",
                        "spi/journal/SeatHold.java",
                        "effects.proven(token, new Proof(commitSent, lease));",
                        "effects.proven(token, new Proof(new Moment(nowNanos, commitSent.wallMillis()"
                                + " + (nowNanos - commitSent.nanos()) / 1_000_000), lease));"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "whoever reads its claim leads by it, though an earlier leader may not have stopped",
                        "spi/journal/SeatHold.java",
                        "< renewNanos && effects.barredNanosAt(nowNanos) <= 0",
                        "< renewNanos"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "a beat counted for half of its lease",
                        "internal/roster/RosterLedger.java",
                        "var until = nowNanos + said.lease().toNanos();",
                        "var until = nowNanos + said.lease().toNanos() / 2;"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "a claim that is lost costs the member all that it has",
                        "internal/roster/RosterClaims.java",
                        "hold.wroteLater(said.number());",
                        "if (hold.phase() == Phase.CLAIMING) { standAside(); }"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "members of other modes share a group",
                        "spi/RosterTerms.java",
                        "mode != group.mode",
                        "mode == null"),
                fault(
                        RosterMode.TIMED,
                        "an answer counts only until the next broadcast",
                        "internal/roster/BroadcastRosterDriver.java",
                        "sent != null && outcome == Commit.ACCEPTED",
                        "sent != null && loop.clock().nanos() - sent.nanos() < broadcastNanos && outcome == Commit.ACCEPTED"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "a task that is set while the listener is busy does not run for what is led",
                        "internal/roster/RosterCallbacks.java",
                        "(failed, queuedNanos) -> led.forEach(gain -> start(partition, gain))",
                        "(failed, queuedNanos) -> {}"),
                fault(
                        RosterMode.EXCLUSIVE,
                        "a turn that throws is forgotten",
                        "internal/loop/GuardedLoop.java",
                        "thrown = e;",
                        "thrown = null;"),
                fault(
                        RosterMode.TIMED,
                        "a roster whose turn threw neither ends nor leaves its group",
                        "internal/roster/LoopRoster.java",
                        "breakOff(thrown);",
                        ""),
                fault(
                        RosterMode.EXCLUSIVE,
                        "who concedes a partition leaves no time to its work",
                        "internal/roster/PartitionSeat.java",
                        "hold.concede(within, nanos());",
                        "hold.drop(nanos());"));
    }

    private static Fault fault(RosterMode mode, String fault, String file, String text, String instead) {
        return new Fault(mode, new Plant(fault, file, text, instead));
    }

    @ParameterizedTest
    @MethodSource("faults")
    void isFound(Fault fault) throws IOException {
        var plant = fault.plant();
        var runner = switch (fault.mode()) {
            case EXCLUSIVE -> RosterRun.Exclusive.class;
            case OVERLAPPING -> RosterRun.Overlapping.class;
            case TIMED -> RosterRun.Timed.class;
        };
        var found = PlantedFaultsTest.simulate(PlantedFaultsTest.compile(plant, directory), runner, SEEDS);
        assertThat(found)
                .as("\"%s\" was not found in %s seeds: %s", plant.fault(), SEEDS, found[0])
                .hasSizeGreaterThan(1);
        TABLE.add("| %s | %s | %s |".formatted(plant.fault(), found[0], found[1]));
    }

    @AfterAll
    static void print() throws IOException {
        PlantedFaultsTest.print(
                "planted-roster-faults.md", List.of("fault", "found by seed", "the invariant that it breaks"), TABLE);
    }
}
