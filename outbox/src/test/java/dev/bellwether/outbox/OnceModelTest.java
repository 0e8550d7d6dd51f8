package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("seeds")
class OnceModelTest {
    private static final long ALL = 3_000;
    private static final long SEEDS = Long.getLong("bellwether.once.seeds", ALL);
    private static final int STEPS = 2_000;

    @ParameterizedTest
    @EnumSource
    void readersOfCommittedRecordsSeeEachOnceAndInOrder(OnceModel.Trouble trouble) {
        for (var seed = 0L; seed < SEEDS; seed++) {
            assertThat(new OnceModel(seed, OnceModel.Planted.NOTHING, trouble).run(STEPS))
                    .as("NEVER: with seed %s", seed)
                    .isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(value = OnceModel.Planted.class, mode = EnumSource.Mode.EXCLUDE, names = "NOTHING")
    void whateverIsLeftOutIsFound(OnceModel.Planted planted) {
        var trouble = switch (planted) {
            case LEADERS_WITHOUT_PROGRESS_ARE_NOT_NOTICED, EPOCHS_ARE_NOT_DURABLE ->
                OnceModel.Trouble.FORGETFUL_LEADERS;
            case PROGRESS_ALONG_THOUGH_COMMITS_MAY_BE_LATE -> OnceModel.Trouble.LATE_COMMITS;
            case MISSING_PROGRESS_IS_NOT_NOTICED, A_SECOND_SETTING_BACK_IS_NOT_NOTICED -> OnceModel.Trouble.SET_BACK;
            default -> OnceModel.Trouble.NONE;
        };
        var found = LongStream.range(0, ALL)
                .filter(seed ->
                        !new OnceModel(seed, planted, trouble).run(STEPS).isEmpty())
                .findFirst();
        assertThat(found).as("a seed that finds %s", planted).isPresent();
    }
}
