package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.SocketTimeoutException;
import java.sql.SQLException;
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

    /** The thread of the statements never came to an end with it, and nobody could be elected. */
    @Test
    void anErrorWhoseCausesFormACircleIsJudged() {
        var inner = new IllegalStateException("inner");
        var error = new SQLException("outer", inner);
        inner.initCause(error);
        assertThat(SqlErrors.isTimeout(error)).isFalse();
    }
}
