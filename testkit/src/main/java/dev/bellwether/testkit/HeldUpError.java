package dev.bellwether.testkit;

/**
 * What was waited for did not come in time, or what should have lasted did not: a fault, or a machine that was held up. {@code ./check}
 * gives such a test, and no other, a second try, and tells of it.
 */
public final class HeldUpError extends AssertionError {
    private static final long serialVersionUID = 1;

    HeldUpError(String message) {
        super(message);
    }
}
