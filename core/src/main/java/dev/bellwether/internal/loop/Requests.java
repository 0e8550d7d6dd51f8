package dev.bellwether.internal.loop;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** Waits for the answer to a request. */
public final class Requests {
    private Requests() {}

    /** Waits so long at most, and returns then, answered or not. */
    public static void awaitFor(CompletableFuture<?> answer, Duration time, String what) {
        try {
            answer.get(time.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException e) {
            // anybody who asks for the answer is told
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted while waiting to " + what, e);
        }
    }

    /** Asks. What throws instead of answering has not answered. */
    public static <T> CompletionStage<T> ask(Supplier<? extends CompletionStage<T>> request) {
        try {
            return request.get();
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedStage(e);
        }
    }

    public static <T> T answer(CompletionStage<T> stage, Duration timeout, String what) {
        try {
            return stage.toCompletableFuture().get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ElectionException cause) {
                throw Retold.of("could not " + what, cause);
            }
            throw new UnavailableException("could not " + what, e.getCause());
        } catch (TimeoutException e) {
            throw new UnavailableException("could not " + what + ": no answer within " + Durations.show(timeout), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted while waiting to " + what, e);
        }
    }
}
