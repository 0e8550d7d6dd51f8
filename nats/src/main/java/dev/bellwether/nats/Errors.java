package dev.bellwether.nats;

import dev.bellwether.UnavailableException;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** What lies behind an error. */
final class Errors {
    private Errors() {}

    /** Returns the error that a stage failed with; that there was no answer, if it is none that says more. */
    static RuntimeException cause(@Nullable Throwable error) {
        var cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        return cause instanceof RuntimeException plain ? plain : new UnavailableException("no answer: " + cause, cause);
    }
}
