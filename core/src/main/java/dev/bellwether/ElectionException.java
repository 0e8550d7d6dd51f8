package dev.bellwether;

import org.jspecify.annotations.Nullable;

/**
 * Something is wrong that no retry will fix: a wrong setting, a missing right, a refused name. Fix the cause and
 * begin again. Subtypes say what to do, wherever they are thrown: {@link AccessRefusedException}, grant the right;
 * {@link UnavailableException}, the one kind that passes by itself, try later; {@link NotLeaderException}, stop. That
 * somebody else leads is never an exception.
 */
public class ElectionException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Says what was attempted, on what, and what would be right. */
    public ElectionException(String message) {
        super(message);
    }

    /** Says what was attempted, on what, and what would be right, with what lies behind it. */
    public ElectionException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
