package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full") // processes that publish for most of a minute
class PricingTest {
    /** How many are missing depends on the machine; that prices go on after each death does not. */
    @Test
    void pricesGoOnWhileProcessesAreKilledAndLeave() throws IOException, InterruptedException {
        try (var brokers = KafkaBrokers.start(1)) {
            var figures =
                    Pricing.run("kafka://" + brokers.bootstrap(), Pricing.Layout.TWO_GROUPS, Duration.ofMillis(1_500));
            System.out.println(figures);
            assertThat(figures.ticks()).isGreaterThan(50L * Pricing.INSTRUMENTS);
            assertThat(figures.missing()).isLessThan(figures.ticks() / 2);
        }
    }
}
