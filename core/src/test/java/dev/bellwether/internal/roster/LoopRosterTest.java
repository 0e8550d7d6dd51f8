package dev.bellwether.internal.roster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Metrics;
import dev.bellwether.RoleTask;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterEvent;
import dev.bellwether.RosterMode;
import dev.bellwether.internal.election.Rig;
import dev.bellwether.internal.loop.ForwardingLoop;
import dev.bellwether.memory.MemoryGroups;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.memory.MemoryRosters;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.RosterStanding;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Members on a clock that is wound by hand. */
class LoopRosterTest {
    private static final Duration LEASE = Duration.ofSeconds(10);

    private final Rig rig = new Rig();
    private final MemoryGroups groups = new MemoryGroups(rig.loop.clock(), true);
    private final Way way = new Way();
    private final List<String> asked = new ArrayList<>();
    private final List<String> heard = new ArrayList<>();
    private final ArrayDeque<Runnable> kept = new ArrayDeque<>();
    private final List<String> delayed = new ArrayList<>();
    private final List<Duration> delays = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();
    private final Elections elections = elections(rig.loop);
    private boolean leaveThrowsOnce;

    @AfterEach
    void close() {
        rig.close();
    }

    private Elections elections(Loop loop) {
        return Elections.over(
                way,
                ElectionsConfig.builder()
                        .loop(loop)
                        .executor(Runnable::run)
                        .metrics(new Figures())
                        .build());
    }

    private Roster join(String member, RosterMode mode, Executor executor) {
        var roster = elections.roster("pricing", config(member, mode, executor));
        rig.pass(LEASE.multipliedBy(2));
        return roster;
    }

    private RosterConfig config(String member, RosterMode mode, Executor executor) {
        return RosterConfig.builder()
                .roles(2)
                .partitions(2)
                .member(member)
                .mode(mode)
                .lease(LEASE)
                .executor(executor)
                .listener(event -> heard.add(event.getClass().getSimpleName()))
                .build();
    }

    @Test
    void aLineOfTheLogNamesAFewRolesAndCountsMany() {
        assertThat(LoopRoster.named(List.of(3))).isEqualTo(" role 3");
        assertThat(LoopRoster.named(List.of(3, 67))).isEqualTo(" roles 3, 67");
        assertThat(LoopRoster.named(IntStream.range(0, 157).boxed().toList()))
                .isEqualTo(" 157 roles (0, 1, 2, 3, 4, 5, 6, 7, …)");
    }

    @Test
    void aMemberThatIsRefusedEndsWhenItsListenerHasHeardOfIt() {
        assertThat(join("one", RosterMode.EXCLUSIVE, Runnable::run).roles()).hasSize(2);
        heard.clear();
        var refused = join("two", RosterMode.OVERLAPPING, kept::add);
        assertThat(refused.failure()).isPresent();
        assertThat(kept).hasSize(1); // its listener has not returned
        assertThatThrownBy(() -> join("two", RosterMode.EXCLUSIVE, Runnable::run))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("is here already");
        kept.remove().run();
        rig.settle();
        assertThat(heard).containsExactly(RosterEvent.Failed.class.getSimpleName());
        assertThatThrownBy(refused::awaitClose).isInstanceOf(ElectionException.class);
        join("two", RosterMode.EXCLUSIVE, Runnable::run);
    }

    @Test
    void aMemberOfWhichATurnThrewWritesItsReleaseBeforeItLeaves() {
        var roster = elections.roster(
                "pricing",
                RosterConfig.builder().roles(2).partitions(2).lease(LEASE).build());
        rig.pass(LEASE.multipliedBy(2));
        assertThat(roster.roles()).hasSize(2);
        asked.clear();
        way.throwsOnce = true;
        rig.pass(LEASE);
        assertThat(asked).containsExactly("write RELEASE", "leave", "close");
    }

    /** Nobody else would lead what the group gives to it. */
    @Test
    void aMemberThatCannotBeMadeIsNoMemberOfItsGroup() {
        way.lacksOnce = true;
        assertThatThrownBy(() -> join("one", RosterMode.OVERLAPPING, Runnable::run))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(asked).containsExactly("close");
    }

