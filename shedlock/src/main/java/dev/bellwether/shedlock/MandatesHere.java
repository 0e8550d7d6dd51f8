package dev.bellwether.shedlock;

import dev.bellwether.Mandate;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/** The locks that each thread has taken: ShedLock takes a lock on the thread that runs the task. */
final class MandatesHere {
    private static final ThreadLocal<Deque<LockedRun>> RUNS = ThreadLocal.withInitial(ArrayDeque::new);

    private MandatesHere() {}

    static void add(LockedRun run) {
        tidy();
        RUNS.get().addLast(run);
    }

    static void remove(LockedRun run) {
        RUNS.get().remove(run);
        tidy();
    }

    static Optional<Mandate> last() {
        tidy();
        return Optional.ofNullable(RUNS.get().peekLast()).map(run -> run.lock().mandate());
    }

    /** Forgets what another thread has unlocked. */
    private static void tidy() {
        var runs = RUNS.get();
        runs.removeIf(LockedRun::isUnlocked);
        if (runs.isEmpty()) {
            RUNS.remove();
        }
    }
}
