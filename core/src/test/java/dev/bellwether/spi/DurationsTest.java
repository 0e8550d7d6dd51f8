package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Durations as people write them. */
class DurationsTest {
    @ParameterizedTest
    @CsvSource({
        "PT0S,0 s",
        "PT0.009S,9 ms",
        "PT0.0015S,1.5 ms",
        "PT0.25S,250 ms",
        "PT8.9S,8.9 s",
        "PT8.931913282S,8.9 s",
        "PT10S,10 s",
        "PT0.1S,100 ms",
        "PT0.0000007S,700 ns",
        "PT1M,1 min",
        "PT1M30S,1 min 30 s",
        "PT26H,1 d 2 h",
        "PT-2S,-2 s",
        "PT-876001H,-36500 d",
        "PT-9223372036854775808S,-106751991167300 d",
        "PT9223372036854775807S,106751991167300 d"
    })
    void durationsAreShownAsPeopleWriteThem(Duration duration, String shown) {
        assertThat(Durations.show(duration)).isEqualTo(shown);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0 s", "9 ms", "1.5 ms", "250 ms", "8.9 s", "1 min 30 s", "1 d 2 h", "2 h"})
    void whatIsShownIsReadAgain(String shown) {
        assertThat(Durations.show(Durations.parse(shown).orElseThrow())).isEqualTo(shown);
    }

    @Test
    void javasOwnWayAndThatOfTheCommandLineAreReadToo() {
        assertThat(Durations.parse("1m30s")).contains(Duration.ofSeconds(90));
        assertThat(Durations.parse("250ms")).contains(Duration.ofMillis(250));
        assertThat(Durations.parse("PT0.5S")).contains(Duration.ofMillis(500));
    }

    /** One that is a nanosecond short is shown as if it had been measured: 1 s. */
    @Test
    void decimalFractionsAreReadAsTheyAreWritten() {
        for (var millis = 1; millis < 20_000; millis++) {
            var seconds = BigDecimal.valueOf(millis, 3).toPlainString() + "s";
            assertThat(Durations.parse(seconds)).as(seconds).contains(Duration.ofMillis(millis));
        }
        assertThat(Durations.parse("4.1m")).contains(Duration.ofSeconds(246));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5", "s", "5x", "soon", "5s later", " 5s"})
    void nothingElseIsADuration(String text) {
        assertThat(Durations.parse(text)).isEmpty();
    }
}
