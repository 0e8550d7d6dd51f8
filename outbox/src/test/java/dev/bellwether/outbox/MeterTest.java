package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MeterTest {
    private final Meter meter = new Meter();

    private Duration lagAfterSeconds(int seconds) {
        return meter.stats(true, new InFlight(0, 0), TimeUnit.SECONDS.toNanos(seconds))
                .lag();
    }

    @Test
    void lagGrowsWhileNobodyTellsWhetherTheRowStillWaits() {
        meter.waits(OptionalLong.of(3), 0);
        assertThat(lagAfterSeconds(1)).isEqualTo(Duration.ofMillis(3));
        assertThat(lagAfterSeconds(60)).isEqualTo(Duration.ofMillis(60_003));
        meter.waits(OptionalLong.empty(), 0);
        assertThat(lagAfterSeconds(60)).isZero();
    }

    @Test
    void whatCouldNotBeReportedIsReportedTheNextTime() {
        meter.transaction(7, 1);
        assertThat(meter.takeUnreported()).isEqualTo(7);
        meter.transaction(2, 1);
        meter.putBackUnreported(7);
        assertThat(meter.takeUnreported()).isEqualTo(9);
        assertThat(meter.takeUnreported()).isZero();
    }
}
