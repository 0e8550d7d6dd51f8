package dev.bellwether.kafka;

import java.util.concurrent.CompletionStage;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.apache.kafka.common.Uuid;
import org.jspecify.annotations.Nullable;

/**
 * Knows which topic it is that is read: one that was deleted and created again is another one, though its name is the
 * same and its offsets may have grown past our place.
 *
 * <p>Thread-safe.
 */
final class LogIdentity {
    private final Supplier<CompletionStage<Uuid>> question;
    private final IntSupplier rereads;
    private final Runnable beginAgain;
    private @Nullable Uuid known;
    private @Nullable Uuid coming;
    private int comingAfter;

    /**
     * Knows which one is read at first; null if that could not be asked, and then all will be read once more.
     *
     * @param rereads how often all was read once more
     * @param beginAgain has all read once more, soon
     */
    LogIdentity(
            @Nullable Uuid first, Supplier<CompletionStage<Uuid>> question, IntSupplier rereads, Runnable beginAgain) {
        known = first;
        this.question = question;
        this.rereads = rereads;
        this.beginAgain = beginAgain;
    }

    /** Returns the one that is read; null if that is not known. */
    synchronized @Nullable Uuid known() {
        return known;
    }

    /** Asks; if it is another one, has it read from its beginning, and says no until that has begun. */
    CompletionStage<Boolean> isSame() {
        return question.get().thenApply(this::isSame);
    }

    private synchronized boolean isSame(Uuid found) {
        var times = rereads.getAsInt();
        if (coming != null && times != comingAfter) {
            known = coming;
            coming = null;
        }
        if (coming == null && found.equals(known)) {
            return true;
        }
        if (!found.equals(coming)) {
            coming = found;
            comingAfter = times;
            beginAgain.run();
        }
        return false;
    }
}
