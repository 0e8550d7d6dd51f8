package dev.bellwether.cli.demo;

import dev.bellwether.cli.command.CommandEnvironment;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The terminal, set so that each key is heard at once, and back again in the end. Where that cannot be done, keys are
 * heard with Enter. Thread-safe.
 */
final class KeyPresses implements AutoCloseable {
    private final String before;

    /** Restores what is so called in the end. */
    KeyPresses(String before) {
        this.before = before;
    }

    /** Returns empty if there is no terminal, or none that can be set. */
    static Optional<KeyPresses> each(CommandEnvironment around) {
        if (!around.inIsTerminal()) {
            return Optional.empty();
        }
        try {
            var keys = new KeyPresses(stty(List.of("-g")));
            stty(List.of("-icanon", "-echo", "min", "1"));
            return Optional.of(keys);
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    /** Returns the words that make {@code stty} restore what was. */
    String before() {
        return before;
    }

    @Override
    public void close() {
        try {
            stty(List.of(before));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String stty(List<String> words) throws IOException, InterruptedException {
        var line = new ArrayList<>(List.of("stty"));
        line.addAll(words);
        var process = new ProcessBuilder(line)
                .redirectInput(new File("/dev/tty"))
                .redirectErrorStream(true)
                .start();
        var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        if (!process.waitFor(5, TimeUnit.SECONDS) || process.exitValue() != 0) {
            throw new IOException("stty: " + said);
        }
        return said;
    }
}
