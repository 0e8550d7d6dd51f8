package dev.bellwether.internal.record;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.bellwether.ElectionException;
import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordKey;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whatever stands in the record of a seat, of a session or of a standby, in any store of records: it is read, or
 * refused, and who stands in another election is none the worse for it.
 */
class SeatRecordFuzzTest {
    private static final Duration LEASE = Duration.ofSeconds(10);

    @FuzzTest(maxDuration = "5s")
    void aForeignRecordHurtsNobodyElse(byte[] bytes) {
        var text = new String(bytes, StandardCharsets.UTF_8);
        var clock = new FixedClock();
        var records = new MemoryRecordStore(clock);
        var stamps = new int[1];
        try (var leases = LeaseStore.over(records, clock, () -> "stamp" + ++stamps[0])) {
            put(records, RecordKey.seat("one"), text);
            put(records, RecordKey.standby("one", 0, "eve"), text);
            put(records, RecordKey.session("eve"), text);
            done(() -> leases.read("one"));
            done(() -> leases.acquire(claim("one")));
            clock.now += LEASE.toNanos();
            done(() -> leases.acquire(claim("one")));
            done(() -> leases.renew(List.of(new Lease(claim("one"), 1, LEASE))).get(0));
            done(() -> leases.order("one", Order.STAND_DOWN));
            done(() -> leases.release(claim("one")));

            var other = done(() -> leases.acquire(claim("other")));
            assertThat(other).isNotNull();
            assertThat(other.granted()).as("the neighbour").isTrue();
            assertThat(done(leases::list)).contains("other");
        }
    }

    private static void put(MemoryRecordStore records, RecordKey key, String text) {
        records.put(key, text, Duration.ofDays(1), LEASE).toCompletableFuture().join();
    }

    private static Claim claim(String election) {
        return new Claim(election, "ann", "nonce-of-ann", LEASE, LEASE, 0, Map.of());
    }

    /** Returns the answer; null if it is an error that we have a name for. */
    private static <T> @Nullable T done(Supplier<CompletionStage<T>> request) {
        var answer = request.get().toCompletableFuture();
        assertThat(answer).as("all that is asked is answered").isDone();
        try {
            return answer.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof ElectionException) {
                return null;
            }
            throw e;
        }
    }

    private static final class FixedClock implements Clock {
        private long now = 1_000_000_000L;

        @Override
        public long nanos() {
            return now;
        }

        @Override
        public long wallMillis() {
            return now / 1_000_000;
        }
    }
}
