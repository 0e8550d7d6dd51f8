package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class OnceModelTest {
    private static final long SEEDS = Long.getLong("bellwether.seeds", 3_000);
    private static final int STEPS = 2_000;

    @Test
    void readersOfCommittedRecordsSeeEachOnceAndInOrder() {
        for (var seed = 0L; seed < SEEDS; seed++) {
            assertThat(new OnceModel(seed, OnceModel.Planted.NOTHING).run(STEPS))
                    .as("NEVER: with seed %s", seed)
                    .isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(value = OnceModel.Planted.class, mode = EnumSource.Mode.EXCLUDE, names = "NOTHING")
    void whateverIsLeftOutIsFound(OnceModel.Planted planted) {
        var found = LongStream.range(0, SEEDS)
                .filter(seed -> !new OnceModel(seed, planted).run(STEPS).isEmpty())
                .findFirst();
        assertThat(found).as("a seed that finds %s", planted).isPresent();
    }
}
