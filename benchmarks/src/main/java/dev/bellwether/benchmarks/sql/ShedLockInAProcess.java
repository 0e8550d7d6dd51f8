package dev.bellwether.benchmarks.sql;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.testkit.faults.Contestant;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * ShedLock made to lead, for the fault bench: a task that begins as soon as it has the lock, which a
 * {@link KeepAliveLockProvider} extends each half of the lease, and that ends, and gives the lock back, when it is told
 * to. Whoever has not got the lock tries again every half second.
 *
 * <p>ShedLock is there for tasks that end by themselves, and promises no more than that. What it lacks for a leader: a
 * task under a lock is not told that the lock could not be extended, or that it was another's before a pause of this
 * process ended; so this one leads on, beside its successor, until it is stopped. It has no token; the instant at which
 * it got the lock stands for one.
 */
public final class ShedLockInAProcess implements Contestant.Maker {
    private static final int POOL = 4;
    private static final long TRY_MILLIS = 500;

    /** For the process that stands. */
    public ShedLockInAProcess() {}

    @Override
    public Contestant stand(Contestant.Orders orders) {
        var config = new HikariConfig();
        config.setJdbcUrl(orders.uri());
        config.setMaximumPoolSize(POOL);
        var pool = new HikariDataSource(config);
        var timer = Executors.newScheduledThreadPool(2);
        var provider = new KeepAliveLockProvider(
                new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                        .withJdbcTemplate(new JdbcTemplate(pool))
                        .usingDbTime()
                        .build()),
                timer);
        var task = new Task(provider, orders.election(), orders.lease());
        var turns = timer.scheduleWithFixedDelay(task::turn, 0, TRY_MILLIS, TimeUnit.MILLISECONDS);
        return new Contestant() {
            @Override
            public boolean isLeader() {
                return task.began != 0;
            }

            @Override
            public long token() {
                return task.began;
            }

            @Override
            public void close() {
                turns.cancel(false);
                task.end();
                timer.shutdownNow();
                pool.close();
            }
        };
    }

    /** What leads. */
    private static final class Task {
        private final LockProvider provider;
        private final String name;
        private final Duration lease;
        private Optional<SimpleLock> lock = Optional.empty();
        private boolean ended;
        private volatile long began;

        Task(LockProvider provider, String name, Duration lease) {
            this.provider = provider;
            this.name = name;
            this.lease = lease;
        }

        private synchronized void turn() {
            if (ended || lock.isPresent()) {
                return;
            }
            try {
                lock = provider.lock(new LockConfiguration(Instant.now(), name, lease, Duration.ZERO));
                if (lock.isPresent()) {
                    began = System.nanoTime();
                }
            } catch (RuntimeException e) {
                lock = Optional.empty(); // the next turn tries again, as its next schedule would
            }
        }

        private synchronized void end() {
            ended = true;
            began = 0;
            lock.ifPresent(SimpleLock::unlock);
        }
    }
}
