package dev.bellwether.internal.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidate;
import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** What the engine makes of a store, beyond what the contract asks. */
class RecordLeasesTest {
    private static final Duration LEASE = Duration.ofSeconds(10);
    private static final Duration PRESENCE = Duration.ofMinutes(10);

    private final SettableClock clock = new SettableClock();
    private final RecordStore records = new MemoryRecordStore(clock, RecordTraits.PLAIN.listing(PRESENCE));
    private long stamps;
    private final LeaseStore leases = LeaseStore.over(records, clock, () -> "stamp" + ++stamps);

    @Test
    void whoeverHasLeftIsNotListedAgainByARenewalThatComesLater() {
        var claim = claim("a");
        var token = get(leases.acquire(claim)).view().token();
        assertThat(get(leases.read("e")).candidates()).extracting(Candidate::id).containsExactly("a");
        assertThat(get(leases.release(claim)).granted()).isTrue();
        assertThat(get(leases.renew(List.of(new Lease(claim, token, LEASE))).get(0))
                        .granted())
                .isFalse();
        assertThat(get(leases.read("e")).candidates()).isEmpty();
    }

    @Test
    void aCandidateSignsAgainInTimeAndNoMoreOftenThanThat() {
        var standby = claim("b");
        get(leases.acquire(claim("a")));
        get(leases.acquire(standby));
        var signed = signed(standby);
        clock.nanos += PRESENCE.dividedBy(4).toNanos();
        get(leases.acquire(standby));
        assertThat(signed(standby)).as("soon").isEqualTo(signed);
        clock.nanos += PRESENCE.dividedBy(4).toNanos();
        get(leases.acquire(standby));
        assertThat(signed(standby)).as("after half of the time").isGreaterThan(signed);
    }

    private long signed(Claim claim) {
        var key = RecordKey.standby(claim.election(), claim.priority(), claim.candidate());
        return get(records.read(key, LEASE)).revision();
    }

    private static Claim claim(String candidate) {
        return new Claim("e", candidate, candidate + "-1", LEASE, LEASE.multipliedBy(4), 0, Map.of());
    }

    private static <T> T get(CompletionStage<T> answer) {
        return answer.toCompletableFuture().join();
    }

    private static final class SettableClock implements Clock {
        private long nanos;

        @Override
        public long nanos() {
            return nanos;
        }

        @Override
        public long wallMillis() {
            return nanos / 1_000_000;
        }
    }
}
