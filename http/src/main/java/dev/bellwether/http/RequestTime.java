package dev.bellwether.http;

import dev.bellwether.spi.RequestLimiter;
import java.time.Duration;
import java.util.concurrent.TimeoutException;

/**
 * The time of a request. Immutable.
 *
 * @param left so long it may take from when it is sent
 * @param whole so long it may take in all: before it is sent it may wait for its turn, or for another answer
 */
public record RequestTime(Duration left, Duration whole) {

    /** There was less time for an answer than would tell that there is none. */
    static final class ShortTimeException extends TimeoutException {
        private static final long serialVersionUID = 1;
    }

    /** Returns the time of one that is sent at once. */
    public static RequestTime of(Duration whole) {
        return new RequestTime(whole, whole);
    }

    /** Returns what is left of it until this deadline. */
    public RequestTime until(long deadlineNanos) {
        return new RequestTime(Duration.ofNanos(Math.max(1, deadlineNanos - System.nanoTime())), whole);
    }

    /** Returns whether somebody is silent who does not answer in what is left. */
    public boolean tells() {
        return RequestLimiter.isOverdueAfter(left, whole);
    }

    /** Returns what lies behind a failure when this time is over: see {@link HttpMembers#isOfNobody}. */
    public TimeoutException isOver() {
        return tells() ? new TimeoutException() : new ShortTimeException();
    }

    /** Returns half of it. */
    RequestTime half() {
        return new RequestTime(left.plusNanos(1).dividedBy(2), whole.dividedBy(2));
    }
}
