package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spi.Claim;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** When signs are given of whom, on a clock that is wound by hand. */
class PresenceScheduleTest {
    private static final Claim CLAIM =
            new Claim("billing", "ann", "ann-1", Duration.ofSeconds(5), Duration.ofSeconds(5), 0, Map.of());
    private static final long HOUR = Duration.ofHours(1).toNanos();

    private final PresenceSchedule schedule = new PresenceSchedule();

    @Test
    void whoHasLeftGivesNoSignThoughItsClaimIsServedLate() {
        schedule.leave(CLAIM, 0);
        assertThat(schedule.due(List.of(CLAIM), 0)).containsExactly(CLAIM); // it waited behind something else
        schedule.next(CLAIM, HOUR);
        schedule.struck(CLAIM); // by its release

        assertThat(schedule.due(2 * HOUR)).isEmpty();
        assertThat(schedule.departed(2 * HOUR)).isEmpty();
        assertThat(schedule.earliest(3 * HOUR)).isEqualTo(3 * HOUR);
    }

    @Test
    void whoLeftIsStruckOffLaterIfItsReleaseFails() {
        schedule.leave(CLAIM, 0);
        schedule.next(CLAIM, HOUR);
        schedule.leave(CLAIM, 1); // its release has failed

        assertThat(schedule.due(2 * HOUR)).isEmpty();
        assertThat(schedule.departed(2 * HOUR)).containsExactly(CLAIM);
    }

    @Test
    void whoStandsAgainUnderItsNameGivesASignWithItsNextClaim() {
        schedule.next(CLAIM, HOUR);
        schedule.struck(CLAIM); // by the release of its former candidacy
        assertThat(schedule.due(List.of(CLAIM), 1)).containsExactly(CLAIM);
    }
}
