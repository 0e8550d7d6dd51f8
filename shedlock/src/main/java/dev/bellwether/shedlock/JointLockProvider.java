package dev.bellwether.shedlock;

import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * Gives locks of two providers at once, always of the old one first, so that nobody waits for another in a circle.
 * Thread-safe.
 */
final class JointLockProvider implements LockProvider {
    private final LockProvider old;
    private final LockProvider next;

    JointLockProvider(LockProvider old, LockProvider next) {
        this.old = old;
        this.next = next;
    }

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        return old.lock(configuration).flatMap(first -> {
            Optional<SimpleLock> second;
            try {
                second = next.lock(configuration);
            } catch (RuntimeException | Error e) {
                unlock(first, e);
                throw e;
            }
            if (second.isEmpty()) {
                first.unlock();
            }
            return second.map(lock -> new Both(first, lock));
        });
    }

    private static void unlock(SimpleLock lock, Throwable because) {
        try {
            lock.unlock();
        } catch (RuntimeException e) {
            because.addSuppressed(e);
        }
    }

    @Override
    public String toString() {
        return old + " and " + next + " jointly";
    }

    private record Both(SimpleLock old, SimpleLock next) implements SimpleLock {
        @Override
        public void unlock() {
            try {
                next.unlock();
            } finally {
                old.unlock();
            }
        }

        @Override
        public Optional<SimpleLock> extend(Duration lockAtMostFor, Duration lockAtLeastFor) {
            var first = old.extend(lockAtMostFor, lockAtLeastFor);
            if (first.isEmpty()) {
                next.unlock();
                return Optional.empty();
            }
            var second = next.extend(lockAtMostFor, lockAtLeastFor);
            if (second.isEmpty()) {
                first.get().unlock();
            }
            return second.map(lock -> new Both(first.get(), lock));
        }
    }
}
