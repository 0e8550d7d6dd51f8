package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Durations as people write them. */
class DurationsTest {
    @ParameterizedTest
    @CsvSource({
        "PT0S,0ms",
        "PT0.009S,9ms",
        "PT0.0015S,1.5ms",
        "PT0.25S,250ms",
        "PT8.9S,8.9s",
        "PT8.931913282S,8.931s",
        "PT1M,1m",
        "PT1M30S,1m30s",
        "PT26H,1d2h",
        "PT-2S,-2s"
    })
    void durationsAreShownAsPeopleWriteThem(Duration duration, String shown) {
        assertThat(Durations.show(duration)).isEqualTo(shown);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0ms", "9ms", "1.5ms", "250ms", "8.9s", "1m30s", "1d2h", "2h"})
    void whatIsShownIsReadAgain(String shown) {
        assertThat(Durations.show(Durations.parse(shown).orElseThrow())).isEqualTo(shown);
    }

    @Test
    void javasOwnWayIsReadToo() {
        assertThat(Durations.parse("PT0.5S")).contains(Duration.ofMillis(500));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5", "s", "5 s", "5x", "soon", "5s later"})
    void nothingElseIsADuration(String text) {
        assertThat(Durations.parse(text)).isEmpty();
    }
}
