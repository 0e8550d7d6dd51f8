package dev.bellwether.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Never;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.postgresql.ds.PGSimpleDataSource;

/** From ShedLock's own table, in PostgreSQL, to elections. */
class MovingTest {
    private static final Duration LONG = Duration.ofMinutes(5);

    @SuppressWarnings("NullAway.Init")
    private static Elections elections;

    private final String name = "report-" + UUID.randomUUID();
    private final LockProvider old = shedLock();
    private final BellwetherLockProvider next = new BellwetherLockProvider(elections);
    private final LockProvider both = jointly(old, next);

    private static LockProvider jointly(LockProvider shedLocks, BellwetherLockProvider ours) {
        // tag::moving
        var lockProvider = BellwetherLockProvider.jointly(shedLocks, ours); // step 2; in step 3 it is ours
        // end::moving
        return lockProvider;
    }

    @BeforeAll
    static void begin() throws SQLException {
        elections = Elections.connect("memory:" + UUID.randomUUID());
        try (var connection = PostgresServer.shared().connect();
                var statement = connection.createStatement()) {
            statement.execute("CREATE TABLE IF NOT EXISTS shedlock (name varchar(64) PRIMARY KEY,"
                    + " lock_until timestamp NOT NULL, locked_at timestamp NOT NULL, locked_by varchar(255) NOT NULL)");
        }
    }

    @AfterAll
    static void end() {
        elections.close();
    }

    private static LockProvider shedLock() {
        var source = new PGSimpleDataSource();
        source.setUrl(PostgresServer.shared().uri());
        return new JdbcTemplateLockProvider(source);
    }

    @Test
    void aJointLockKeepsThoseOfEitherAway() {
        var lock = both.lock(configuration()).orElseThrow();
        assertThat(old.lock(configuration())).isEmpty();
        assertThat(next.lock(configuration())).isEmpty();
        assertThat(both.lock(configuration())).isEmpty();
        assertThat(BellwetherLockProvider.mandate()).isPresent();
        var extended = lock.extend(LONG, Duration.ZERO).orElseThrow();
        assertThat(old.lock(configuration())).isEmpty();
        extended.unlock();
        unlockOf(old);
        unlockOf(next);
    }

    private void unlockOf(LockProvider provider) {
        provider.lock(configuration()).orElseThrow().unlock();
    }

    @Test
    void whoHasOneOnlyKeepsAJointLockAwayAndNothingIsLeftOfTheOther() {
        for (var one : List.of(old, next)) {
            var lock = one.lock(configuration()).orElseThrow();
            assertThat(both.lock(configuration())).isEmpty();
            lock.unlock();
            both.lock(configuration()).orElseThrow().unlock();
        }
    }

    @Test
    void noAnswerOfTheNextLeavesTheOldFree() {
        var closed = Elections.connect("memory:" + UUID.randomUUID());
        closed.close();
        var broken = BellwetherLockProvider.jointly(old, new BellwetherLockProvider(closed));
        assertThatThrownBy(() -> broken.lock(configuration()))
                .isInstanceOfAny(UnavailableException.class, IllegalStateException.class);
        unlockOf(old);
    }

    @Test
    void nothingRanWithoutTheNextSoTheOldIsNotKeptForAWhile() {
        var aWhile = new LockConfiguration(ClockProvider.now(), name, LONG, Duration.ofMinutes(1));
        var closed = Elections.connect("memory:" + UUID.randomUUID());
        closed.close();
        var broken = BellwetherLockProvider.jointly(old, new BellwetherLockProvider(closed));
        assertThatThrownBy(() -> broken.lock(aWhile)).isInstanceOf(RuntimeException.class);
        unlockOf(old);
        var held = next.lock(configuration()).orElseThrow();
        assertThat(both.lock(aWhile)).isEmpty();
        unlockOf(old);
        held.unlock();
    }

    /** In each deployment two kinds run side by side; whoever has a lock counts itself in. */
    @Test
    void noTwoHaveTheLockOverTheThreeDeployments() throws InterruptedException {
        var inside = new AtomicInteger();
        var runs = new AtomicInteger();
        for (var pair : List.of(List.of(old, both), List.of(both, both), List.of(both, next))) {
            var threads = new ArrayList<Thread>();
            var failures = new ArrayList<Throwable>();
            for (var i = 0; i < 4; i++) {
                var provider = pair.get(i % 2);
                var thread = new Thread(() -> {
                    var random = new Random();
                    for (var round = 0; round < 50; round++) {
                        Optional<SimpleLock> lock = provider.lock(configuration());
                        lock.ifPresent(held -> {
                            var present = inside.incrementAndGet();
                            assertThat(present).as(Never.mark("runs at once")).isEqualTo(1);
                            runs.incrementAndGet();
                            spin(random.nextInt(1_000));
                            inside.decrementAndGet();
                            held.unlock();
                        });
                    }
                });
                thread.setUncaughtExceptionHandler((failed, e) -> {
                    synchronized (failures) {
                        failures.add(e);
                    }
                });
                threads.add(thread);
                thread.start();
            }
            for (var thread : threads) {
                thread.join();
            }
            assertThat(failures).isEmpty();
        }
        assertThat(runs).hasValueGreaterThan(10);
    }

    private static void spin(int micros) {
        var until = System.nanoTime() + micros * 1_000L;
        while (System.nanoTime() - until < 0) {
            Thread.onSpinWait();
        }
    }

    private LockConfiguration configuration() {
        return new LockConfiguration(ClockProvider.now(), name, LONG, Duration.ZERO);
    }
}
