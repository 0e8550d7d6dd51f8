package dev.bellwether.spi;

import dev.bellwether.UnavailableException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
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
     * Whenever a request has its answer, the next of the most urgent line is sent, by the thread that brought the
     * answer; a caller sends one at most. So nobody is kept here to send what others ask for, unless it is to tell
     * them that it cannot be sent.
     *
     * Who keeps a lease is served in turn. Of the others the youngest goes first: when more is asked than the server
     * can answer, each who waits in turn is served shortly before its deadline, and has given up when the answer comes.
     * The server is busy then with what nobody waits for, and nobody ever leads. The youngest has the time for an
     * answer; and the next request of the same claim is young again.
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

    /** Who has not answered for so long is silent, whatever time a request has. */
    private static final long OVERDUE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** What a request takes until it is sent, if it need not wait, is less than this part of its time. */
    private static final int AT_ONCE = 10;

    private static final int NONE_HERE = -1;

    /** One place of so many is free for what a lease depends on, though others hang. */
    private static final int PLACES_PER_FREE = 8;

    private final int most;
    private final Clock clock;
    private final Map<Urgency, ArrayDeque<Waiting<?>>> lines = new EnumMap<>(Urgency.class); // guarded by itself
    private int underWay; // guarded by lines
    /** How many a thread that sends is still to send: who is told there that a request has failed may ask again. */
    private final ThreadLocal<Integer> toSend = ThreadLocal.withInitial(() -> NONE_HERE);

    /** Lets so many requests be under way at a time. */
    public RequestLimiter(int most) {
        this(most, Clock.system());
    }

    /** Lets so many requests be under way at a time, with deadlines by this clock. */
    public RequestLimiter(int most, Clock clock) {
        this.most = most;
        this.clock = clock;
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

    /**
     * Returns whether somebody is silent who has not answered a request in this time since it was sent: that was the
     * whole time of the request, or a second. Otherwise it waited for its turn, and the rest of its time tells nothing.
     */
    public static boolean isOverdueAfter(Duration sinceSent, Duration whole) {
        return sinceSent.toNanos() >= Math.min(OVERDUE_NANOS, whole.toNanos() - whole.toNanos() / AT_ONCE);
    }

    /** Returns whether anything waits. */
    public boolean isCrowded() {
        synchronized (lines) {
            return lines.values().stream().anyMatch(line -> !line.isEmpty());
        }
    }

    /** Sends one, and one more for each that is asked for meanwhile on this thread: not within the other. */
    private void sendNext() {
        if (toSend.get() != NONE_HERE) {
            toSend.set(toSend.get() + 1);
            return;
        }
        try {
            toSend.set(1);
            while (toSend.get() > 0) {
                toSend.set(toSend.get() - 1);
                sendOne();
            }
        } finally {
            toSend.remove();
        }
    }

    /** Sends one, if there is room for it; more only in place of those that fail at once. */
    private void sendOne() {
        for (var next = take(); next != null; next = take()) {
            if (next.sent(this::sendNext)) {
                return;
            }
        }
    }

    private @Nullable Waiting<?> take() {
        synchronized (lines) {
            var next = takeTooLate();
            if (next == null && underWay < most) {
                next = line(Urgency.KEEP).poll();
            }
            if (next == null && underWay < most - most / PLACES_PER_FREE) {
                next = line(Urgency.LOOK).pollLast();
                next = next == null ? line(Urgency.LIST).pollLast() : next;
            }
            if (next != null) {
                underWay++;
            }
            return next;
        }
    }

    /** Returns one that will not be sent, which takes no place. */
    private @Nullable Waiting<?> takeTooLate() {
        for (var line : lines.values()) {
            var oldest = line.peek();
            if (oldest != null && oldest.isTooLate()) {
                return line.poll();
            }
        }
        return null;
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

        private boolean isTooLate() {
            return clock.nanos() - deadlineNanos > 0;
        }

        /**
         * Sends it, and has the next one sent when it is answered; unless it fails at once, which is what is returned.
         */
        private boolean sent(Runnable next) {
            CompletableFuture<T> reply;
            try {
                reply = isTooLate() ? CompletableFuture.failedFuture(tooLate.get()) : request.get();
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
