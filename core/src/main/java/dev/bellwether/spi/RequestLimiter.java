package dev.bellwether.spi;

import dev.bellwether.UnavailableException;
import java.util.ArrayDeque;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Limits requests in flight and queues the rest by urgency. A request whose deadline has passed in the queue is not
 * sent. Thread-safe. Never blocks.
 */
public final class RequestLimiter {
    /*
     * A connection of NATS makes senders wait, for up to two seconds each time, once some thousand messages have
     * piled up in it; and a server drops all requests of its API at once when too many do. Both would befall the loop,
     * and so all leases, when ten thousand candidates come or renew in the same instant.
     *
     * Whenever a request has its answer, the first of the most urgent line is sent, by the thread that brought the
     * answer; a caller sends one at most. So nobody is kept here to send what others ask for, unless it is to tell
     * them that it cannot be sent.
     */

    /** What goes first. */
    public enum Urgency {
        /** A lease depends on it. */
        KEEP,
        /** Somebody wants to lead. */
        LOOK,
        /** It is for display, or for later. */
        LIST
    }

    private final int most;
    private final Map<Urgency, ArrayDeque<Waiting<?>>> lines = new EnumMap<>(Urgency.class); // guarded by itself
    private int underWay; // guarded by lines

    /** Lets so many requests be under way at a time. */
    public RequestLimiter(int most) {
        this.most = most;
        for (var urgency : Urgency.values()) {
            lines.put(urgency, new ArrayDeque<>());
        }
    }

    /**
     * Sends the request when it is its turn, and answers as it does; fails with this, without sending it, if that comes
     * after the deadline.
     */
    public <T> CompletableFuture<T> pass(
            Urgency urgency,
            long deadlineNanos,
            Supplier<CompletableFuture<T>> request,
            Supplier<UnavailableException> tooLate) {
        var waiting = new Waiting<>(deadlineNanos, request, tooLate, new CompletableFuture<T>());
        synchronized (lines) {
            line(urgency).add(waiting);
        }
        sendNext();
        return waiting.answer;
    }

    /** Returns whether anything waits. */
    public boolean isCrowded() {
        synchronized (lines) {
            return lines.values().stream().anyMatch(line -> !line.isEmpty());
        }
    }

    /** Sends one, if there is room for it; more only in place of those that fail at once. */
    private void sendNext() {
        for (var next = take(); next != null; next = take()) {
            if (next.sent(this::sendNext)) {
                return;
            }
        }
    }

    private @Nullable Waiting<?> take() {
        synchronized (lines) {
            if (underWay >= most) {
                return null;
            }
            for (var urgency : Urgency.values()) {
                var next = line(urgency).poll();
                if (next != null) {
                    underWay++;
                    return next;
                }
            }
            return null;
        }
    }

    private ArrayDeque<Waiting<?>> line(Urgency urgency) {
        return lines.getOrDefault(urgency, new ArrayDeque<>()); // each has one
    }

    private void makeRoom() {
        synchronized (lines) {
            underWay--;
        }
    }

    private final class Waiting<T> {
        private final long deadlineNanos;
        private final Supplier<CompletableFuture<T>> request;
        private final Supplier<UnavailableException> tooLate;
        private final CompletableFuture<T> answer;

        private Waiting(
                long deadlineNanos,
                Supplier<CompletableFuture<T>> request,
                Supplier<UnavailableException> tooLate,
                CompletableFuture<T> answer) {
            this.deadlineNanos = deadlineNanos;
            this.request = request;
            this.tooLate = tooLate;
            this.answer = answer;
        }

        /**
         * Sends it, and has the next one sent when it is answered; unless it fails at once, which is what is returned.
         */
        private boolean sent(Runnable next) {
            CompletableFuture<T> reply;
            try {
                reply = System.nanoTime() - deadlineNanos > 0
                        ? CompletableFuture.failedFuture(tooLate.get())
                        : request.get();
            } catch (Throwable e) { // out of memory, too: waiting callers are told, and the place is free again
                reply = CompletableFuture.failedFuture(e);
            }
            var done = reply.isDone();
            var unused = reply.whenComplete((value, error) -> {
                makeRoom();
                try {
                    if (!done) {
                        next.run();
                    }
                } finally {
                    if (error == null) {
                        answer.complete(value);
                    } else {
                        answer.completeExceptionally(error);
                    }
                }
            });
            return !done;
        }
    }
}
