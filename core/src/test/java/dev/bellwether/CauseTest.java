package dev.bellwether;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class CauseTest {
    @Test
    void whatNobodyGaveUpIsALoss() {
        assertThat(Stream.of(Cause.values()).filter(Cause::isLoss))
                .containsExactly(
                        Cause.REPLACED, Cause.UNREACHABLE, Cause.PAUSED, Cause.EXPIRED, Cause.UNPULSED, Cause.FAILED);
    }
}
