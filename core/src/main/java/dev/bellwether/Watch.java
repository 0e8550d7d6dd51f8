package dev.bellwether;

/** What tells of changes, such as {@link Election#watch}, until it is closed. */
public interface Watch extends AutoCloseable {
    /** A watch that tells nothing. */
    Watch NONE = () -> {};

    /**
     * Ends the watch, and returns at once: a call that has begun goes on, and no other begins. May be called from what
     * it calls. Idempotent.
     */
    @Override
    void close();
}
