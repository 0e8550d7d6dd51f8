package dev.bellwether;

/** What tells of changes, such as {@link Election#watch}, until it is closed. */
public interface Watch extends AutoCloseable {
    /** A watch that tells nothing. */
    Watch NONE = () -> {};

    /** Ends the watch. Idempotent. */
    @Override
    void close();
}
