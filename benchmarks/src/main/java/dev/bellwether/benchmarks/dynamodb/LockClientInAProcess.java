package dev.bellwether.benchmarks.dynamodb;

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.model.LockNotGrantedException;
import dev.bellwether.testkit.faults.Contestant;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/**
 * AWS's lock client, for the fault bench: it waits for the lock, which a thread of its own keeps four times in a lease,
 * leads until the lock is over by its own clock, and then waits again. Who waits reads the lock as often as ours does.
 * An attempt of a request may take a quarter of a lease. Leaves by releasing the lock.
 */
public final class LockClientInAProcess implements Contestant.Maker {
    /** Where its locks are. */
    static final String TABLE = "locks";
    /** So often the lock is read by who waits for it. */
    static final Duration REFRESH = Duration.ofMillis(250);

    /** For the process that stands. */
    public LockClientInAProcess() {}

    @Override
    public Contestant stand(Contestant.Orders orders) {
        return new Standing(orders);
    }

    private static final class Standing implements Contestant {
        private static final int BEATS = 4;
        private static final int LOOKS = 20;
        private static final long RETRY_MILLIS = 100;

        private final Orders orders;
        private final DynamoDbClient dynamo;
        private final AmazonDynamoDBLockClient client;
        private final Thread thread = new Thread(this::run, "lock-client");
        private volatile @Nullable LockItem held;
        private volatile long token;

        Standing(Orders orders) {
            this.orders = orders;
            var beat = orders.lease().dividedBy(BEATS);
            dynamo = DynamoDbClient.builder()
                    .region(Region.US_EAST_1)
                    .endpointOverride(URI.create(orders.uri()))
                    .httpClientBuilder(UrlConnectionHttpClient.builder())
                    .overrideConfiguration(override -> override.apiCallAttemptTimeout(beat))
                    .build();
            client = new AmazonDynamoDBLockClient(AmazonDynamoDBLockClientOptions.builder(dynamo, TABLE)
                    .withPartitionKeyName("key")
                    .withOwnerName(orders.candidate())
                    .withTimeUnit(TimeUnit.MILLISECONDS)
                    .withLeaseDuration(orders.lease().toMillis())
                    .withHeartbeatPeriod(beat.toMillis())
                    .withCreateHeartbeatBackgroundThread(true)
                    .build());
            thread.start();
        }

        private void run() {
            try {
                while (true) {
                    try {
                        term();
                    } catch (SdkException | LockNotGrantedException e) {
                        TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // it leaves
            }
        }

        private void term() throws InterruptedException {
            var lock = client.acquireLock(AcquireLockOptions.builder(orders.election())
                    .withTimeUnit(TimeUnit.MILLISECONDS)
                    .withRefreshPeriod(REFRESH.toMillis())
                    .withAdditionalTimeToWaitForLock(orders.lease().toMillis())
                    .withDeleteLockOnRelease(true)
                    .build());
            try {
                token = System.nanoTime();
                held = lock;
                orders.held().run();
                while (!lock.isExpired()) {
                    TimeUnit.MILLISECONDS.sleep(orders.lease().toMillis() / LOOKS);
                }
            } finally {
                held = null;
                orders.held().run();
                var interrupted = Thread.interrupted();
                client.releaseLock(lock);
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        @Override
        public boolean isLeader() {
            var lock = held;
            return lock != null && !lock.isExpired();
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
                client.close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (IOException e) {
                orders.faults().accept("the lock client does not close: " + e);
            }
            dynamo.close();
        }
    }
}
