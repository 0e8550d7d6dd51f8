package dev.bellwether.dynamodb;

import dev.bellwether.Watch;
import dev.bellwether.spi.RecordStore.Found;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Reads from time to time what is watched, since DynamoDB tells nobody: up to a hundred items in a poll, those first
 * that were not read for longest, one after the other. So what a process spends on it is bounded, and while nobody
 * answers, one request waits, not all that may be under way. What is heard is a hint. Thread-safe. Never blocks.
 */
final class DynamoDbWatch {
    private static final int MOST_IN_A_POLL = 100;

    private final TableClient client;
    private final Duration poll;
    /** In the order in which they are to be read. */
    private final Queue<Watched> turns = new ConcurrentLinkedQueue<>();

    private final AtomicBoolean started = new AtomicBoolean();
    /** The last poll. Confined to the polls, of which there is one at a time. */
    private CompletableFuture<?> last = CompletableFuture.completedFuture(0);

    /** Somebody who watches an item. */
    private static final class Watched implements Watch {
        private final Supplier<CompletableFuture<Found>> reading;
        private final Consumer<Found> heard;
        private volatile long told;
        private volatile boolean closed;

        private Watched(Supplier<CompletableFuture<Found>> reading, Consumer<Found> heard) {
            this.reading = reading;
            this.heard = heard;
        }

        @Override
        public void close() {
            closed = true; // the next turn drops it
        }
    }

    DynamoDbWatch(TableClient client, Duration poll) {
        this.client = client;
        this.poll = poll;
    }

    Watch add(Supplier<CompletableFuture<Found>> reading, Consumer<Found> heard) {
        if (poll.isZero()) {
            return Watch.NONE;
        }
        var watched = new Watched(reading, heard);
        turns.add(watched);
        if (started.compareAndSet(false, true)) {
            client.every(poll, this::poll);
        }
        return watched;
    }

    private void poll() {
        if (last.isDone()) {
            turns.removeIf(one -> one.closed);
            last = readSome(Math.min(MOST_IN_A_POLL, turns.size()));
        }
    }

    /** Ends with the first that is not answered. */
    private CompletableFuture<?> readSome(int left) {
        var next = left > 0 ? turns.poll() : null;
        if (next == null) {
            return CompletableFuture.completedFuture(left);
        }
        turns.add(next);
        return next.reading.get().thenCompose(found -> {
            tell(next, found);
            return readSome(left - 1);
        });
    }

    private static void tell(Watched watched, Found found) {
        if (!watched.closed && found.revision() != watched.told) {
            watched.told = found.revision();
            watched.heard.accept(found);
        }
    }
}
