package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** When an echo is asked for: one who is not told that it is missed must not come to ask again and again. */
class EchoTest {
    private static final long NOW = 1_000;
    private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

    private final Echo echo = new Echo();

    @Test
    void whatWasAnnouncedAndNotHeardIsMissedOnce() {
        echo.listening(true);
        echo.announced(NOW);
        var due = echo.earliest(NOW + MINUTE);
        assertThat(due).isEqualTo(NOW + Echo.PATIENCE_NANOS);
        assertThat(echo.isMissed(due - 1)).isFalse();
        assertThat(echo.isMissed(due)).isTrue();
        assertThat(echo.earliest(due + MINUTE)).isEqualTo(due + MINUTE);
    }

    @Test
    void whatWasHeardIsNotMissed() {
        echo.listening(true);
        echo.announced(NOW);
        echo.heard();
        assertThat(echo.earliest(NOW + MINUTE)).isEqualTo(NOW + MINUTE);
        assertThat(echo.isMissed(NOW + MINUTE)).isFalse();
    }

    /** Who announces has its answer a little after the listener has broken off: its time never came to an end. */
    @Test
    void whatIsAnnouncedWhenNobodyListensAnyMoreIsNotWaitedFor() {
        echo.listening(true);
        echo.listening(false);
        echo.announced(NOW);
        assertThat(echo.earliest(NOW + MINUTE)).isEqualTo(NOW + MINUTE);
        assertThat(echo.isMissed(NOW + MINUTE)).isFalse();
    }
}
