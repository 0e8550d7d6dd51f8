package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Who is to look at a seat, and how often. */
class LooksTest {
    private final List<CompletableFuture<Boolean>> begun = new ArrayList<>();
    private final AtomicInteger failed = new AtomicInteger();
    private boolean withoutMemory;

    private final Looks looks = new Looks(this::begin, failed::incrementAndGet);

    private CompletionStage<Boolean> begin(String election) {
        if (withoutMemory) {
            throw new OutOfMemoryError("pretended, at " + election);
        }
        begun.add(new CompletableFuture<>());
        return begun.get(begun.size() - 1);
    }

    @Test
    void oneLookIsForAllWhoAskBeforeItBeginsAndOneMoreForAllWhoAskMeanwhile() {
        looks.look("billing");
        looks.look("billing");
        looks.look("billing");
        assertThat(begun).hasSize(1);
        begun.get(0).complete(true);
        assertThat(begun).hasSize(2);
        begun.get(1).complete(true);
        assertThat(begun).hasSize(2);
        assertThat(failed).hasValue(0);
    }

    @Test
    void aSeatIsLookedAtAgainThoughTheFirstLookCouldNotBegin() {
        withoutMemory = true;
        assertThatThrownBy(() -> looks.look("billing")).isInstanceOf(OutOfMemoryError.class);
        assertThat(failed).hasValue(1);
        withoutMemory = false;
        looks.look("billing");
        assertThat(begun).hasSize(1);
    }

    @Test
    void aSeatIsLookedAtAgainThoughTheSecondLookCouldNotBegin() {
        looks.look("billing");
        looks.look("billing");
        withoutMemory = true;
        begun.get(0).complete(true);
        assertThat(failed).hasValue(1);
        withoutMemory = false;
        looks.look("billing");
        assertThat(begun).hasSize(2);
    }
}
