package dev.bellwether.spi;

import java.util.ArrayList;
import java.util.List;
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
}
