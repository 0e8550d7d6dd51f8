package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** Which errors end a candidacy, and when. */
class AccessPatienceTest {
    private static final long SECOND = 1_000_000_000L;
    private final AccessRefusedException refused = new AccessRefusedException("no right to write");

    private final AccessPatience patience = new AccessPatience(Duration.ofSeconds(60));

    @Test
    void aRefusalAtTheStartEndsItAtOnce() {
        assertThat(patience.ends(new UnavailableException("connection refused"), 0))
                .isFalse();
        assertThat(patience.ends(refused, SECOND)).isTrue();
    }

    @Test
    void aRefusalAfterAnAnswerEndsItWhenItHasLastedForThePatience() {
        patience.answered();
        assertThat(patience.ends(refused, Long.MAX_VALUE - 30 * SECOND)).isFalse();
        assertThat(patience.ends(refused, Long.MIN_VALUE + 29 * SECOND)).isFalse();
        assertThat(patience.ends(refused, Long.MIN_VALUE + 31 * SECOND)).isTrue();
    }

    @Test
    void anAnswerBetweenBeginsThePatienceAgain() {
        patience.answered();
        assertThat(patience.ends(refused, 0)).isFalse();
        patience.answered();
        assertThat(patience.ends(refused, 59 * SECOND)).isFalse();
        assertThat(patience.ends(refused, 118 * SECOND)).isFalse();
        assertThat(patience.ends(refused, 119 * SECOND)).isTrue();
    }

    @Test
    void noAnswerIsNoAnswerBetween() {
        patience.answered();
        assertThat(patience.ends(refused, 0)).isFalse();
        assertThat(patience.ends(new UnavailableException("connection refused"), 30 * SECOND))
                .isFalse();
        assertThat(patience.ends(refused, 60 * SECOND)).isTrue();
    }

    @Test
    void whatIsFatalEndsItAndWhatIsNoAnswerDoesNot() {
        patience.answered();
        assertThat(patience.ends(new ElectionException("no such table"), 0)).isTrue();
        assertThat(patience.ends(new CompletionException(new ElectionException("no such table")), 0))
                .isTrue();
        assertThat(patience.ends(new IllegalStateException("a bug in a client"), 0))
                .isFalse();
        assertThat(patience.ends(new OutOfMemoryError(), 0)).isFalse();
        assertThat(patience.ends(null, 0)).isFalse();
    }
}
