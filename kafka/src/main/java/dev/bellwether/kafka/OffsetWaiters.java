package dev.bellwether.kafka;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** Those who wait until a log has been read up to some offset. Thread-safe; calls nobody under its lock. */
final class OffsetWaiters {
    private final PriorityQueue<Waiter> waiters = new PriorityQueue<>(Comparator.comparingLong(Waiter::offset));
    private long next;

    private record Waiter(long offset, CompletableFuture<Void> reached) {}

    /** Completes when all records before this offset have been read. */
    CompletionStage<Void> reach(long offset) {
        var reached = new CompletableFuture<Void>();
        synchronized (this) {
            if (next < offset) {
                waiters.add(new Waiter(offset, reached));
                return reached;
            }
        }
        reached.complete(null);
        return reached;
    }

    /** All before this offset has been read. */
    void reached(long offset) {
        var done = new ArrayList<Waiter>();
        synchronized (this) {
            next = offset;
            for (var first = waiters.peek(); first != null && first.offset <= offset; first = waiters.peek()) {
                waiters.remove();
                done.add(first);
            }
        }
        done.forEach(waiter -> waiter.reached.complete(null));
    }

    /** It is read again from this offset; who waits goes on to. */
    void beginAt(long offset) {
        synchronized (this) {
            next = offset;
        }
    }

    /** Tells all who wait that they do so in vain. */
    void fail(Throwable error) {
        end(reached -> reached.completeExceptionally(error));
    }

    /** Nobody will read any more. */
    void cancel() {
        end(reached -> reached.cancel(false));
    }

    private void end(Consumer<CompletableFuture<Void>> telling) {
        List<Waiter> told;
        synchronized (this) {
            told = List.copyOf(waiters);
            waiters.clear();
        }
        told.forEach(waiter -> telling.accept(waiter.reached));
    }
}
