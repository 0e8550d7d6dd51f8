package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class CoalescedRequestTest {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    @Test
    void aQuestionThatCannotBePutFailsAndTheNextIsPut() {
        var questions = new ArrayDeque<Supplier<CompletionStage<Integer>>>(List.of(
                () -> {
                    throw new NoClassDefFoundError("planted");
                },
                () -> CompletableFuture.completedFuture(2)));
        var request = new CoalescedRequest<>(() -> questions.remove().get());
        assertThat(request.ask().toCompletableFuture())
                .failsWithin(PATIENCE)
                .withThrowableThat()
                .withRootCauseInstanceOf(NoClassDefFoundError.class);
        assertThat(request.ask().toCompletableFuture()).succeedsWithin(PATIENCE).isEqualTo(2);
    }

    @Test
    void anAnswerThatCannotBeWaitedForFailsAndTheQuestionIsPutAgain() {
        var deaf = new CompletableFuture<Integer>() {
            @Override
            public CompletableFuture<Integer> whenComplete(BiConsumer<? super Integer, ? super Throwable> told) {
                throw new OutOfMemoryError("planted");
            }
        };
        var questions = new ArrayDeque<>(List.of(deaf, CompletableFuture.completedFuture(2)));
        var request = new CoalescedRequest<Integer>(questions::remove);
        assertThat(askedQuietly(request))
                .failsWithin(PATIENCE)
                .withThrowableThat()
                .withRootCauseInstanceOf(OutOfMemoryError.class);
        assertThat(request.ask().toCompletableFuture()).succeedsWithin(PATIENCE).isEqualTo(2);
    }

    private static CompletableFuture<Integer> askedQuietly(CoalescedRequest<Integer> request) {
        try {
            return request.ask().toCompletableFuture();
        } catch (OutOfMemoryError e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    @Test
    void whoComesWhileAQuestionIsUnderWayGetsTheAnswerToTheNext() {
        var answers = List.of(new CompletableFuture<Integer>(), new CompletableFuture<Integer>());
        var put = new ArrayDeque<>(answers);
        var request = new CoalescedRequest<>(put::remove);
        var first = request.ask().toCompletableFuture();
        var second = request.ask().toCompletableFuture();
        var third = request.ask().toCompletableFuture();
        answers.get(0).complete(1);
        assertThat(first).isCompletedWithValue(1);
        assertThat(second).isNotDone();
        answers.get(1).complete(2);
        assertThat(List.of(second, third)).allSatisfy(each -> assertThat(each).isCompletedWithValue(2));
        assertThat(put).isEmpty();
    }
}
