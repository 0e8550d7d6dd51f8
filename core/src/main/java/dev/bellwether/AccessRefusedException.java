package dev.bellwether;

import org.jspecify.annotations.Nullable;

/**
 * The infrastructure refused us by authentication or authorization. At the start this is a wrong setting, and ends the
 * candidacy. Later it may pass by itself (a right withdrawn by mistake, an identity provider that is down), so that a
 * candidacy goes on trying for its {@link CandidacyConfig#accessPatience}.
 */
public final class AccessRefusedException extends ElectionException {
    private static final long serialVersionUID = 1;

    /** Says what was refused to which user, and which right is missing. */
    public AccessRefusedException(String message) {
        super(message);
    }

    /** Says what was refused to which user, and which right is missing, with what lies behind it. */
    public AccessRefusedException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
