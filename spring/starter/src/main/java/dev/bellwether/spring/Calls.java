package dev.bellwether.spring;

import dev.bellwether.Mandate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Which calls run under the mandate of one election. Thread-safe. */
final class Calls {
    private @Nullable Mandate mandate; // this and the others guarded by this
    private @Nullable Thread preparing; // whose calls alone may begin
    private final List<Thread> running = new ArrayList<>(); // a thread as often as its calls are nested
    private final Set<Thread> interrupted = new HashSet<>();

    /** Lets calls of this thread begin, which hears that we lead, and no other calls yet. */
    synchronized void prepare(Mandate mandate) {
        this.mandate = mandate;
        preparing = Thread.currentThread();
    }

    synchronized void admit(Mandate mandate) {
        this.mandate = mandate;
        preparing = null;
    }

    /** Lets no further call begin. */
    synchronized void refuse() {
        mandate = null;
        preparing = null;
    }

    /** Lets a call begin and returns its mandate, or empty while it must not. */
    synchronized Optional<Mandate> begin() {
        var barred = preparing != null && !preparing.equals(Thread.currentThread());
        if (mandate == null || barred || !mandate.isValid()) {
            return Optional.empty();
        }
        running.add(Thread.currentThread());
        return Optional.of(mandate);
    }

    /** The call has ended, on the thread on which it began. */
    synchronized void end() {
        var thread = Thread.currentThread();
        running.remove(thread);
        if (!running.contains(thread) && interrupted.remove(thread)) {
            Thread.interrupted(); // an interrupt of ours must not follow the thread into other work
        }
        notifyAll();
    }

    synchronized void interrupt() {
        for (var thread : running) {
            interrupted.add(thread);
            thread.interrupt();
        }
    }

    /** Waits until no call runs but on this thread, or the time is up. Returns whether none does. */
    synchronized boolean awaitNone(Duration patience) throws InterruptedException {
        var until = System.nanoTime() + patience.toNanos();
        while (othersRun()) {
            var left = until - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(left, 1_000_000));
        }
        return true;
    }

    private boolean othersRun() {
        return running.stream().anyMatch(thread -> !thread.equals(Thread.currentThread()));
    }
}
