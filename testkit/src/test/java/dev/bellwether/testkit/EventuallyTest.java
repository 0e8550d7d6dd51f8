package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.UnavailableException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class EventuallyTest {
    private static final Duration LONG = Duration.ofSeconds(10);
    private static final Duration SHORT = Duration.ofMillis(20);

    @Test
    void itReturnsAsSoonAsTheConditionHolds() {
        var looks = new AtomicInteger();
        Eventually.eventually("the third look", LONG, () -> looks.incrementAndGet() == 3);
        assertThat(looks).hasValue(3);
        assertThat(Eventually.eventually("a value", LONG, () -> Optional.of("here")))
                .isEqualTo("here");
    }

    @Test
    void noAnswerIsNotYetAnAnswer() {
        var looks = new AtomicInteger();
        Eventually.eventually("an answer", LONG, () -> {
            if (looks.incrementAndGet() < 3) {
                throw new UnavailableException("not yet");
            }
            return true;
        });
        assertThat(looks).hasValue(3);
    }

    @Test
    void whatDoesNotHappenIsNamed() {
        assertThatThrownBy(() -> Eventually.eventually("a miracle", SHORT, () -> false))
                .isInstanceOf(AssertionError.class)
                .hasMessage("not within 20 ms: a miracle");
    }

    @Test
    void whatDoesNotLastIsNamed() {
        var looks = new AtomicInteger();
        assertThatThrownBy(() -> Eventually.throughout("peace", LONG, () -> looks.incrementAndGet() < 3))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("no longer: peace");
        assertThatCode(() -> Eventually.throughout("peace", SHORT, () -> true)).doesNotThrowAnyException();
    }
}
