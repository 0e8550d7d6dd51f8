package dev.bellwether.cli.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

class CommandDurationsTest {
    @ParameterizedTest
    @CsvSource({"250ms,PT0.25S", "5s,PT5S", "1.5s,PT1.5S", "1m30s,PT1M30S", "2h,PT2H", "1d,PT24H"})
    void durationsAreReadAsPeopleWriteThem(String text, Duration duration) {
        assertThat(new CommandDurations().convert(text)).isEqualTo(duration);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5", "s", "-5s", "5 s", "5x", "0s", "PT5S", "5s later", "99999999999s"})
    void otherTextIsRefusedWithAnExample(String text) {
        assertThatThrownBy(() -> new CommandDurations().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("1m30s");
    }

    @ParameterizedTest
    @ValueSource(strings = {"250ms", "5s", "1.5s", "1m30s", "2h", "1d1h"})
    void durationsAreShownAsTheyAreRead(String text) {
        assertThat(CommandDurations.show(new CommandDurations().convert(text))).isEqualTo(text);
    }
}