    @Test
    void aMemberOfWhichATurnThrewLeavesItsGroupThoughItsWorkHasNotEnded() {
        join("one", RosterMode.EXCLUSIVE, kept::add);
        asked.clear();
        way.throwsOnce = true;
        rig.pass(LEASE);
        assertThat(asked).containsExactly("leave");
        while (!kept.isEmpty()) {
            kept.remove().run();
            rig.settle();
        }
        assertThat(heard).containsSubsequence("Gained", "Fenced", "Failed");
        assertThat(asked).startsWith("leave", "write RELEASE").endsWith("close").containsOnlyOnce("leave");
    }

    @ParameterizedTest
    @EnumSource(
            value = RosterMode.class,
            names = {"EXCLUSIVE", "TIMED"})
    void aMemberThatIsClosedLeavesItsGroupThoughItsWorkHasNotEnded(RosterMode mode) {
        var one = join("one", mode, kept::add);
        asked.clear();
        one.resign();
        var budget = config("one", mode, kept::add).candidacy().standDownBudget();
        rig.pass(budget.minusMillis(1));
        assertThat(asked).doesNotContain("leave");
        rig.pass(Duration.ofMillis(2));
        assertThat(asked).contains("leave");
        requireAnotherLeadsAndItIsClosedInTheEnd(mode);
    }

    /** As one whose right to read the journal was withdrawn. */
    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void aMemberThatHasFailedLeavesItsGroupThoughItsWorkHasNotEnded(RosterMode mode) {
        join("one", mode, kept::add);
        asked.clear();
        way.observer.failed(new ElectionException("planted"));
        var budget = config("one", mode, kept::add).candidacy().standDownBudget();
        rig.pass(budget.plusMillis(2));
        assertThat(asked).containsOnlyOnce("leave");
        requireAnotherLeadsAndItIsClosedInTheEnd(mode);
    }

    private void requireAnotherLeadsAndItIsClosedInTheEnd(RosterMode mode) {
        var two = join("two", mode, Runnable::run);
        rig.pass(LEASE.multipliedBy(3));
        assertThat(two.roles()).hasSize(2);
        while (!kept.isEmpty()) {
            kept.remove().run();
            rig.settle();
        }
        assertThat(asked).containsOnlyOnce("leave").contains("close");
    }

    @Test
    void aMemberThatCouldNotBeToldToLeaveCanBeToldAgain() {
        var one = join("one", RosterMode.EXCLUSIVE, Runnable::run);
        rig.loop.thrown = new OutOfMemoryError("planted");
        assertThatThrownBy(one::resign).isInstanceOf(OutOfMemoryError.class);
        one.resign();
        rig.pass(LEASE);
        assertThat(one.roles()).isEmpty();
        assertThat(asked).endsWith("leave", "close");
    }

    @Test
    void aMemberThatCannotLeaveItsGroupForLackOfMemoryTriesAgainThoughItsWorkHasNotEnded() {
        join("one", RosterMode.EXCLUSIVE, kept::add);
        asked.clear();
        way.throwsOnce = true;
        leaveThrowsOnce = true;
        assertThatThrownBy(() -> rig.pass(LEASE)).isInstanceOf(OutOfMemoryError.class);
        assertThat(asked).containsExactly("leave");
        rig.pass(LEASE);
        assertThat(asked).containsExactly("leave", "leave");
    }

    @Test
    void aMemberThatEndsInOrderAndCannotLeaveItsGroupForLackOfMemoryTriesAgain() {
        var roster = join("one", RosterMode.EXCLUSIVE, Runnable::run);
        asked.clear();
        leaveThrowsOnce = true;
        roster.resign();
        rig.pass(LEASE);
        assertThat(asked).endsWith("leave", "leave", "close");
    }

    /** Its session would keep its partitions from others for long. */
    @Test
    void aMemberThatCannotBeEndedInOrderLeavesItsGroupAndWritesItsReleaseWhenItCan() {
        var failing = new Failing(rig.loop);
        var roster = elections(failing).roster("pricing", config("one", RosterMode.EXCLUSIVE, Runnable::run));
        rig.pass(LEASE.multipliedBy(2));
        assertThat(roster.roles()).hasSize(2);
        asked.clear();
        way.throwsOnce = true;
        failing.refuses = true; // so nothing of it can be ended
        rig.pass(LEASE);
        assertThat(asked).isNotEmpty().containsOnly("leave");
        failing.refuses = false;
        rig.pass(LEASE);
        assertThat(asked).contains("write RELEASE").endsWith("close");
        assertThat(heard).containsSubsequence("Gained", "Fenced", "Failed");
    }

