package dev.bellwether.testkit.servers;

import dev.bellwether.testkit.faults.BenchEnvironment;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A server in a JVM of its own that can be killed, paused, and started again with what it had on disk. Thread-safe.
 * Its {@code main} ends it {@linkplain #endWithParent with ours}.
 */
public abstract class JvmServer implements BenchEnvironment.Server {
    /** The java that runs us. */
    protected static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private final String name;
    private final Path output;
    private @Nullable Process process;
    private @Nullable SharedClasses classes;

    /** Begins without a process; what that prints is in this file. */
    protected JvmServer(String name, Path output) {
        this.name = name;
        this.output = output;
    }

    /** Returns what to run at the next start. */
    protected abstract List<String> command() throws IOException;

    /** Returns the last options of {@link #JAVA}, by which it runs this class of this class path. */
    protected final synchronized List<String> program(Class<?> main, String classPath) throws IOException {
        classes = SharedClasses.of(main, classPath);
        return classes.options();
    }

    /** Returns whether it serves. */
    protected abstract boolean serves();

    @Override
    public final String name() {
        return name;
    }

    /** Returns the id of its process. */
    public final synchronized long pid() {
        return running().pid();
    }

    /** Starts it again, and returns when it serves. */
    @Override
    public final void start() {
        launch();
        awaitServing();
    }

    /** Stops it in order: it hands over what it leads, then ends. */
    public final synchronized void stop() {
        signal("TERM"); // Process.destroy would close its input as well, and it would take us for dead
        awaitEnd();
    }

    /** Kills it, by SIGKILL. Does nothing if it does not run. */
    @Override
    public final synchronized void kill() {
        if (process != null) {
            process.destroyForcibly();
            awaitEnd();
        }
    }

    @Override
    public final synchronized void pause() {
        signal("STOP");
    }

    @Override
    public final synchronized void resume() {
        signal("CONT");
    }

    /** Starts it, and returns before it serves. */
    public final synchronized void launch() {
        if (process != null) {
            throw new IllegalStateException(name + " runs already");
        }
        try {
            Files.deleteIfExists(output);
            process = new ProcessBuilder(command())
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("could not start " + name, e);
        }
    }

    /** Returns when it serves. */
    public final void awaitServing() {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!serves()) {
            synchronized (this) {
                if (!running().isAlive()) {
                    throw new IllegalStateException(name + " ended while starting:\n" + output());
                }
            }
            if (System.nanoTime() - until > 0) {
                throw new IllegalStateException(name + " does not serve after " + PATIENCE + ":\n" + output());
            }
            try {
                TimeUnit.MILLISECONDS.sleep(10);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while " + name + " was to start", e);
            }
        }
        synchronized (this) {
            if (classes != null) {
                classes.served();
            }
        }
    }

    /** Returns what it has printed since its start. */
    public final String output() {
        try {
            return Files.readString(output, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Process running() {
        if (process == null) {
            throw new IllegalStateException(name + " does not run");
        }
        return process;
    }

    private void awaitEnd() {
        try {
            if (!running().waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                throw new IllegalStateException(name + " did not end within " + PATIENCE);
            }
            process = null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while " + name + " was to end", e);
        }
    }

    private void signal(String signal) {
        if (!running().isAlive()) {
            throw new IllegalStateException(name + " has ended, and " + signal + " cannot be sent");
        }
        ProcessReaper.signal(signal, pid());
    }

    /** Has this JVM end when the one that started it does, however that does: its input is a pipe from there. */
    public static void endWithParent() {
        var parent = new Thread(
                () -> {
                    try {
                        while (System.in.read() >= 0) {
                            Thread.onSpinWait(); // nobody writes to it
                        }
                    } catch (IOException e) {
                        // the same as its end
                    }
                    Runtime.getRuntime().halt(1);
                },
                "parent");
        parent.setDaemon(true);
        parent.start();
    }
}
