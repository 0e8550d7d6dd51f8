package dev.bellwether.benchmarks.sql;

import dev.bellwether.benchmarks.Costs;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * ShedLock made to lead: a job that takes the lock and keeps it. Whoever has not got it tries again every half second,
 * the pace of Spring Integration's defaults, since ShedLock has none of its own. Its keep-alive accepts no lease below
 * 30 s; below that we extend the lock by hand at the same half of the lease.
 */
final class ShedLock implements SqlContestant {
    private static final int POOL = 10;
    private static final long TRY_MILLIS = 500;
    private static final Duration LEAST_KEPT_ALIVE = Duration.ofSeconds(30);

    @Override
    public String name() {
        return "ShedLock";
    }

    @Override
    public Costs.Client connect(int port, Duration lease) {
        var pool = SqlContestant.pool(port, POOL);
        var timer = Executors.newScheduledThreadPool(4);
        var provider = new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(pool))
                .usingDbTime()
                .build());
        return new Costs.Client() {
            @Override
            public Costs.Seat stand(String election) {
                var configuration = new Object() {
                    LockConfiguration now() {
                        return new LockConfiguration(Instant.now(), election, lease, Duration.ZERO);
                    }
                };
                if (lease.compareTo(LEAST_KEPT_ALIVE) >= 0) {
                    var keepAlive = new KeepAliveLockProvider(provider, timer);
                    return new Job(timer, () -> keepAlive.lock(configuration.now()), Optional.empty());
                }
                return new Job(timer, () -> provider.lock(configuration.now()), Optional.of(lease));
            }

            @Override
            public void close() {
                timer.shutdownNow();
                pool.close();
            }
        };
    }

    /** Takes the lock. */
    private interface Taker {
        Optional<SimpleLock> take();
    }

    /** One candidate. */
    private static final class Job implements Costs.Seat {
        private final Taker taker;
        private final Optional<Duration> extension;
        private volatile Optional<SimpleLock> lock = Optional.empty();
        private final Future<?> turns;
        private volatile boolean left;
        private long extendedNanos;

        Job(ScheduledExecutorService timer, Taker taker, Optional<Duration> extension) {
            this.taker = taker;
            this.extension = extension;
            turns = timer.scheduleWithFixedDelay(this::turn, 0, TRY_MILLIS, TimeUnit.MILLISECONDS);
        }

        private synchronized void turn() {
            if (left) {
                return;
            }
            try {
                if (lock.isEmpty()) {
                    lock = taker.take();
                    extendedNanos = System.nanoTime();
                } else if (extension.isPresent()
                        && System.nanoTime() - extendedNanos >= extension.get().toNanos() / 2) {
                    lock = lock.get().extend(extension.get(), Duration.ZERO);
                    extendedNanos = System.nanoTime();
                }
            } catch (RuntimeException e) {
                lock = Optional.empty(); // as ShedLock itself would: the next turn tries again
            }
        }

        @Override
        public boolean leads() {
            return lock.isPresent();
        }

        @Override
        public synchronized void leave() {
            left = true;
            turns.cancel(false);
            lock.ifPresent(SimpleLock::unlock);
            lock = Optional.empty();
        }
    }
}
