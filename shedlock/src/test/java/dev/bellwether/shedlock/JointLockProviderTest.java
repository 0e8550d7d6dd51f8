package dev.bellwether.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.Test;

class JointLockProviderTest {
    private static final Duration LONG = Duration.ofMinutes(5);

    private final List<String> asked = new ArrayList<>();

    /** Had it ended before it is unlocked, another could have taken it, and ShedLock's table would free that lock. */
    @Test
    void theOldLockLastsUntilItIsGivenBack() {
        var both =
                new JointLockProvider(configuration -> Optional.of(new Recorded()), configuration -> Optional.empty());
        var configuration = new LockConfiguration(ClockProvider.now(), "report", LONG, Duration.ofMinutes(1));
        assertThat(both.lock(configuration)).isEmpty();
        assertThat(asked).containsExactly("extend PT5M PT0S", "unlock");
    }

    /** It is another lock then, for ShedLock, and the one before is valid no more. */
    @Test
    void theOldLockThatWasExtendedIsGivenBackThoughTheNextCouldNotBe() {
        var next = new SimpleLock() {
            @Override
            public void unlock() {
                asked.add("unlock next");
            }

            @Override
            public Optional<SimpleLock> extend(Duration lockAtMostFor, Duration lockAtLeastFor) {
                throw new IllegalStateException("planted");
            }
        };
        var both = new JointLockProvider(
                configuration -> Optional.of(new Once("old")), configuration -> Optional.of(next));
        var lock = both.lock(new LockConfiguration(ClockProvider.now(), "report", LONG, Duration.ZERO))
                .orElseThrow();
        assertThatThrownBy(() -> lock.extend(LONG, Duration.ZERO)).hasMessage("planted");
        lock.unlock();
        assertThat(asked).containsExactly("extend old", "unlock next", "unlock old, extended");
    }

    /** As {@link net.javacrumbs.shedlock.core.AbstractSimpleLock} has it: of no use once it was extended. */
    private final class Once implements SimpleLock {
        private final String name;
        private boolean extended;

        private Once(String name) {
            this.name = name;
        }

        @Override
        public void unlock() {
            if (extended) {
                throw new IllegalStateException(name + " was extended");
            }
            asked.add("unlock " + name);
        }

        @Override
        public Optional<SimpleLock> extend(Duration lockAtMostFor, Duration lockAtLeastFor) {
            asked.add("extend " + name);
            extended = true;
            return Optional.of(new Once(name + ", extended"));
        }
    }

    private final class Recorded implements SimpleLock {
        @Override
        public void unlock() {
            asked.add("unlock");
        }

        @Override
        public Optional<SimpleLock> extend(Duration lockAtMostFor, Duration lockAtLeastFor) {
            asked.add("extend " + lockAtMostFor + " " + lockAtLeastFor);
            return Optional.of(this);
        }
    }
}
