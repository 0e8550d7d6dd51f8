package dev.bellwether;

import org.jspecify.annotations.Nullable;

/**
 * The infrastructure gave no answer, or none that says whether the request was carried out. Candidacies keep trying by
 * themselves; for a call of yours, such as {@link Election#leader}, try again later.
 */
public final class UnavailableException extends ElectionException {
    private static final long serialVersionUID = 1;

    /** Says what got no answer. */
    public UnavailableException(String message) {
        super(message);
    }

    /** Says what got no answer, and what lies behind it. */
    public UnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
