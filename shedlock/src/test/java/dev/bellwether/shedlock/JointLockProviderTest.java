package dev.bellwether.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

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
