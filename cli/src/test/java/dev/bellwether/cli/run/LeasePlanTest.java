package dev.bellwether.cli.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.cli.command.CommandDurations;
import dev.bellwether.cli.command.UsageException;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LeasePlanTest {
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
                    LeasePlan.of(
                            Optional.of(new CommandDurations().convert(advice)), Optional.of(Duration.ofSeconds(2)));
                });
    }
}
