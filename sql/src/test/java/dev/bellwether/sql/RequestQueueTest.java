package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What the queue hands over at once, and what its thread bears. */
class RequestQueueTest {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

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

    @Test
    void anInterruptOfSomebodyElsesDoesNotCloseTheStore() throws Exception {
        var others = threads();
        try (var store = (LeaseStore)
                ConnectUri.parse("jdbc:h2:mem:interrupted;DB_CLOSE_DELAY=-1").connect()) {
            var ours = threads().stream().filter(one -> !others.contains(one)).toList();
            assertThat(ours).hasSize(1);
            ours.get(0).interrupt();
            Eventually.eventually("it is told", PATIENCE, () -> !ours.get(0).isInterrupted());
            var answer = store.acquire(claim(0)).toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(answer.granted()).isTrue();
        }
    }

    private static List<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().matches("bellwether-sql-\\d+"))
                .toList();
    }

    @Test
    void whoIsInterruptedDoesNotAskForALockedFileWithoutPauses() throws Exception {
        var asked = new AtomicInteger();
        Thread.currentThread().interrupt();
        try {
            BusyFile.untilFree(Duration.ofMillis(50), () -> {
                asked.incrementAndGet();
                throw new SQLException("[SQLITE_BUSY] The database file is locked", null, 5);
            });
        } catch (SQLException e) {
            assertThat(BusyFile.isBusy(e)).isTrue();
        }
        assertThat(Thread.interrupted()).as("still interrupted").isTrue();
        assertThat(asked.get()).as("at most once in a millisecond").isBetween(1, 60);
    }

    private static Claim claim(int number) {
        return new Claim("election" + number, "c", "c-1", LEASE, LEASE, 0, Map.of());
    }
}
