package dev.bellwether.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * ShedLock's own tests of lock providers and of extensible ones, its fuzz test among them, as it published them last:
 * with its release 6.6.1. They run against the present release of its core.
 *
 * <p>Two of them take locks for 2 and for 50 ms. A server, or a busy machine, may answer later, and then our provider
 * gives no lock. So these two are here with times that can be kept.
 */
abstract class ShedLocksOwnTests extends AbstractExtensibleLockProviderIntegrationTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofSeconds(1);

    private Elections elections;
    private BellwetherLockProvider provider;

    // JUnit calls connectOne before anything else can look
    @SuppressWarnings("NullAway.Init")
    ShedLocksOwnTests() {}

    abstract Elections connect();

    @BeforeEach
    void connectOne() {
        elections = connect();
        provider = new BellwetherLockProvider(elections);
    }

    @AfterEach
    void closeIt() {
        elections.close();
    }

    @Override
    protected ExtensibleLockProvider getLockProvider() {
        return provider;
    }

    @Override
    @Test
    public void shouldTimeout() {
        assertThat(provider.lock(configuration(SHORT))).isPresent();
        assertUnlocked(LOCK_NAME1);
        var again = provider.lock(configuration(SHORT));
        assertThat(again).isPresent();
        again.get().unlock();
    }

    @Override
    @Test
    public void shouldNotBeAbleToExtendExpiredLock() {
        var lock = provider.lock(configuration(SHORT)).orElseThrow();
        assertUnlocked(LOCK_NAME1);
        assertThat(lock.extend(Duration.ofSeconds(10), Duration.ZERO)).isEmpty();
        assertUnlocked(LOCK_NAME1);
    }

    private LockConfiguration configuration(Duration atMost) {
        return new LockConfiguration(ClockProvider.now(), LOCK_NAME1, atMost, Duration.ZERO);
    }

    @Override
    protected void assertUnlocked(String lockName) {
        // what has reached its lockAtMostFor is given back by a thread of its own
        Eventually.eventually(
                lockName + " is free",
                PATIENCE,
                () -> elections.election(lockName).leader().isEmpty());
    }

    @Override
    protected void assertLocked(String lockName) {
        assertThat(elections.election(lockName).leader()).as(lockName).isPresent();
    }
}
