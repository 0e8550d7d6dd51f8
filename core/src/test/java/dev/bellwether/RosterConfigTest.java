package dev.bellwether;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class RosterConfigTest {
    private static void refused(RosterConfig.Builder builder, String... parts) {
        assertThatThrownBy(builder::build).isInstanceOf(ElectionException.class).hasMessageContainingAll(parts);
    }

    private static RosterConfig.Builder builder() {
        return RosterConfig.builder().roles(100);
    }

    @Test
    void defaultsAreConsistentInEveryMode() {
        for (var mode : RosterMode.values()) {
            var config = builder().mode(mode).build();
            assertThat(config.advice()).isEmpty();
            assertThat(config.lease()).isEqualTo(Duration.ofSeconds(10));
        }
        assertThat(RosterConfig.ofRoles(7).roles()).isEqualTo(7);
    }

    @Test
    void refusedAccessIsToleratedForFiveMinutesUnlessSetOtherwise() {
        assertThat(RosterConfig.ofRoles(1).accessPatience()).isEqualTo(Duration.ofMinutes(5));
        var config =
                RosterConfig.builder().accessPatience(Duration.ofSeconds(7)).build();
        assertThat(config.accessPatience()).isEqualTo(Duration.ofSeconds(7));
        assertThat(config.candidacy().accessPatience()).isEqualTo(Duration.ofSeconds(7));
        assertThatThrownBy(() -> RosterConfig.builder().accessPatience(Duration.ZERO))
                .hasMessageContaining("accessPatience is 0 s");
    }

    @Test
    void numbersOutsideTheirBoundsAreRefused() {
        assertThatThrownBy(() -> builder().roles(0)).hasMessageContaining("roles is 0");
        assertThatThrownBy(() -> builder().partitions(0)).hasMessageContaining("partitions is 0");
        assertThatThrownBy(() -> builder().weight(1001)).hasMessageContaining("weight is 1001");
        assertThatThrownBy(() -> builder().groups(17)).hasMessageContaining("groups is 17");
        assertThatThrownBy(() -> builder().slots(0)).hasMessageContaining("slots is 0");
        assertThatThrownBy(() -> builder().parallelism(0)).hasMessageContaining("parallelism is 0");
        assertThatThrownBy(() -> builder().group("a b")).hasMessageContaining("group is \"a b\"");
        assertThatThrownBy(() -> builder().gracePeriod(Duration.ofSeconds(-1)))
                .hasMessageContaining("gracePeriod is -1 s");
        for (var bad : new double[] {0, 0.7, 1, Double.NaN}) {
            assertThatThrownBy(() -> builder().driftBound(bad))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("driftBound is " + bad);
        }
        assertThatThrownBy(() -> builder().lease(Duration.ofMillis(9))).hasMessageContaining("lease is 9 ms");
    }

    @Test
    void aBudgetThatLeavesNothingOfTheThresholdIsRefusedByTheNameOfTheThreshold() {
        refused(
                builder().mode(RosterMode.TIMED).standDownBudget(Duration.ofSeconds(5)),
                "standDownBudget 5 s leaves nothing of threshold 5 s",
                "TIMED",
                "lease 10 s");
        refused(builder().mode(RosterMode.TIMED).threshold(Duration.ofMillis(9)), "threshold 9 ms", "TIMED", "10 ms");
        refused(
                builder()
                        .mode(RosterMode.TIMED)
                        .lease(Duration.ofSeconds(2))
                        .threshold(Duration.ofSeconds(1))
                        .standDownBudget(Duration.ofMillis(800))
                        .broadcastInterval(Duration.ofMillis(450)),
                "standDownBudget 800 ms leaves 190 ms of threshold 1 s",
                "broadcast interval 450 ms");
    }

    @Test
    void aBuilderMadeOfSettingsMakesTheSameSettings() {
        var config = builder()
                .mode(RosterMode.TIMED)
                .partitions(7)
                .slots(70)
                .member("m")
                .weight(3)
                .group("a")
                .groups(2)
                .topic("shared")
                .lease(Duration.ofSeconds(20))
                .standDownBudget(Duration.ofSeconds(1))
                .driftBound(0.02)
                .threshold(Duration.ofSeconds(12))
                .clockError(Duration.ofMillis(300))
                .gracePeriod(Duration.ofSeconds(13))
                .broadcastInterval(Duration.ofMillis(500))
                .listener(event -> {})
                .executor(Runnable::run)
                .taskInterval(Duration.ofSeconds(2))
                .parallelism(5)
                .haltOnOverrun(true)
                .accessPatience(Duration.ofSeconds(9))
                .build();
        assertThat(config.toBuilder().build()).usingRecursiveComparison().isEqualTo(config);
    }

    @Test
    void whatFollowsTheLeaseFollowsItInACopyToo() {
        var copy = builder().build().toBuilder().lease(Duration.ofSeconds(5)).build();
        assertThat(copy)
                .usingRecursiveComparison()
                .isEqualTo(builder().lease(Duration.ofSeconds(5)).build());
    }

    /** T above the reassignment time, or roles would be vacant while they move. */
    @Test
    void anOverlapThatIsNoneIsRefused() {
        refused(
                builder().mode(RosterMode.OVERLAPPING).threshold(Duration.ofSeconds(10)),
                "threshold 10 s",
                "lease 10 s",
                "without a leader while they move");
    }

    /** T + e below the session, or a former leader would outlast it. */
    @Test
    void aThresholdThatReachesTheSessionIsRefusedWhenTimed() {
        refused(
                builder()
                        .mode(RosterMode.TIMED)
                        .threshold(Duration.ofMillis(9_500))
                        .clockError(Duration.ofMillis(500)),
                "threshold 9.5 s",
                "clockError 500 ms",
                "lease 10 s");
        assertThat(builder()
                        .mode(RosterMode.TIMED)
                        .threshold(Duration.ofMillis(9_400))
                        .clockError(Duration.ofMillis(500))
                        .build()
                        .gracePeriod())
                .isEqualTo(Duration.ofMillis(9_900));
    }

    @Test
    void broadcastsTooRarelyAreRefusedAndMoreSoWhereGroupsShareThePartitions() {
        var seldom = builder().mode(RosterMode.OVERLAPPING).broadcastInterval(Duration.ofSeconds(3));
        assertThat(seldom.build().broadcastInterval()).isEqualTo(Duration.ofSeconds(3));
        refused(seldom.groups(4), "twice the broadcast interval", "4 group(s)");
    }

    @Test
    void anOverlappingLeaderUsesItsWholeThreshold() {
        var config = builder().mode(RosterMode.OVERLAPPING).build();
        var candidacy = config.candidacy();
        var used = candidacy.lease().toNanos() * (1 - candidacy.driftBound())
                - candidacy.standDownBudget().toNanos();
        assertThat(used)
                .isBetween(
                        config.threshold().toNanos() - 1e3, config.threshold().toNanos() + 1e6);
    }

    @Test
    void aGracePeriodThatAFormerLeaderCouldOutlastIsRefused() {
        var brief = builder()
                .mode(RosterMode.TIMED)
                .threshold(Duration.ofSeconds(8))
                .clockError(Duration.ofMillis(500))
                .gracePeriod(Duration.ofMillis(8_499));
        assertThatThrownBy(brief::build)
                .isInstanceOf(ElectionException.class)
                .hasMessageContainingAll("gracePeriod 8.499 s", "threshold 8 s", "clockError 500 ms", "make it 8.5 s");
    }

    @Test
    void whatIsNotAdvisableIsSaid() {
        assertThat(RosterConfig.builder().roles(3).build().advice())
                .anyMatch(advice -> advice.contains("may lead nothing"));
        assertThat(builder().mode(RosterMode.OVERLAPPING).groups(2).build().advice())
                .anyMatch(advice -> advice.contains("a topic for each group"));
        assertThat(builder()
                        .mode(RosterMode.OVERLAPPING)
                        .threshold(Duration.ofMinutes(3))
                        .build()
                        .advice())
                .anyMatch(advice -> advice.contains("more than ten times"));
        assertThat(builder()
                        .mode(RosterMode.OVERLAPPING)
                        .lease(Duration.ofSeconds(11))
                        .build()
                        .advice())
                .anyMatch(advice -> advice.contains("without a leader for that long"));
        assertThat(builder()
                        .mode(RosterMode.TIMED)
                        .threshold(Duration.ofSeconds(8))
                        .build()
                        .advice())
                .anyMatch(advice -> advice.contains("significantly less"));
        assertThat(builder().groups(2).build().advice()).anyMatch(advice -> advice.contains("name each"));
        assertThat(builder().groups(2).group("a").build().advice()).isEmpty();
        assertThat(builder().partitions(4).build().advice(5))
                .anyMatch(advice -> advice.contains("1 of them will lead nothing"));
        assertThat(builder().partitions(5).build().advice(3)).anyMatch(advice -> advice.contains("twice as much"));
        assertThat(builder().build().advice(4)).isEmpty();
    }
}
