package dev.bellwether;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The face of a roster, over memory: with threads, and with patience. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each in a memory of its own
class MemoryRosterTest {
    private static final int ROLES = 40;
    private static final int PARTITIONS = 16;
    private static final Duration LEASE = Duration.ofSeconds(2);

    private final String uri = "memory:" + UUID.randomUUID();
    private final List<Elections> open = new ArrayList<>();
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        open.forEach(Elections::close);
    }

    private Elections connect() {
        var elections = Elections.connect(uri);
        open.add(elections);
        return elections;
    }

    private static RosterConfig.Builder config() {
        return RosterConfig.builder()
                .roles(ROLES)
                .partitions(PARTITIONS)
                .lease(LEASE)
                .taskInterval(Duration.ofMillis(20));
    }

    private Roster join(RosterConfig.Builder config) {
        return connect().roster("pricing", config.build());
    }

    private static void await(String what, BooleanSupplier condition) {
        var until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - until).as("%s, within 30 s", what).isLessThan(0);
            try {
                TimeUnit.MILLISECONDS.sleep(5);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void aLoneMemberLeadsAllRolesAndAllItsTasksRun(RosterMode mode) throws InterruptedException {
        var roster = join(config().mode(mode));
        var ran = ConcurrentHashMap.<Integer>newKeySet();
        roster.whileLeading((role, mandate) -> {
            assertThat(mandate.isValid()).isTrue();
            ran.add(role);
        });
        assertThat(roster.await(ROLES, Duration.ofSeconds(30))).isTrue();
        assertThat(roster.leads(0)).isTrue();
        assertThat(roster.leads(ROLES)).isFalse();
        assertThat(roster.leads(-1)).isFalse();
        assertThat(roster.mandate(17).orElseThrow().election()).isEqualTo("pricing[1]");
        assertThat(roster.mandate(17).orElseThrow().token()).isPositive();
        await("every task", () -> ran.size() == ROLES);
    }

    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void rolesAreSharedAndReturnWhenAMemberLeaves(RosterMode mode) throws InterruptedException {
        // where a mandate that runs out is not what moves a role, it is one that a busy machine does not cost
        var config = config().mode(mode).lease(mode == RosterMode.OVERLAPPING ? LEASE : LEASE.multipliedBy(4));
        var causes = new CopyOnWriteArrayList<Cause>();
        var ends = new AtomicInteger();
        var first = join(config.listener(event -> {
            if (event instanceof RosterEvent.Revoked revoked) {
                causes.add(revoked.cause());
                ends.incrementAndGet();
            } else if (event instanceof RosterEvent.Fenced) { // overlapping, if this machine is 20 ms late
                ends.incrementAndGet();
            }
        }));
        assertThat(first.await(ROLES, Duration.ofSeconds(30))).isTrue();
        var second = join(config.listener(event -> {}));
        await(
                "half of the partitions each",
                () -> distinctPartitions(second) == PARTITIONS / 2 && distinctPartitions(first) == PARTITIONS / 2);
        await("told", () -> ends.get() >= PARTITIONS / 2);
        assertThat(causes).allMatch(cause -> cause == Cause.MOVED);
        if (mode != RosterMode.OVERLAPPING) {
            assertThat(causes).isNotEmpty();
        }
        second.close();
        assertThat(second.roles()).isEmpty();
        assertThat(first.await(ROLES, Duration.ofSeconds(30))).isTrue();
    }

    private static long distinctPartitions(Roster roster) {
        return roster.roles().stream().map(role -> role % PARTITIONS).distinct().count();
    }

    @Test
    void weightsDecideHowMuchAMemberTakes() throws InterruptedException {
        var small = join(config());
        assertThat(small.await(ROLES, Duration.ofSeconds(30))).isTrue();
        var large = join(config().weight(3));
        await("three shares of four", () -> distinctPartitions(large) == 12 && distinctPartitions(small) == 4);
    }

    @Test
    void stepsOfARoleThatWentAndCameBackComeOneAfterAnother() throws InterruptedException {
        var running = new AtomicInteger();
        var together = new AtomicInteger();
        var others = new AtomicInteger();
        var steps = new AtomicInteger();
        var mayEnd = new CountDownLatch(1);
        var roster = join(config().roles(2).partitions(1));
        roster.whileLeading((role, mandate) -> {
            if (role == 0) {
                others.incrementAndGet();
            } else {
                steps.incrementAndGet();
                together.accumulateAndGet(running.incrementAndGet(), Math::max);
                mayEnd.await();
                running.decrementAndGet();
            }
        });
        await("a step", () -> steps.get() == 1);
        roster.resize(1);
        await("the role has gone", () -> roster.roles().size() == 1);
        roster.resize(2);
        await("the role is back", () -> roster.roles().size() == 2);
        var before = others.get();
        await("others get on", () -> others.get() > before + 5);
        mayEnd.countDown();
        await("more steps", () -> steps.get() > 3);
        assertThat(together).hasValue(1);
    }

    @Test
    void theTaskRunsForAllThatIsLedThoughTheListenerIsBusyWhenItComes() throws InterruptedException {
        var mayReturn = new CountDownLatch(1);
        var ran = ConcurrentHashMap.<Integer>newKeySet();
        var heard = new AtomicInteger();
        var roster = join(config().roles(1).partitions(1).listener(event -> {
            if (heard.incrementAndGet() == 2) {
                mayReturn.await();
            }
        }));
        assertThat(roster.await(1, Duration.ofSeconds(30))).isTrue();
        roster.resize(2);
        await("the listener hears of the second role", () -> heard.get() == 2);
        roster.whileLeading((role, mandate) -> ran.add(role));
        mayReturn.countDown();
        await("both run", () -> ran.size() == 2);
    }

    @Test
    void aRoleMovesOnlyWhenItsListenerAndItsTaskHaveEnded() throws InterruptedException {
        var running = new AtomicInteger();
        var together = new AtomicInteger();
        var steps = new AtomicInteger();
        RoleTask task = (role, mandate) -> {
            if (role == 0) {
                if (running.incrementAndGet() > 1) {
                    together.incrementAndGet();
                }
                steps.incrementAndGet();
                TimeUnit.MILLISECONDS.sleep(50);
                running.decrementAndGet();
            }
        };
        var first = join(config().roles(1).partitions(1));
        first.whileLeading(task);
        await("steps", () -> steps.get() > 3);
        var second = join(config().roles(1).partitions(1));
        second.whileLeading(task);
        first.close();
        assertThat(second.await(1, Duration.ofSeconds(30))).isTrue();
        var before = steps.get();
        await("more steps", () -> steps.get() > before + 3);
        assertThat(together).hasValue(0);
    }

    @Test
    void tokensOfARoleRise() throws InterruptedException {
        var last = 0L;
        for (var i = 0; i < 4; i++) {
            var roster = join(config());
            assertThat(roster.await(ROLES, Duration.ofSeconds(30))).isTrue();
            var token = roster.mandate(3).orElseThrow().token();
            assertThat(token).isGreaterThan(last);
            last = token;
            roster.close();
        }
    }

    @Test
    void rolesComeAndGoWithTheirNumberWithoutAMove() throws InterruptedException {
        var events = new CopyOnWriteArrayList<RosterEvent>();
        var ran = ConcurrentHashMap.<Integer>newKeySet();
        var roster = join(config().listener(events::add));
        roster.whileLeading((role, mandate) -> ran.add(role));
        assertThat(roster.await(ROLES, Duration.ofSeconds(30))).isTrue();
        await("all told", () -> events.size() == PARTITIONS);
        assertThat(events).allMatch(event -> event.roster().equals("pricing"));
        roster.resize(ROLES + 5);
        assertThat(roster.await(ROLES + 5, Duration.ofSeconds(30))).isTrue();
        await("new tasks", () -> ran.contains(ROLES + 4));
        assertThat(events.stream().skip(PARTITIONS)).allMatch(event -> event instanceof RosterEvent.Gained);
        roster.resize(3);
        await("gone", () -> roster.roles().equals(List.of(0, 1, 2)));
        await(
                "told",
                () -> events.stream()
                        .anyMatch(event -> event instanceof RosterEvent.Revoked revoked
                                && revoked.cause() == Cause.ENDED
                                && revoked.roles().contains(ROLES + 4)));
        assertThat(roster.leads(4)).isFalse();
        assertThat(events).noneMatch(event -> event instanceof RosterEvent.Fenced);
    }

    @Test
    void eventsArePairedForEachRole() throws InterruptedException {
        var led = ConcurrentHashMap.<Integer>newKeySet();
        var wrong = new CopyOnWriteArrayList<String>();
        RosterListener pairs = event -> {
            if (event instanceof RosterEvent.Gained gained) {
                gained.roles().forEach(role -> {
                    if (!led.add(role)) {
                        wrong.add("gained twice: " + role);
                    }
                });
            } else if (event instanceof RosterEvent.Revoked revoked) {
                revoked.roles().forEach(role -> {
                    if (!led.remove(role)) {
                        wrong.add("revoked and not gained: " + role);
                    }
                });
            } else if (event instanceof RosterEvent.Fenced fenced) { // on a busy machine
                led.removeAll(fenced.roles());
            }
        };
        var roster = join(config().listener(pairs));
        assertThat(roster.await(ROLES, Duration.ofSeconds(30))).isTrue();
        var other = join(config());
        await("shared", () -> distinctPartitions(other) == PARTITIONS / 2);
        other.close();
        assertThat(roster.await(ROLES, Duration.ofSeconds(30))).isTrue();
        roster.close();
        assertThat(wrong).isEmpty();
        assertThat(led).isEmpty();
    }

    /** How many there are by then does not matter: of what was told that it is led is told that it is not. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void eventsArePairedThoughTheNumberOfRolesChangesWhileAPartitionStandsDown(int rolesByThen)
            throws InterruptedException {
        var events = new CopyOnWriteArrayList<String>();
        var standsDown = new CountDownLatch(1);
        var roster = join(config().roles(2)
                .partitions(1)
                .lease(Duration.ofSeconds(6))
                .standDownBudget(Duration.ofSeconds(1))
                .listener(event -> {
                    if (event instanceof RosterEvent.Gained gained) {
                        events.add("gained " + gained.roles());
                    } else if (event instanceof RosterEvent.Revoked revoked) {
                        events.add("revoked " + revoked.roles());
                        standsDown.countDown();
                        awaitInterrupt(); // half-way through the budget
                        awaitInterrupt(); // when it is used up
                    } else if (event instanceof RosterEvent.Fenced fenced) {
                        events.add("fenced " + fenced.roles());
                    }
                }));
        assertThat(roster.await(2, Duration.ofSeconds(30))).isTrue();
        roster.resign();
        assertThat(standsDown.await(30, TimeUnit.SECONDS)).isTrue();
        roster.resize(rolesByThen);
        roster.awaitClose();
        assertThat(events).containsExactly("gained [0, 1]", "revoked [0, 1]", "fenced [0, 1]");
    }

    private static void awaitInterrupt() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            // what was waited for
        }
    }

    @Test
    void eachGroupHasALeaderOfItsOwn() throws InterruptedException {
        var a = join(config().group("a").groups(2).mode(RosterMode.OVERLAPPING));
        var b = join(config().group("b").groups(2).mode(RosterMode.OVERLAPPING));
        assertThat(a.await(ROLES, Duration.ofSeconds(30))).isTrue();
        assertThat(b.await(ROLES, Duration.ofSeconds(30))).isTrue();
        assertThat(a.roles()).hasSize(ROLES);
        assertThat(a.mandate(17).orElseThrow().election()).isEqualTo("pricing[a/1]");
        assertThat(b.mandate(17).orElseThrow().election()).isEqualTo("pricing[b/1]");
    }

    @ParameterizedTest
    @ValueSource(strings = {"R&D", "50% of 1+1", "x&group=pricing.main", "Übersee/東京"})
    void aRosterOnASharedTopicIsLedWhateverItsName(String name) throws InterruptedException {
        var roster = connect().roster(name, config().topic("roles").build());
        assertThat(roster.await(ROLES, Duration.ofSeconds(30))).isTrue();
    }

    @Test
    void noMoreStepsRunAtOnceThanAllowed() throws InterruptedException {
        var now = new AtomicInteger();
        var most = new AtomicInteger();
        var ran = ConcurrentHashMap.<Integer>newKeySet();
        var roster = join(config().parallelism(3));
        roster.whileLeading((role, mandate) -> {
            most.accumulateAndGet(now.incrementAndGet(), Math::max);
            try {
                TimeUnit.MILLISECONDS.sleep(2); // unless its mandate ends
                ran.add(role);
            } finally {
                now.decrementAndGet();
            }
        });
        await("all", () -> ran.size() == ROLES);
        assertThat(most.get()).isBetween(1, 3);
    }

    @Test
    void aTaskThatThrowsRunsAgainAndDisturbsNoOther() throws InterruptedException {
        var failures = new AtomicInteger();
        var ran = ConcurrentHashMap.<Integer>newKeySet();
        var roster = join(config());
        roster.whileLeading((role, mandate) -> {
            if (role == 0 && failures.incrementAndGet() < 3) {
                throw new IllegalStateException("on purpose");
            }
            ran.add(role);
        });
        await("all", () -> ran.size() == ROLES);
        assertThat(failures.get()).isGreaterThanOrEqualTo(3);
    }

    @Test
    void aTaskThatFailsWhileItsMandateEndsIsCounted() throws InterruptedException {
        failWhileClosing(new IllegalStateException("planted"));
        assertThat(failures).singleElement().isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aTaskThatStopsBecauseItsMandateEndsHasNotFailed() throws InterruptedException {
        failWhileClosing(new NotLeaderException("planted"));
        failWhileClosing(new InterruptedException());
        assertThat(failures).isEmpty();
    }

    @Test
    void whatAListenerThrowsIsCountedForThePartitionThatItHeardOf() throws InterruptedException {
        var failed = new CopyOnWriteArrayList<String>();
        var counting = ElectionsConfig.builder().metrics(new Metrics() {
            @Override
            public void callbackFailed(String election, String candidate, Throwable thrown) {
                failed.add(election);
            }
        });
        try (var elections = Elections.connect(uri, counting.build())) {
            var config = config().partitions(2).roles(2).listener(event -> {
                throw new IllegalStateException("planted");
            });
            elections.roster("pricing", config.build());
            var both = List.of("pricing[0]", "pricing[1]");
            await("both", () -> failed.containsAll(both)); // one may have been led twice by then
            assertThat(failed).containsOnly("pricing[0]", "pricing[1]");
        }
    }

    /** Lets a task throw this after its mandate has ended. */
    private void failWhileClosing(Exception failure) throws InterruptedException {
        var runs = new CountDownLatch(1);
        var config = ElectionsConfig.builder().metrics(new Metrics() {
            @Override
            public void callbackFailed(String election, String candidate, Throwable thrown) {
                failures.add(thrown);
            }
        });
        try (var elections = Elections.connect(uri, config.build())) {
            var roster = elections.roster("pricing", config().roles(1).build());
            roster.whileLeading((role, mandate) -> {
                runs.countDown();
                while (mandate.isValid()) {
                    Thread.onSpinWait();
                }
                throw failure;
            });
            assertThat(runs.await(30, TimeUnit.SECONDS)).isTrue();
            roster.close();
        }
    }

    @Test
    void closingFromATaskReturnsAtOnce() throws InterruptedException {
        var roster = join(config());
        var closed = new CountDownLatch(1);
        roster.whileLeading((role, mandate) -> {
            roster.close();
            closed.countDown();
        });
        assertThat(closed.await(30, TimeUnit.SECONDS)).isTrue();
        await("over", () -> roster.roles().isEmpty());
    }

    @Test
    void theSameMemberTwiceIsRefusedAndSoIsAnotherNumberOfPartitions() {
        var elections = connect();
        elections.roster("pricing", config().member("m1").build());
        assertThatThrownBy(
                        () -> elections.roster("pricing", config().member("m1").build()))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("m1");
        assertThatThrownBy(
                        () -> elections.roster("pricing", config().partitions(5).build()))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("16 partitions")
                .hasMessageContaining("cannot change");
    }

    @Test
    void keysGoToRolesByTheirSlots() {
        var roster = join(config());
        var slot = roster.slotOf("customer-42");
        assertThat(slot).isBetween(0, 16_383);
        assertThat(roster.roleOf("customer-42"))
                .isEqualTo(roster.roleOfSlot(slot))
                .isBetween(0, ROLES - 1);
    }

    @Test
    void whoHasWhatIsSeenFromOutside() {
        assertThat(connect().rosterState("pricing")).isEmpty();
        var ann = join(config().member("ann").group("a"));
        var bob = join(config().member("bob").group("a"));
        var cyd = join(config().member("cyd").group("b"));
        await(
                "all lead",
                () -> ann.roles().size() + bob.roles().size() == ROLES
                        && !ann.roles().isEmpty()
                        && !bob.roles().isEmpty()
                        && cyd.roles().size() == ROLES);
        var state = connect().rosterState("pricing").orElseThrow();
        assertThat(state.partitions()).isEqualTo(PARTITIONS);
        assertThat(state.groups()).extracting(RosterState.Group::group).containsExactly("a", "b");
        for (var group : state.groups()) {
            assertThat(group.vacant(PARTITIONS)).isZero();
            for (var member : group.members()) {
                var roster = List.of(ann, bob, cyd).stream()
                        .filter(one -> one.member().equals(member.member()))
                        .findAny()
                        .orElseThrow();
                assertThat(state.roles(member, ROLES)).isEqualTo(roster.roles());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void aMemberOfAnotherModeIsRefusedAndDisturbsNobody(RosterMode mode) throws InterruptedException {
        var other = mode == RosterMode.EXCLUSIVE ? RosterMode.OVERLAPPING : RosterMode.EXCLUSIVE;
        var first = join(config().mode(mode));
        assertThat(first.await(ROLES, Duration.ofSeconds(30))).isTrue();
        var second = join(config().mode(other));
        assertThatThrownBy(second::awaitClose)
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("has mode " + other)
                .hasMessageContaining("have " + mode);
        assertThat(second.failure()).isPresent();
        assertThat(second.roles()).isEmpty();
        assertThat(first.await(ROLES, Duration.ofSeconds(30))).isTrue(); // a busy machine may have cost it some
    }

    @Test
    void aTimedMemberWhoseGracePeriodIsTooShortForTheOthersIsRefused() throws InterruptedException {
        var first = join(config().mode(RosterMode.TIMED).threshold(Duration.ofMillis(1_500)));
        assertThat(first.await(ROLES, Duration.ofSeconds(30))).isTrue();
        var second = join(config().mode(RosterMode.TIMED).threshold(Duration.ofMillis(500)));
        assertThatThrownBy(second::awaitClose).hasMessageContaining("gracePeriod is 600 ms");
    }

    /** An interrupted closer must wait as any other, or its roles are vacant for a lease. */
    @Test
    void closingOnAnInterruptedThreadEndsTheRolesInOrder() throws InterruptedException {
        var roster = join(config());
        assertThat(roster.await(ROLES, Duration.ofSeconds(30))).isTrue();
        var ended = new CountDownLatch(1);
        var closer = new Thread(() -> {
            Thread.currentThread().interrupt();
            roster.close();
            if (roster.roles().isEmpty() && Thread.currentThread().isInterrupted()) {
                ended.countDown();
            }
        });
        closer.start();
        closer.join();
        assertThat(ended.getCount()).isZero();
        roster.awaitClose();
    }

    @Test
    void waitingForItsOwnEndIsRefusedInAListenerAndInATask() throws InterruptedException {
        var self = new CompletableFuture<Roster>();
        var refused = new CopyOnWriteArrayList<String>();
        var roster = join(config().listener(event -> {
            if (event instanceof RosterEvent.Gained) {
                refused.add("listener: " + endOf(self.join()));
            }
        }));
        roster.whileLeading((role, mandate) -> refused.add("task: " + endOf(self.join())));
        self.complete(roster);
        await(
                "calls in both",
                () -> Stream.of("listener: ", "task: ")
                        .allMatch(from -> refused.stream().anyMatch(each -> each.startsWith(from))));
        assertThat(refused).allSatisfy(each -> assertThat(each).contains("from a listener or task of member "));
        assertThat(roster.failure()).isEmpty();
        roster.resign();
        roster.awaitClose();
    }

    private static String endOf(Roster roster) throws InterruptedException {
        try {
            roster.awaitClose();
            return "it has ended";
        } catch (IllegalStateException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
