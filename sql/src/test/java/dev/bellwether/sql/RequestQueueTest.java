package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What the queue hands over at once. */
class RequestQueueTest {
    private static final Duration LEASE = Duration.ofSeconds(30);

    @Test
    void renewalsDoNotWaitForAllWhoClaim() {
        var queue = new ArrayDeque<RequestQueue.Queued>();
        for (var i = 0; i < 3 * RequestQueue.LARGEST_BATCH; i++) {
            queue.add(new RequestQueue.Queued(new Request.Acquire(claim(i), new CompletableFuture<>()), i, false));
        }
        var renewal = new Request.Renew(new Lease(claim(-1), 1, LEASE), new CompletableFuture<>());
        queue.add(new RequestQueue.Queued(renewal, 0, false));
        var first = RequestQueue.takeBatch(queue);
        assertThat(first).hasSize(RequestQueue.LARGEST_BATCH + 1);
        assertThat(first).extracting(RequestQueue.Queued::request).contains(renewal);
        assertThat(first.get(0).bornNanos()).isZero();
        assertThat(RequestQueue.takeBatch(queue).get(0).bornNanos()).isEqualTo(RequestQueue.LARGEST_BATCH);
        assertThat(RequestQueue.takeBatch(queue)).hasSize(RequestQueue.LARGEST_BATCH);
        assertThat(queue).isEmpty();
    }

    private static Claim claim(int number) {
        return new Claim("election" + number, "c", "c-1", LEASE, LEASE, 0, Map.of());
    }
}
