package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Rosters on a real broker: 1,000 roles on 64 partitions, members that come, go, and are cut off. */
class KafkaRosterTest {
    private static final int ROLES = 1_000;
    private static final int PARTITIONS = 64;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String name = "roster-" + UUID.randomUUID();
    private final List<Elections> open = new ArrayList<>();

    @AfterEach
    void close() {
        open.forEach(Elections::close);
    }

    private Roster join(RosterConfig config) {
        var elections = Elections.connect(SharedBroker.uri(), ElectionsConfig.defaults());
        open.add(elections);
        return elections.roster(name, config);
    }

    private static RosterConfig.Builder config() {
        return RosterConfig.builder().roles(ROLES).partitions(PARTITIONS).lease(Duration.ofSeconds(3));
    }

    private static long partitions(Roster roster) {
        return roster.roles().stream().map(role -> role % PARTITIONS).distinct().count();
    }

    private static void awaitShare(List<Roster> members) {
        Eventually.eventually(
                "everybody has his share",
                PATIENCE,
                () -> members.stream().allMatch(member -> partitions(member) == PARTITIONS / members.size()));
    }

    private static int leaders(List<Roster> members, int role) {
        return (int) members.stream().filter(member -> member.leads(role)).count();
    }

    @Test
    void aThousandRolesAreSharedAndNoTwoMembersLeadOne() throws InterruptedException {
        var members = new ArrayList<Roster>();
        var over = new AtomicBoolean();
        var overlaps = new AtomicInteger();
        var watch = new Thread(() -> {
            while (!over.get()) {
                for (var role = 0; role < PARTITIONS; role++) {
                    if (leaders(List.copyOf(members), role) > 1) {
                        overlaps.incrementAndGet();
                    }
                }
            }
        });
        members.add(join(config().build()));
        assertThat(members.get(0).await(ROLES, PATIENCE)).isTrue();
        var token = members.get(0).mandate(5).orElseThrow().token();
        watch.start();
        members.add(join(config().build()));
        awaitShare(members);
        members.add(join(config().build()));
        members.add(join(config().build()));
        awaitShare(members);
        var kept = members.get(1).roles();
        members.remove(3).close();
        Eventually.eventually(
                "all roles are led",
                PATIENCE,
                () -> members.stream().mapToInt(member -> member.roles().size()).sum() == ROLES);
        assertThat(members.get(1).roles()).as("whoever stays keeps what he has").containsAll(kept);
        over.set(true);
        watch.join();
        assertThat(overlaps).as(Never.mark("two members lead one role")).hasValue(0);
        members.get(0).close();
        members.get(1).close();
        assertThat(members.get(2).await(ROLES, PATIENCE)).isTrue();
        assertThat(members.get(2).mandate(5).orElseThrow().token()).isGreaterThanOrEqualTo(token);
    }

    @Test
    void theRolesOfAMemberThatIsCutOffAreLedByOthers() throws InterruptedException {
        var brokers = new KafkaInfrastructure(SharedBroker.get());
        var linked = brokers.connectLinked(ElectionsConfig.defaults());
        open.add(linked.elections());
        var cut = linked.elections().roster(name, config().build());
        var other = join(config().build());
        awaitShare(List.of(cut, other));
        linked.link().cut();
        assertThat(other.await(ROLES, PATIENCE)).isTrue();
        assertThat(cut.roles()).isEmpty();
        linked.link().heal();
        awaitShare(List.of(cut, other));
    }

    @Test
    void overlappingRolesAreNeverVacantWhileMembersComeAndGo() throws InterruptedException {
        var config = config().roles(PARTITIONS).mode(RosterMode.OVERLAPPING).build();
        var first = join(config);
        assertThat(first.await(PARTITIONS, PATIENCE)).isTrue();
        var second = join(config);
        var over = new AtomicBoolean();
        var gaps = new AtomicInteger();
        var watch = new Thread(() -> {
            while (!over.get()) {
                for (var role = 0; role < PARTITIONS; role++) {
                    // asked in this order, and once more, since a role may move between the two questions
                    if (!first.leads(role) && !second.leads(role) && !first.leads(role) && !second.leads(role)) {
                        gaps.incrementAndGet();
                    }
                }
            }
        });
        watch.start();
        awaitShare(List.of(first, second));
        second.close();
        assertThat(first.await(PARTITIONS, PATIENCE)).isTrue();
        over.set(true);
        watch.join();
        assertThat(gaps).hasValue(0);
    }

    @Test
    void timedRolesAreLedByOneAfterTheGracePeriod() throws InterruptedException {
        var config = config().roles(8).partitions(8).mode(RosterMode.TIMED).build();
        var first = join(config);
        assertThat(first.await(8, PATIENCE)).isTrue();
        var second = join(config);
        Eventually.eventually(
                "half each",
                PATIENCE,
                () -> first.roles().size() == 4 && second.roles().size() == 4);
        assertThat(first.roles()).doesNotContainAnyElementsOf(second.roles());
    }

    @Test
    void withOneWholeGroupDeadEveryRoleHasALeaderStill() throws InterruptedException {
        var a = join(config().group("a").groups(2).mode(RosterMode.OVERLAPPING).build());
        var b = join(config().group("b").groups(2).mode(RosterMode.OVERLAPPING).build());
        assertThat(a.await(ROLES, PATIENCE)).isTrue();
        assertThat(b.await(ROLES, PATIENCE)).isTrue();
        b.resign();
        Eventually.eventually("b is gone", PATIENCE, () -> b.roles().isEmpty());
        assertThat(a.roles()).hasSize(ROLES);
    }

    @Test
    void anotherNumberOfPartitionsIsRefused() {
        join(config().build());
        assertThatThrownBy(() -> join(config().partitions(65).build()))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("has 64 partitions")
                .hasMessageContaining("asked for 65");
    }
}
