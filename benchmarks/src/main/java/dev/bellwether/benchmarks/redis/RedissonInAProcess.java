package dev.bellwether.benchmarks.redis;

import dev.bellwether.testkit.faults.Contestant;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

/**
 * Redisson's fenced lock, for the fault bench: it waits for the lock, leads under the token that comes with it, asks
 * ten times in a lease whether the lock is still its own, and stands down when it is not or when there is no answer.
 * Its watchdog extends the lock, which runs out after the lease. Leaves by unlocking.
 */
public final class RedissonInAProcess implements Contestant.Maker {
    /** For the process that stands. */
    public RedissonInAProcess() {}

    @Override
    public Contestant stand(Contestant.Orders orders) {
        return new Standing(orders);
    }

    private static final class Standing implements Contestant {
        private static final int LOOKS = 10;
        private static final long RETRY_MILLIS = 100;

        private final Orders orders;
        private final RedissonClient client;
        private final Thread thread = new Thread(this::run, "redisson");
        private volatile boolean leads;
        private volatile long token;

        Standing(Orders orders) {
            this.orders = orders;
            var config = new Config();
            config.setLockWatchdogTimeout(orders.lease().toMillis());
            config.useSingleServer().setAddress(orders.uri());
            client = Redisson.create(config);
            thread.start();
        }

        private void run() {
            var lock = client.getFencedLock(orders.election());
            try {
                while (true) {
                    try {
                        term(lock);
                    } catch (RedisException | IllegalMonitorStateException e) {
                        TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
                    } finally {
                        leads = false;
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // it leaves
            }
        }

        private void term(RFencedLock lock) throws InterruptedException {
            lock.lockInterruptibly();
            try {
                token = lock.getToken();
                leads = true;
                orders.held().run();
                while (lock.isHeldByCurrentThread()) {
                    TimeUnit.MILLISECONDS.sleep(orders.lease().toMillis() / LOOKS);
                }
            } finally {
                leads = false;
                orders.held().run();
                var interrupted = Thread.interrupted();
                lock.unlock();
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        @Override
        public boolean isLeader() {
            return leads;
        }

        @Override
        public long token() {
            return token;
        }

        @Override
        public void close() {
            thread.interrupt();
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            client.shutdown();
        }
    }
}
