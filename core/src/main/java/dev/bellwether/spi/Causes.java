package dev.bellwether.spi;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** What lies behind a failure. Thread-safe: it holds nothing. */
public final class Causes {
    private static final int DEEPEST = 32; // causes may form a circle

    private Causes() {}

    /** Returns the failure, its cause, the cause of that, and so on; none if there is no failure. */
    public static List<Throwable> of(@Nullable Throwable failure) {
        var causes = new ArrayList<Throwable>();
        for (var one = failure; one != null && causes.size() < DEEPEST; one = one.getCause()) {
            causes.add(one);
        }
        return causes;
    }

    /** Returns what lies deepest behind a failure: itself if it has no cause. */
    public static Throwable root(Throwable failure) {
        var causes = of(failure);
        return causes.get(causes.size() - 1);
    }

    /** Returns what a future or a stage failed with, taken out of what these wrap it in. */
    public static Throwable unwrapped(Throwable failure) {
        return of(failure).stream()
                .filter(one -> one.getCause() == null
                        || !(one instanceof CompletionException || one instanceof ExecutionException))
                .findFirst()
                .orElse(failure);
    }
}
