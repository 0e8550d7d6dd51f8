package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import dev.bellwether.testkit.faults.BenchFault;
import dev.bellwether.testkit.faults.Contestant;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import dev.bellwether.testkit.faults.Findings;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The fault bench sees two leaders where there are two: it is shown leaders with the usual mistakes, and to each the
 * fault that shows it.
 */
@Tag("full") // it tests the bench
class FaultBenchFindsMistakesTest {
    private static final Duration LEASE = Duration.ofSeconds(2);

    @SuppressWarnings("NullAway.Init")
    private static DatabaseGround ground;

    @BeforeAll
    static void startServer() throws SQLException {
        ground = DatabaseGround.postgres(2);
        try (var connection = DriverManager.getConnection(ground.operatorsUri());
                var statement = connection.createStatement()) {
            statement.execute(UsualMistake.TABLE);
        }
    }

    @AfterAll
    static void stopServer() {
        ground.close();
    }

    private static FaultBench bench(Class<? extends Contestant.Maker> maker) {
        var bench = new FaultBench(
                ground, Setting.of("mistake-" + maker.getSimpleName(), LEASE).with(maker));
        bench.startAll();
        return bench;
    }

    /** The leader is cut off, and waits for an answer that does not come. */
    private static void cutOff(FaultBench bench, Runnable meanwhile) {
        var leader = bench.awaitLeader();
        var cut = bench.begin(BenchFault.CUT, leader, LEASE);
        bench.awaitLeaderOtherThan(leader);
        meanwhile.run();
        cut.run();
    }

    /** An answer that is most of a lease old is the last that the leader gets. */
    private static void lateAnswer(FaultBench bench) {
        var leader = bench.awaitLeader();
        var late = bench.begin(BenchFault.CUT_ANSWERS, leader, LEASE);
        Eventually.throughout("the answer waits", LEASE.multipliedBy(8).dividedBy(10), () -> true);
        bench.begin(BenchFault.CUT_REQUESTS, leader, LEASE);
        bench.awaitLeaderOtherThan(leader);
        Eventually.throughout("nothing more is heard", LEASE.dividedBy(2), () -> true);
        late.run();
    }

    /** The leader leaves, and its work takes a while to end. */
    private static void leave(FaultBench bench, Runnable meanwhile) {
        var leader = bench.awaitLeader();
        bench.block(leader, LEASE.multipliedBy(2));
        var left = bench.begin(BenchFault.LEAVE, leader, LEASE);
        bench.awaitLeaderOtherThan(leader);
        meanwhile.run();
        left.run();
    }

    /** The register sees it by itself, as soon as both have written. */
    private static void awaitRegister(FaultBench bench) {
        Eventually.eventually(
                "the register saw it",
                Duration.ofSeconds(60),
                () -> bench.seenByTheRegister().stream().anyMatch(fault -> fault.contains("was believed in")));
    }

    private static void requireFound(Findings findings) {
        System.out.println(findings);
        assertThat(findings.overlapNanos()).as("nanoseconds of overlap").isPositive();
        assertThat(findings.faults()).anyMatch(fault -> fault.startsWith(Never.MARK + "two led at once"));
        assertThatThrownBy(findings::requireSafe).isInstanceOf(AssertionError.class);
    }

    @Test
    void whoLeadsUntilToldOtherwiseIsSeenToLeadBesideItsSuccessor() {
        try (var bench = bench(UsualMistake.LeadsUntilToldOtherwise.class)) {
            cutOff(bench, () -> awaitRegister(bench));
            requireFound(bench.end());
        }
    }

    @Test
    void whoCountsItsLeaseFromTheAnswerIsSeenToLeadBesideItsSuccessor() {
        try (var bench = bench(UsualMistake.CountsFromTheAnswer.class)) {
            lateAnswer(bench);
            requireFound(bench.end());
        }
    }

    @Test
    void whoReleasesTheSeatBeforeItStandsDownIsSeenToLeadBesideItsSuccessor() {
        try (var bench = bench(UsualMistake.ReleasesBeforeItStandsDown.class)) {
            leave(bench, () -> awaitRegister(bench));
            requireFound(bench.end());
        }
    }

    @Test
    void whoMakesNoneOfTheMistakesIsNotAccused() {
        try (var bench = bench(UsualMistake.None.class)) {
            cutOff(bench, () -> {});
            lateAnswer(bench);
            leave(bench, () -> {});
            var findings = bench.end();
            System.out.println(findings);
            findings.requireSafe();
            assertThat(findings.overlapNanos()).isZero();
        }
    }
}
