package dev.bellwether.testkit.servers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

/** What {@code scripts/servers} knows. */
public final class Scripts {
    private Scripts() {}

    /** Returns where something is that Maven does not bring; if it is missing, fails with the way to get it. */
    public static String where(String name) {
        var folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("scripts/servers"))) {
            folder = Objects.requireNonNull(folder.getParent(), "not in a checkout");
        }
        try {
            var process = new ProcessBuilder(folder.resolve("scripts/servers").toString(), "where", name).start();
            var said = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
            var path = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (process.waitFor() != 0) {
                throw new AssertionError(said);
            }
            return path;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
