package dev.bellwether;

/** The mandate is over, or will not last as long as was asked. Stop the step; the next mandate comes as an event. */
public final class NotLeaderException extends ElectionException {
    private static final long serialVersionUID = 1;

    /** Names the election, the token and what was asked. */
    public NotLeaderException(String message) {
        super(message);
    }
}
