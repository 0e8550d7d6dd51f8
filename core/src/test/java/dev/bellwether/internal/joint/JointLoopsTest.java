package dev.bellwether.internal.joint;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.internal.election.Rig;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

/** Joint elections whose halves have loops of their own, driven turn by turn. */
class JointLoopsTest {
    private final Rig rig = new Rig();
    private final MemoryLeaseStore oldStore = new MemoryLeaseStore(rig.loop.clock());
    private final MemoryLeaseStore nextStore = new MemoryLeaseStore(rig.loop.clock());
    private final QueueLoop joint = new QueueLoop();
    private final QueueLoop ofOld = new QueueLoop();
    private final QueueLoop ofNext = new QueueLoop();
    private final QueueLoop alone = new QueueLoop();
    private final Elections byBoth =
            Elections.jointly(Elections.over(oldStore, on(ofOld)), Elections.over(nextStore, on(ofNext)), on(joint));
    private final Elections byOld = Elections.over(oldStore, on(alone));

    private static ElectionsConfig on(Loop loop) {
        return ElectionsConfig.builder().loop(loop).executor(Runnable::run).build();
    }

    private static Candidacy stand(Elections elections, String candidate) {
        return elections.stand(
                "billing",
                CandidacyConfig.builder()
                        .candidate(candidate)
                        .lease(Duration.ofSeconds(10))
                        .build());
    }

    private void settle() {
        for (var i = 0; i < 10; i++) {
            ofNext.all();
            joint.all();
            ofOld.all();
            joint.all();
        }
    }

    /** The release of the first one would free the seat of the second one. */
    @Test
    void aGrantIsNotAcceptedWhileTheReleaseOfOneBeforeItIsUnderWay() {
        settle();
        var both = stand(byBoth, "both");
        joint.all(); // it claims the old seat
        both.standAside();
        both.standAgain();
        ofOld.all(); // which is granted, and told after these two
        joint.one();
        joint.one(); // they give it back and claim it again
        ofOld.all(); // it is granted again
        joint.all(); // the first grant is given back; the second one is told
        ofOld.all();
        joint.all();
        var single = stand(byOld, "single");
        alone.all();
        assertThat(single.isLeader()).isTrue();
        settle();
        assertThat(both.isLeader()).as("leads beside it").isFalse();
        single.resign();
        alone.all();
        for (var i = 0; i < 100 && !both.isLeader(); i++) {
            rig.stall(Duration.ofMillis(100));
            alone.all();
            settle();
        }
        assertThat(both.isLeader()).isTrue();
    }

    /** Runs turns when it is told to, in the time of the rig. */
    private final class QueueLoop implements Loop {
        private final ArrayDeque<Runnable> turns = new ArrayDeque<>();
        private final ArrayDeque<Due> timers = new ArrayDeque<>();

        void one() {
            turns.remove().run();
            rig.stall(Duration.ofMillis(1));
        }

        void all() {
            for (var due : timers.stream().filter(Due::isNow).toList()) {
                if (timers.remove(due)) {
                    turns.add(due.turn);
                }
            }
            while (!turns.isEmpty()) {
                one();
            }
        }

        @Override
        public Clock clock() {
            return rig.loop.clock();
        }

        @Override
        public RandomGenerator random() {
            return rig.loop.random();
        }

        @Override
        public Timer at(long nanos, Runnable turn) {
            var due = new Due(nanos, turn);
            timers.add(due);
            return () -> timers.remove(due);
        }

        @Override
        public void execute(Runnable turn) {
            turns.add(turn);
        }

        @Override
        public void close() {
            turns.clear();
            timers.clear();
        }

        private final class Due {
            private final long nanos;
            private final Runnable turn;

            private Due(long nanos, Runnable turn) {
                this.nanos = nanos;
                this.turn = turn;
            }

            private boolean isNow() {
                return nanos - clock().nanos() <= 0;
            }
        }
    }
}
