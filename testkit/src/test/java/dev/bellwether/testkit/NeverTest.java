package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class NeverTest {

    @Test
    void aMessageIsMarkedOnce() {
        assertThat(Never.mark("two lead")).isEqualTo("NEVER: two lead");
        assertThat(Never.mark(Never.mark("two lead"))).isEqualTo("NEVER: two lead");
    }
}
