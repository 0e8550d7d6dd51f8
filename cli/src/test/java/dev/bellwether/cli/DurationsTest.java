package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

class DurationsTest {
    @ParameterizedTest
    @CsvSource({"250ms,PT0.25S", "5s,PT5S", "1.5s,PT1.5S", "1m30s,PT1M30S", "2h,PT2H", "1d,PT24H"})
    void durationsAreReadAsPeopleWriteThem(String text, Duration duration) {
        assertThat(new Durations().convert(text)).isEqualTo(duration);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5", "s", "-5s", "5 s", "5x", "0s", "PT5S", "5s later", "99999999999s"})
    void otherTextIsRefusedWithAnExample(String text) {
        assertThatThrownBy(() -> new Durations().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("1m30s");
    }

    @ParameterizedTest
    @ValueSource(strings = {"250ms", "5s", "1.5s", "1m30s", "2h", "1d1h"})
    void durationsAreShownAsTheyAreRead(String text) {
        assertThat(Durations.show(new Durations().convert(text))).isEqualTo(text);
    }

    @Test
    void leaseHoldsGraceAndMarginAfterTheMandate() {
        for (var lease : new int[] {800, 1_000, 2_000, 10_000, 60_000, 3_600_000}) {
            var plan = LeasePlan.of(Optional.of(Duration.ofMillis(lease)), Optional.empty());

            assertThat(plan.budget()).isGreaterThanOrEqualTo(plan.grace().plus(plan.margin()));
            assertThat(plan.margin()).isGreaterThanOrEqualTo(Duration.ofMillis(150));
        }
    }

    @Test
    void longGraceMakesALongLease() {
        var plan = LeasePlan.of(Optional.empty(), Optional.of(Duration.ofSeconds(30)));

        assertThat(plan.lease()).isEqualTo(Duration.ofSeconds(90));
        assertThat(plan.grace()).isEqualTo(Duration.ofSeconds(30));
    }

    @Test
    void leaseThatIsTooShortIsRefusedWithOneThatIsNot() {
        assertThatThrownBy(() -> LeasePlan.of(Optional.of(Duration.ofSeconds(2)), Optional.of(Duration.ofSeconds(2))))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("--lease 2s")
                .hasMessageContaining("--grace 2s")
                .satisfies(refusal -> {
                    var advice = String.valueOf(refusal.getMessage()).replaceAll(".*make the lease (\\S+) or.*", "$1");
                    LeasePlan.of(Optional.of(new Durations().convert(advice)), Optional.of(Duration.ofSeconds(2)));
                });
    }
}
