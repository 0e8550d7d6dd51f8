package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.outbox.RelayEvent;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;

/** What is wrong with a relay, by its events alone. */
class RelayTroublesTest {
    private final RelayTroubles troubles = new RelayTroubles();

    @Test
    void whatKeepsALeaderFromPublishingIsToldUntilItBeginsAgain() {
        troubles.accept(new RelayEvent.LeaderAcquired(0, 7));
        troubles.accept(new RelayEvent.Faulted(0, new SQLException("planted")));
        assertThat(troubles.byShard().get("0")).contains("planted");
        troubles.accept(new RelayEvent.LeaderRefreshed(0, 3));
        assertThat(troubles.byShard()).isEmpty();
    }

    /** As by a thread that the log held up: a relay that stands by would be degraded until it leads again. */
    @Test
    void whatIsToldLateOfAnEarlierMandateIsNoTrouble() {
        for (var late : new RelayEvent[] {
            new RelayEvent.Faulted(0, new SQLException("planted")), new RelayEvent.Halted(0, 1, "planted")
        }) {
            troubles.accept(new RelayEvent.LeaderAcquired(0, 7));
            troubles.accept(new RelayEvent.LeaderFenced(0));
            troubles.accept(late);
            assertThat(troubles.byShard()).isEmpty();
        }
    }
}
