package dev.bellwether.shedlock;

import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives locks of two providers at once, always of the old one first, so that nobody waits for another in a circle.
 * Thread-safe.
 */
final class JointLockProvider implements LockProvider {
    private static final Logger log = LoggerFactory.getLogger(JointLockProvider.class);

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
                giveBack(first, configuration, e);
                throw e;
            }
            if (second.isEmpty()) {
                giveBack(first, configuration);
            }
            return second.map(lock -> new Both(first, lock));
        });
    }

    private static void giveBack(SimpleLock lock, LockConfiguration configuration, Throwable because) {
        try {
            giveBack(lock, configuration);
        } catch (RuntimeException e) {
            because.addSuppressed(e);
        }
    }

    /** Nothing has run under it, so it is not kept for {@code lockAtLeastFor}, if its provider can forget that. */
    private static void giveBack(SimpleLock lock, LockConfiguration configuration) {
        if (configuration.getLockAtLeastFor().isZero()) {
            lock.unlock();
            return;
        }
        Optional<SimpleLock> forgetful;
        try {
            // as long as before: had it ended when it is unlocked, ShedLock would free the lock of the next one
            forgetful = lock.extend(configuration.getLockAtMostFor(), Duration.ZERO);
        } catch (RuntimeException e) { // most often since it cannot be extended
            log.debug("{} of \"{}\" is kept for lockAtLeastFor", lock, configuration.getName(), e);
            lock.unlock();
            return;
        }
        forgetful.ifPresent(SimpleLock::unlock);
    }

    @Override
    public String toString() {
        return old + " and " + next + " jointly";
    }

    private static final class Both implements SimpleLock {
        private final SimpleLock next;
        private volatile SimpleLock old;

        private Both(SimpleLock old, SimpleLock next) {
            this.old = old;
            this.next = next;
        }

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
            old = first.get(); // the one before is valid no more, also if the next one throws
            var second = next.extend(lockAtMostFor, lockAtLeastFor);
            if (second.isEmpty()) {
                first.get().unlock();
            }
            return second.map(lock -> new Both(first.get(), lock));
        }
    }
}
