package dev.bellwether.internal.roster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LoopRosterTest {
    @Test
    void aLineOfTheLogNamesAFewRolesAndCountsMany() {
        assertThat(LoopRoster.named(List.of(3))).isEqualTo(" role 3");
        assertThat(LoopRoster.named(List.of(3, 67))).isEqualTo(" roles 3, 67");
        assertThat(LoopRoster.named(IntStream.range(0, 157).boxed().toList()))
                .isEqualTo(" 157 roles (0, 1, 2, 3, 4, 5, 6, 7, …)");
    }
}
