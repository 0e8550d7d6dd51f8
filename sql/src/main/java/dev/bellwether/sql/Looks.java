package dev.bellwether.sql;

import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Has somebody look at a seat, once for all who ask meanwhile. Thread-safe. */
final class Looks {
    private final Function<String, ? extends CompletionStage<?>> looking;
    private final Runnable onFailure;
    /** Seats that somebody is to look at, and whether once more after that. */
    private final Map<String, Boolean> underWay = new ConcurrentHashMap<>();

    /**
     * Begins with none.
     *
     * @param looking looks at the seat of an election, in the background
     * @param onFailure is told when that has failed
     */
    Looks(Function<String, ? extends CompletionStage<?>> looking, Runnable onFailure) {
        this.looking = looking;
        this.onFailure = onFailure;
    }

    /** Has the seat of this election looked at from now on. */
    void look(String election) {
        if (Boolean.FALSE.equals(underWay.compute(election, (name, again) -> again != null))) {
            begin(election);
        }
    }

    private void begin(String election) {
        try {
            looking.apply(election).whenComplete((looked, error) -> ended(election, error));
        } catch (RuntimeException | Error e) { // the last for lack of memory; and the next to ask begins one
            underWay.remove(election);
            onFailure.run();
            throw e;
        }
    }

    private void ended(String election, @Nullable Throwable error) {
        if (error != null) {
            onFailure.run();
        }
        if (underWay.computeIfPresent(election, (name, again) -> again ? Boolean.FALSE : null) != null) {
            begin(election);
        }
    }
}