    @Test
    void aMemberThatCannotBeStartedIsNoMember() {
        var loop = new Failing(rig.loop);
        loop.failsAt = 3; // behind a turn of the elections, and one of the membership
        var failing = elections(loop);
        var config = config("one", RosterMode.EXCLUSIVE, Runnable::run);
        assertThatThrownBy(() -> failing.roster("pricing", config)).isInstanceOf(OutOfMemoryError.class);
        assertThat(asked).containsExactly("close");
        failing.roster("pricing", config);
        rig.pass(LEASE);
        assertThat(groups.members("pricing", config.group())).hasSize(1);
    }

    /** It was fenced as if nothing had answered: its work was interrupted. */
    @Test
    void aPartitionThatComesBackAndMovesOnBeforeItsNextMessageIsLedToTheEndInOrder() {
        var roster = join("one", RosterMode.OVERLAPPING, Runnable::run);
        assertThat(roster.roles()).hasSize(2);
        heard.clear();
        var moved = List.of(0);
        rig.loop.execute(() -> {
            way.observer.revoking(moved);
            way.observer.assigned(moved);
            way.observer.revoking(moved);
        });
        rig.settle();
        assertThat(roster.roles()).as("it is led on").hasSize(2);
        rig.pass(config("one", RosterMode.OVERLAPPING, Runnable::run).threshold());
        assertThat(roster.roles()).hasSize(1);
        assertThat(heard).containsExactly("Revoked");
    }

    @Test
    void howLongAListenerWaitedIsTold() {
        elections.roster("pricing", config("one", RosterMode.EXCLUSIVE, Runnable::run));
        rig.pass(LEASE.multipliedBy(2));
        assertThat(heard).containsOnly("Gained").hasSize(2);
        assertThat(delayed).containsExactlyInAnyOrder("pricing[0]", "pricing[1]");
    }

    @Test
    void aTaskThatIsInterruptedAfterItsDeadlineHasNotFailed() {
        var roster = join("one", RosterMode.EXCLUSIVE, Runnable::run);
        var steps = new ArrayList<Long>();
        roster.whileLeading((role, mandate) -> {
            steps.add(mandate.token());
            if (steps.size() == 1) {
                rig.stall(mandate.remaining()); // the machine has not noticed yet
                throw new InterruptedException();
            }
        });
        rig.settle();
        assertThat(steps).isNotEmpty();
        assertThat(failures).isEmpty();
    }

    @Test
    void aTaskThatThrowsLateRunsAgainAfterTheRetryInterval() {
        var roster = join("one", RosterMode.EXCLUSIVE, Runnable::run);
        var begun = new ArrayList<Long>();
        roster.whileLeading((role, mandate) -> {
            if (role == 0) {
                begun.add(rig.loop.clock().nanos());
                if (begun.size() == 1) {
                    rig.stall(Duration.ofSeconds(2));
                    throw new IllegalStateException("planted");
                }
            }
        });
        rig.pass(Duration.ofSeconds(4));
        var retry = RosterConfig.builder().lease(LEASE).build().candidacy().retryInterval();
        assertThat(begun.get(1) - begun.get(0))
                .isGreaterThanOrEqualTo(retry.plusSeconds(2).toNanos());
        assertThat(failures).hasSize(1);
    }

    /** It is all that shows that a member has more to do than it may do at once. */
    @Test
    void howLongAStepWaitsForItsTurnIsCounted() {
        var config = config("one", RosterMode.EXCLUSIVE, Runnable::run).toBuilder()
                .partitions(1)
                .parallelism(1)
                .taskInterval(Duration.ofMinutes(1))
                .build();
        var roster = elections.roster("pricing", config);
        rig.pass(LEASE.multipliedBy(2));
        delays.clear();
        roster.whileLeading((role, mandate) -> rig.stall(Duration.ofSeconds(2)));
        rig.settle();
        assertThat(delays).containsExactly(Duration.ZERO, Duration.ofSeconds(2));
    }

