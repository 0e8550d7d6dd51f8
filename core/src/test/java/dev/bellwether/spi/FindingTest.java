package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class FindingTest {
    @Test
    void sumNamesItsTerms() {
        var crash = Finding.atMost(
                "crash",
                new Finding.Term("lease", Duration.ofSeconds(2)),
                new Finding.Term("tick", Duration.ofMillis(100)));

        assertThat(crash.sum()).isEqualTo(Duration.ofMillis(2_100));
        assertThat(crash.says()).isEqualTo("vacant for 2100 ms at most, and a round trip: lease 2000 ms + tick 100 ms");
        assertThat(crash.level()).isEqualTo(Finding.Level.OK);
    }

    @Test
    void troubleWithoutARemedyIsRefusedAndSoIsARemedyWithoutTrouble() {
        assertThatThrownBy(() -> Finding.warning("clock", "it is odd", ""))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Finding(Finding.Level.OK, "clock", "it is right", "mend it", List.of()))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
