package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What a URI may say of a store of records. */
class RecordTraitsTest {
    @Test
    void presenceMayBeASecondToAYear() {
        assertThat(of("PT1S").presence()).isEqualTo(Duration.ofSeconds(1));
        assertThat(of("PT8784H").presence()).isEqualTo(Duration.ofDays(366));
        assertThatThrownBy(() -> of("PT0.5S"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("presence")
                .hasMessageContaining("at least");
        assertThatThrownBy(() -> of("PT3000000H"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("presence")
                .hasMessageContaining("at most");
    }

    private static RecordTraits of(String presence) {
        return RecordTraits.of(ConnectUri.parse("etcd://host?presence=" + presence));
    }
}
