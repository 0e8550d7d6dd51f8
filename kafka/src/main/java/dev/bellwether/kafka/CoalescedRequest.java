package dev.bellwether.kafka;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One question of many askers. While it is under way, those who come wait together for the next one, so that each gets
 * an answer that is not older than its request, and no more than one is under way.
 *
 * <p>Thread-safe.
 */
final class CoalescedRequest<T> {
    private final Supplier<CompletionStage<T>> question;
    private boolean underWay;
    private @Nullable CompletableFuture<T> next;

    CoalescedRequest(Supplier<CompletionStage<T>> question) {
        this.question = question;
    }

    CompletionStage<T> ask() {
        CompletableFuture<T> mine;
        synchronized (this) {
            if (next == null) {
                next = new CompletableFuture<>();
            }
            mine = next;
            if (underWay) {
                return mine;
            }
            underWay = true;
            next = null;
        }
        put(mine);
        return mine;
    }

    private void put(CompletableFuture<T> askers) {
        try {
            asked().whenComplete((answer, error) -> {
                try {
                    putNext();
                } finally { // they have their answer, whatever becomes of the next question
                    if (error == null) {
                        askers.complete(answer);
                    } else {
                        askers.completeExceptionally(error);
                    }
                }
            });
        } catch (Throwable e) { // out of memory: nobody would hear of the answer
            failed(askers, e);
        }
    }

    /** All who wait are told, and who asks next puts the question again. */
    private void failed(CompletableFuture<T> askers, Throwable error) {
        CompletableFuture<T> waiting;
        synchronized (this) {
            waiting = next;
            next = null;
            underWay = false;
        }
        askers.completeExceptionally(error);
        if (waiting != null) {
            waiting.completeExceptionally(error);
        }
    }

    private CompletionStage<T> asked() {
        try {
            return question.get();
        } catch (Throwable e) { // out of memory, too: the next question is put anyway
            return CompletableFuture.failedFuture(e);
        }
    }

    private void putNext() {
        CompletableFuture<T> waiting;
        synchronized (this) {
            waiting = next;
            next = null;
            underWay = waiting != null;
        }
        if (waiting != null) {
            put(waiting);
        }
    }
}
