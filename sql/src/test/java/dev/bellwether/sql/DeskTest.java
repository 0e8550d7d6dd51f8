package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What the desk hands over at once. */
class DeskTest {
    private static final Duration LEASE = Duration.ofSeconds(30);

    @Test
    void renewalsDoNotWaitForAllWhoClaim() {
        var queue = new ArrayDeque<Desk.Queued>();
        for (var i = 0; i < 3 * Desk.LARGEST_BATCH; i++) {
            queue.add(new Desk.Queued(new Request.Acquire(claim(i), new CompletableFuture<>()), i));
        }
        var renewal = new Request.Renew(new Lease(claim(-1), 1, LEASE), new CompletableFuture<>());
        queue.add(new Desk.Queued(renewal, 0));
        var first = Desk.takeBatch(queue);
        assertThat(first).hasSize(Desk.LARGEST_BATCH + 1);
        assertThat(first).extracting(Desk.Queued::request).contains(renewal);
        assertThat(first.get(0).bornNanos()).isZero();
        assertThat(Desk.takeBatch(queue).get(0).bornNanos()).isEqualTo(Desk.LARGEST_BATCH);
        assertThat(Desk.takeBatch(queue)).hasSize(Desk.LARGEST_BATCH);
        assertThat(queue).isEmpty();
    }

    private static Claim claim(int number) {
        return new Claim("election" + number, "c", "c-1", LEASE, LEASE, 0, Map.of());
    }
}
