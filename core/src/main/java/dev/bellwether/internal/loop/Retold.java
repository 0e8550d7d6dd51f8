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
        var message = words + ": " + failure.getMessage();
        if (failure instanceof AccessRefusedException) {
            return new AccessRefusedException(message, failure);
        }
        return failure instanceof UnavailableException
                ? new UnavailableException(message, failure)
                : new ElectionException(message, failure);
    }
}
