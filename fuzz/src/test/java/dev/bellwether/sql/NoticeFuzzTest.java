package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;

/** Whatever somebody who may connect to PostgreSQL sends by NOTIFY. */
class NoticeFuzzTest {
    @FuzzTest(maxDuration = "5s")
    void anyNoticeIsHeardOrNone(byte[] bytes) {
        var text = new String(bytes, StandardCharsets.UTF_8);
        PostgresSeats.parse(text).ifPresent(announcement -> {
            var row = announcement.row();
            assertThat(row.view()).isNotNull();
            assertThat(row.waitMicros()).isNotNegative();
            assertThat(row.vacated(0, "").isHeld()).isFalse();
        });
        assertThat(Metadata.decode(text)).isNotNull();
    }
}
