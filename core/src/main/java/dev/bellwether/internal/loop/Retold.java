package dev.bellwether.internal.loop;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;

/** A failure that somebody is told on another thread. Thread-safe: it holds nothing. */
public final class Retold {
    private Retold() {}

    /**
     * Returns an exception of the same type, which says what to do, with the failure's message after these words, and
     * the failure as its cause.
     */
    public static ElectionException of(String words, ElectionException failure) {
        return with(words + ": " + failure.getMessage(), failure);
    }

    /** Returns an exception of the same type and message, with the failure as its cause. */
    public static ElectionException of(ElectionException failure) {
        return with(String.valueOf(failure.getMessage()), failure);
    }

    private static ElectionException with(String message, ElectionException failure) {
        if (failure instanceof AccessRefusedException) {
            return new AccessRefusedException(message, failure);
        }
        return failure instanceof UnavailableException
                ? new UnavailableException(message, failure)
                : new ElectionException(message, failure);
    }
}
