package dev.bellwether.cli.demo;

import dev.bellwether.cli.command.ExitHook;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the demo has to put away in the end, however it ends: at SIGKILL a shell that waits for the end of a pipe
 * removes the folder and restores the terminal, and each process of the demo ends by itself, as its own pipe does.
 * Thread-safe.
 */
final class DemoCleanup implements AutoCloseable {
    private static final String SWEEP = "trap '' HUP INT TERM TTOU; read -r end; [ \"$end\" != swept ] || exit 0;"
            + " [ -z \"$2\" ] || stty \"$2\" </dev/tty; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; rm -rf \"$1\";"
            + " done";

    private static final Logger log = LoggerFactory.getLogger(DemoCleanup.class);

    private final Path folder;
    private final Optional<KeyPresses> keys;
    private final Process sweeper;
    private final Deque<AutoCloseable> kept = new ArrayDeque<>();
    private final ExitHook atExit;
    private volatile boolean over;
    private boolean away;

    private DemoCleanup(Path folder, Optional<KeyPresses> keys, Process sweeper) {
        this.folder = folder;
        this.keys = keys;
        this.sweeper = sweeper;
        atExit = ExitHook.add("bellwether-demo-end", this::put);
    }

    static DemoCleanup in(Path folder, Optional<KeyPresses> keys) throws IOException {
        try {
            var sweeper = new ProcessBuilder(
                            "sh",
                            "-c",
                            SWEEP,
                            "sweep",
                            folder.toString(),
                            keys.map(KeyPresses::before).orElse(""))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return new DemoCleanup(folder, keys, sweeper);
        } catch (IOException | RuntimeException | Error e) { // no process is left, for example
            keys.ifPresent(DemoCleanup::close);
            Files.delete(folder);
            throw e;
        }
    }

    Path folder() {
        return folder;
    }

    boolean hearsEachKey() {
        return keys.isPresent();
    }

    /** Has this closed in the end, before what was kept earlier. */
    synchronized <T extends AutoCloseable> T keep(T one) {
        kept.push(one);
        return one;
    }

    /** Ends the demo soon. */
    void end() {
        over = true;
    }

    boolean isOver() {
        return over;
    }

    @Override
    public void close() {
        atExit.close();
        put(); // if the process ends, the hook waits for us, or we for it
    }

    private synchronized void put() {
        if (away) {
            return;
        }
        away = true;
        over = true;
        keys.ifPresent(DemoCleanup::close);
        while (!kept.isEmpty()) {
            close(kept.pop());
        }
        try {
            try (var paths = Files.walk(folder)) {
                for (var path : paths.sorted(Comparator.reverseOrder()).toList()) {
                    Files.deleteIfExists(path);
                }
            }
            sweeper.getOutputStream().write("swept\n".getBytes(StandardCharsets.US_ASCII));
            sweeper.getOutputStream().close();
        } catch (IOException e) {
            throw new UncheckedIOException(e); // the sweeper tries again
        }
    }

    /** What cannot be closed must not keep the rest from it. */
    private static void close(AutoCloseable one) {
        try {
            one.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            log.warn("{} was not closed", one, e);
        }
    }
}