    /** Else its work would run while what is told of its end is heard. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRoleThatWentAndCameBackRunsWhenItIsToldThatItCameBack(boolean taskFirst) {
        var config = config("one", RosterMode.EXCLUSIVE, kept::add).toBuilder()
                .partitions(1)
                .listener(event -> heard.add(told(event)))
                .build();
        var roster = elections.roster("pricing", config);
        RoleTask task = (role, mandate) -> heard.add("step " + role);
        if (taskFirst) {
            roster.whileLeading(task);
        }
        rig.pass(LEASE.multipliedBy(2));
        if (!taskFirst) {
            roster.whileLeading(task);
        }
        roster.resize(1);
        roster.resize(2);
        rig.settle();
        while (!kept.isEmpty()) {
            kept.remove().run();
            rig.settle();
        }
        assertThat(heard).startsWith("Gained [0, 1]").containsSubsequence("Revoked [1]", "Gained [1]", "step 1");
        assertThat(heard.indexOf("step 1")).isGreaterThan(heard.indexOf("Gained [1]"));
        assertThat(heard).contains("step 0");
    }

    private static String told(RosterEvent event) {
        if (event instanceof RosterEvent.Gained gained) {
            return "Gained " + gained.roles();
        }
        return event instanceof RosterEvent.Revoked revoked ? "Revoked " + revoked.roles() : event.toString();
    }

    private final class Figures implements Metrics {
        @Override
        public void callbackDelayed(String election, String candidate, Duration queued) {
            delayed.add(election);
            delays.add(queued);
        }

        @Override
        public void callbackFailed(String election, String candidate, Throwable failure) {
            failures.add(failure);
        }
    }

    /** Takes no turn, for lack of memory. */
    private static final class Failing extends ForwardingLoop {
        private int executed;
        private int failsAt;
        private boolean refuses;

        private Failing(Loop loop) {
            super(loop);
        }

        @Override
        public void execute(Runnable turn) {
            if (refuses || ++executed == failsAt) {
                throw new OutOfMemoryError("planted");
            }
            super.execute(turn);
        }

        @Override
        public void close() {}
    }

    /** The way to the groups; it notes what is asked of a membership that matters here. */
    private final class Way extends Rig.Wire implements MemoryRosters.Wire {
        private boolean throwsOnce;
        private boolean lacksOnce; // memory

        @SuppressWarnings("NullAway.Init")
        private GroupObserver observer;

        private Way() {
            super(new MemoryLeaseStore(rig.loop.clock()));
        }

        @Override
        public <T> void call(Function<MemoryGroups, T> request, Consumer<T> answer) {
            if (throwsOnce) {
                throwsOnce = false;
                throw new AssertionError("planted");
            }
            answer.accept(request.apply(groups));
        }

        @Override
        public Runnable watch(String topic, Runnable watcher) {
            return () -> {}; // what is new is found by looking
        }

        @Override
        public Optional<RosterCarrier> rosters() {
            var carrier = new MemoryRosters(groups, this);
            return Optional.of(new RosterCarrier() {
                @Override
                public void check(String roster, RosterConfig config) {
                    carrier.check(roster, config);
                }

                @Override
                public boolean readsAreFenced() {
                    if (lacksOnce) {
                        lacksOnce = false;
                        throw new OutOfMemoryError("planted");
                    }
                    return carrier.readsAreFenced();
                }

                @Override
                public GroupMembership join(RosterStanding standing, GroupObserver joining, Loop loop) {
                    observer = joining;
                    return new Noted(carrier.join(standing, joining, loop));
                }
            });
        }
    }

    private final class Noted implements GroupMembership {
        private final GroupMembership membership;

        private Noted(GroupMembership membership) {
            this.membership = membership;
        }

        @Override
        public void commit(long number) {
            membership.commit(number);
        }

        @Override
        public void write(int partition, byte[] record) {
            RosterRecord.parse(record).ifPresent(said -> {
                if (said.what() == RosterRecord.What.RELEASE) {
                    asked.add("write " + said.what());
                }
            });
            membership.write(partition, record);
        }

        @Override
        public void revoked(int partition) {
            membership.revoked(partition);
        }

        @Override
        public void standAside(Duration time) {
            membership.standAside(time);
        }

        @Override
        public void highest(long token) {
            membership.highest(token);
        }

        @Override
        public void leave() {
            asked.add("leave");
            if (leaveThrowsOnce) {
                leaveThrowsOnce = false;
                throw new OutOfMemoryError("planted");
            }
            membership.leave();
        }

        @Override
        public void close() {
            asked.add("close");
            membership.close();
        }
    }
}
