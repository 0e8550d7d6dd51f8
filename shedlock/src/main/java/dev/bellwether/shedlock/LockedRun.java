package dev.bellwether.shedlock;

import dev.bellwether.HeldLock;
import java.time.Duration;

/** A lock from when it was taken until it is unlocked, however often it is extended. Thread-safe. */
final class LockedRun {
    private final HeldLock lock;
    private volatile boolean unlocked;

    LockedRun(HeldLock lock) {
        this.lock = lock;
    }

    HeldLock lock() {
        return lock;
    }

    boolean isUnlocked() {
        return unlocked;
    }

    void unlock(Duration keptFree) {
        unlocked = true;
        MandatesHere.remove(this);
        lock.release(keptFree);
    }
}
