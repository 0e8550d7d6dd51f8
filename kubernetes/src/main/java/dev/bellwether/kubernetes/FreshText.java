package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A token or certificates: given once, or in a file that others replace and that is read again. Thread-safe. */
final class FreshText {
    /** The kubelet replaces what a pod has long before it expires. */
    static final Duration READ_AGAIN = Duration.ofMinutes(1);

    private final @Nullable Path file;
    private String text; // guarded by this
    private long readNanos = System.nanoTime(); // guarded by this

    /** A text that stays, without white space around it; empty for none. */
    FreshText(String text) {
        file = null;
        this.text = text.strip();
    }

    /**
     * A text in a file.
     *
     * @throws ElectionException if it cannot be read
     */
    FreshText(Path file) {
        this.file = file;
        try {
            text = Files.readString(file).strip();
        } catch (IOException e) {
            throw new ElectionException("cannot read " + file + ": " + e, e);
        }
    }

    /** Returns it, as it was a minute ago at most. */
    String current() {
        return current(READ_AGAIN);
    }

    /** Returns it, as it was so long ago at most. */
    synchronized String current(Duration mostAge) {
        if (System.nanoTime() - readNanos >= mostAge.toNanos()) {
            read();
        }
        return text;
    }

    /** Looks whether there is another one than this, which was refused. */
    synchronized boolean isReplaced(String refused) {
        read();
        return !text.equals(refused);
    }

    private void read() {
        readNanos = System.nanoTime();
        try {
            var read = file == null ? text : Files.readString(file).strip();
            text = read.isEmpty() ? text : read; // it is just being written: the next look finds it
        } catch (IOException e) {
            return; // it is just being replaced: the next look finds it
        }
    }
}
