package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The token that requests bear: given once, or in a file that others replace. Thread-safe. */
final class AccessToken {
    /** The kubelet replaces a pod's token long before it expires. */
    private static final Duration READ_AGAIN = Duration.ofMinutes(1);

    private final @Nullable Path file;
    private String token; // guarded by this
    private long readNanos; // guarded by this

    /** A token that stays; empty for none. */
    AccessToken(String token) {
        file = null;
        this.token = token;
    }

    /**
     * A token in a file.
     *
     * @throws ElectionException if it cannot be read
     */
    AccessToken(Path file) {
        this.file = file;
        readNanos = System.nanoTime();
        try {
            token = Files.readString(file).strip();
        } catch (IOException e) {
            throw new ElectionException("cannot read the token in " + file + ": " + e, e);
        }
    }

    /** Returns it. */
    synchronized String current() {
        if (System.nanoTime() - readNanos > READ_AGAIN.toNanos()) {
            read();
        }
        return token;
    }

    /** Looks whether there is another one than this, which was refused. */
    synchronized boolean isReplaced(String refused) {
        read();
        return !token.equals(refused);
    }

    private void read() {
        readNanos = System.nanoTime();
        try {
            token = file == null ? token : Files.readString(file).strip();
        } catch (IOException e) {
            return; // it is just being replaced: the next look finds it
        }
    }
}
