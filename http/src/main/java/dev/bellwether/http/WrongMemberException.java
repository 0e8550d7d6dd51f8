package dev.bellwether.http;

import dev.bellwether.ElectionException;
import org.jspecify.annotations.Nullable;

/** What answers at the address of a member is none, or does not agree with us on TLS; other members may be well. */
public final class WrongMemberException extends ElectionException {
    private static final long serialVersionUID = 1;

    /** Says what answers there, and what would be right. */
    public WrongMemberException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
