package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What an error of a driver means. */
@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SqlErrorsTest {
    @Test
    void aTimeoutLiesSomewhereBehindTheError() {
        assertThat(SqlErrors.isTimeout(new SQLException("late", new SocketTimeoutException())))
                .isTrue();
        assertThat(SqlErrors.isTimeout(new SQLException("wrong"))).isFalse();
    }

    /** PostgreSQL ends all sessions, and starts again, when one has crashed, or was killed for lack of memory. */
    @Test
    void aSessionThatTheServerHasEndedIsABreak() {
        for (var state : List.of("08006", "57P01", "57P02")) {
            assertThat(SqlErrors.isBreak(new SQLException("terminating connection", state)))
                    .as(state)
                    .isTrue();
        }
        assertThat(SqlErrors.isBreak(new SQLException("canceling statement", "57014")))
                .isFalse();
        assertThat(SqlErrors.isBreak(new SQLException("late", "08006", new SocketTimeoutException())))
                .isFalse();
    }

    /** The thread of the statements never came to an end with it, and nobody could be elected. */
    @Test
    void anErrorWhoseCausesFormACircleIsJudged() {
        var inner = new IllegalStateException("inner");
        var error = new SQLException("outer", inner);
        inner.initCause(error);
        assertThat(SqlErrors.isTimeout(error)).isFalse();
    }
}
