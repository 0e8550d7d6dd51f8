package dev.bellwether.internal.joint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Departure;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.Watch;
import dev.bellwether.internal.election.Rig;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How joint elections and their halves end, on threads of their own. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JointClosingTest {
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Set<Thread.State> WORKING =
            EnumSet.of(Thread.State.NEW, Thread.State.RUNNABLE, Thread.State.BLOCKED);

    private final Rig.Wire oldWire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
    private final Rig.Wire nextWire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
    private final Elections old = Elections.over(oldWire, ElectionsConfig.defaults());
    private final Elections next = Elections.over(nextWire, ElectionsConfig.defaults());
    private final Elections both = Elections.jointly(old, next);
    private final List<String> closed = new CopyOnWriteArrayList<>();
    private final CompletableFuture<Candidacy> candidacy = new CompletableFuture<>();

    private Elections named(String name) {
        return switch (name) {
            case "old" -> old;
            case "next" -> next;
            default -> both;
        };
    }

    private Candidacy lead(CandidacyConfig.Builder config) throws InterruptedException {
        var stands = stand(config);
        assertThat(stands.await(PATIENCE)).isPresent();
        return stands;
    }

    private Candidacy stand(CandidacyConfig.Builder config) {
        oldWire.onClose = () -> closed.add("old" + led());
        nextWire.onClose = () -> closed.add("next" + led());
        var stands = both.stand("billing", config.build());
        candidacy.complete(stands);
        return stands;
    }

    private String led() {
        return candidacy.join().isLeader() ? " while it led" : "";
    }

    /** Where a seat passes with the connection, another could lead. */
    @ParameterizedTest
    @ValueSource(strings = {"old", "next"})
    void aHalfThatIsClosedEndsTheJointElectionsFirst(String half) throws InterruptedException {
        var leader = lead(CandidacyConfig.builder());
        named(half).close();
        assertThat(closed).containsExactlyInAnyOrder("old", "next");
        assertThat(leader.status().phase()).isEqualTo(Phase.CLOSED);
        assertThatThrownBy(() -> both.stand("billing")).isInstanceOf(IllegalStateException.class);
    }

    /** As by one whose process interrupts all threads: who is interrupted does not wait for the joint elections. */
    @ParameterizedTest
    @ValueSource(strings = {"old", "next"})
    void aHalfThatAnInterruptedThreadClosesIsOpenUntilTheJointWorkHasEnded(String half) throws InterruptedException {
        var revoked = new CountDownLatch(1);
        var goesOn = new CountDownLatch(1);
        var leader =
                lead(CandidacyConfig.builder().lease(Duration.ofSeconds(60)).listener(event -> {
                    if (event instanceof LeadershipEvent.Revoked) {
                        revoked.countDown();
                        goesOn.await();
                    }
                }));
        var before = closers();
        Thread.currentThread().interrupt();
        named(half).close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(revoked.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        for (var closer : closers()) {
            while (!before.contains(closer) && WORKING.contains(closer.getState())) {
                Thread.onSpinWait(); // until it has done what it does without waiting
            }
        }
        assertThat(closed).as("while the work still runs").isEmpty();
        goesOn.countDown();
        named(half).close();
        assertThat(closed).containsExactlyInAnyOrder("old", "next");
        assertThat(leader.status().phase()).isEqualTo(Phase.CLOSED);
    }

    /** Where a seat passes with the connection, another could lead while the work still runs. */
    @Test
    void aHalfOfTwoIsOpenUntilTheWorkOfBothHasEnded() throws InterruptedException {
        lead(CandidacyConfig.builder());
        var thirdWire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        thirdWire.onClose = () -> closed.add("third");
        var second = Elections.jointly(old, Elections.over(thirdWire, ElectionsConfig.defaults()));
        var revoked = new CountDownLatch(1);
        var goesOn = new CountDownLatch(1);
        var leader = second.stand(
                "shipping",
                CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(60))
                        .listener(event -> {
                            if (event instanceof LeadershipEvent.Revoked) {
                                revoked.countDown();
                                goesOn.await();
                            }
                        })
                        .build());
        assertThat(leader.await(PATIENCE)).isPresent();
        var closer = new Thread(second::close);
        closer.start();
        assertThat(revoked.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        both.close();
        assertThat(closed).as("while the work still runs").containsExactly("next");
        goesOn.countDown();
        closer.join();
        assertThat(leader.departure()).contains(Departure.CONFIRMED);
        assertThat(closed).containsExactlyInAnyOrder("next", "old", "third");
    }

    @ParameterizedTest
    @ValueSource(strings = {"old", "both"})
    void aHalfOfTwoEndsBoth(String which) throws InterruptedException {
        lead(CandidacyConfig.builder());
        var thirdWire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        thirdWire.onClose = () -> closed.add("third");
        var second = Elections.jointly(Elections.over(thirdWire, ElectionsConfig.defaults()), old);
        var leader = second.stand("shipping");
        assertThat(leader.await(PATIENCE)).isPresent();
        named(which).close();
        assertThat(leader.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(closed).containsExactlyInAnyOrder("next", "old", "third");
    }

    private static List<Thread> closers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("bellwether-close"))
                .toList();
    }

    @ParameterizedTest
    @ValueSource(strings = {"old next both", "next both old", "both old next", "old both next"})
    void allMayBeClosedInAnyOrder(String order) throws InterruptedException {
        var leader = lead(CandidacyConfig.builder());
        for (var name : order.split(" ", -1)) {
            named(name).close();
        }
        assertThat(closed).containsExactlyInAnyOrder("old", "next");
        assertThat(leader.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void allMayBeClosedAtOnce() throws InterruptedException {
        lead(CandidacyConfig.builder());
        var threads = List.of(
                new Thread(old::close), new Thread(next::close), new Thread(both::close), new Thread(old::close));
        threads.forEach(Thread::start);
        for (var thread : threads) {
            thread.join();
        }
        assertThat(closed).containsExactlyInAnyOrder("old", "next");
    }

    @ParameterizedTest
    @ValueSource(strings = {"old", "next", "both"})
    void aListenerOfTheJointCandidacyMayCloseThem(String which) throws InterruptedException {
        var returned = new CountDownLatch(1);
        var leader = stand(CandidacyConfig.builder()
                .listener(
                        event -> { // when it leads, it may be over at once
                            if (event instanceof LeadershipEvent.Acquired) {
                                named(which).close();
                                returned.countDown();
                            }
                        }));
        assertThat(returned.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        leader.awaitClose();
        both.close();
        assertThat(closed).containsExactlyInAnyOrder("old", "next");
    }

    @Test
    void aListenerOfACandidacyByOneHalfMayCloseThat() throws InterruptedException {
        lead(CandidacyConfig.builder());
        var returned = new CountDownLatch(1);
        var alone = old.stand(
                "other",
                CandidacyConfig.builder()
                        .listener(event -> {
                            if (event instanceof LeadershipEvent.Acquired) {
                                old.close();
                                returned.countDown();
                            }
                        })
                        .build());
        assertThat(returned.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        alone.awaitClose();
        both.close();
        assertThat(closed).containsExactlyInAnyOrder("old", "next");
    }

    @Test
    void whatCannotBeHeldJointlyIsRefused() {
        assertThatThrownBy(() -> Elections.jointly(old, old))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("the old and the next elections are the same elections on rig");
        next.close();
        var another = Elections.over(new Rig.Wire(new MemoryLeaseStore(Clock.system())), ElectionsConfig.defaults());
        assertThatThrownBy(() -> Elections.jointly(another, next))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("are closed");
        assertThatThrownBy(() -> Elections.jointly(next, another))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("are closed");
        another.close();
    }

    // ---------------------------------------------------------------- a candidacy that cannot leave at once

    /** The half says so once only, by a turn of its own that throws. */
    @ParameterizedTest
    @ValueSource(strings = {"old", "next"})
    void aCandidacyLeavesThoughATurnOfOneHalfThrowsMeanwhile(String half) throws InterruptedException {
        var toOld = new MemoryLeaseStore(Clock.system());
        var toNext = new MemoryLeaseStore(Clock.system());
        try (var elections = Elections.jointly(
                Elections.over(half.equals("old") ? failing(toOld) : toOld, ElectionsConfig.defaults()),
                Elections.over(half.equals("next") ? failing(toNext) : toNext, ElectionsConfig.defaults()))) {
            var leader = elections.stand(
                    "billing",
                    CandidacyConfig.builder().lease(Duration.ofSeconds(1)).build());
            assertThat(leader.await(PATIENCE)).isPresent();
            leader.resign();
            leader.awaitClose();
            assertThat(leader.status().phase()).isEqualTo(Phase.CLOSED);
        }
    }

    private static LeaseStore failing(MemoryLeaseStore store) {
        var failed = new AtomicBoolean();
        return new Rig.Wire(store) {
            @Override
            public Watch watch(String election, Consumer<View> watcher) {
                var watch = super.watch(election, watcher);
                return () -> {
                    watch.close();
                    if (failed.compareAndSet(false, true)) {
                        throw new IllegalStateException("planted: the client cannot unsubscribe");
                    }
                };
            }
        };
    }
}
