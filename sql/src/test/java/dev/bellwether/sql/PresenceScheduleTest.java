package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spi.Claim;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** When signs are given of whom, on a clock that is wound by hand. */
class PresenceScheduleTest {
    private static final Claim CLAIM =
            new Claim("billing", "ann", "ann-1", Duration.ofSeconds(5), Duration.ofSeconds(5), 0, Map.of());
    private static final long HOUR = Duration.ofHours(1).toNanos();

    private final PresenceSchedule schedule = new PresenceSchedule();

    @Test
    void whoHasLeftGivesNoSignThoughItsClaimIsServedLate() {
        schedule.leave(CLAIM);
        assertThat(schedule.due(List.of(CLAIM), 0)).containsExactly(CLAIM); // it waited behind something else
        schedule.next(CLAIM, HOUR);
        schedule.struck(CLAIM); // by its release

        assertThat(schedule.due(2 * HOUR)).isEmpty();
        assertThat(schedule.departed(2 * HOUR)).isEmpty();
        assertThat(schedule.earliest(3 * HOUR)).isEqualTo(3 * HOUR);
    }

    @Test
    void whoLeftIsStruckOffLaterIfItsReleaseFails() {
        schedule.leave(CLAIM);
        schedule.next(CLAIM, HOUR);
        schedule.unreleased(CLAIM, 1);

        assertThat(schedule.due(2 * HOUR)).isEmpty();
        assertThat(schedule.departed(2 * HOUR)).containsExactly(CLAIM);
    }

    @Test
    void whoIsDueIsDueInGroups() {
        var many = 2 * BatchExecutor.LARGEST_GROUP + 1;
        var claims = IntStream.range(0, many)
                .mapToObj(
                        i -> new Claim("e" + i, "ann", "n", Duration.ofSeconds(5), Duration.ofSeconds(5), 0, Map.of()))
                .toList();
        claims.forEach(claim -> schedule.next(claim, 0));
        var signed = new HashSet<Claim>();
        for (var due = schedule.due(1); !due.isEmpty(); due = schedule.due(1)) {
            assertThat(due).hasSizeLessThanOrEqualTo(BatchExecutor.LARGEST_GROUP);
            due.forEach(claim -> schedule.next(claim, HOUR));
            signed.addAll(due);
        }
        assertThat(signed).hasSize(many);

        claims.forEach(claim -> schedule.unreleased(claim, 0));
        var struck = new HashSet<Claim>();
        for (var due = schedule.departed(HOUR); !due.isEmpty(); due = schedule.departed(HOUR)) {
            assertThat(due).hasSizeLessThanOrEqualTo(BatchExecutor.LARGEST_GROUP);
            struck.addAll(due);
        }
        assertThat(struck).hasSize(many);
    }

    @Test
    void whoStandsAgainUnderItsNameGivesASignWithItsNextClaim() {
        schedule.next(CLAIM, HOUR);
        schedule.struck(CLAIM); // by the release of its former candidacy
        assertThat(schedule.due(List.of(CLAIM), 1)).containsExactly(CLAIM);
    }

    @Test
    void whoClaimsTwiceAtOnceGivesOneSign() {
        var again = new Claim("billing", "ann", "ann-2", CLAIM.lease(), CLAIM.patience(), 0, Map.of("zone", "b"));
        assertThat(schedule.due(List.of(CLAIM, again), 0)).containsExactly(again);
    }
}
