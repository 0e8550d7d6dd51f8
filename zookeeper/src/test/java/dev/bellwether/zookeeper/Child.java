package dev.bellwether.zookeeper;

import dev.bellwether.testkit.Eventually;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** A {@link ChildMain} that runs, and what it has said. It ends with us: the input that it waits for is ours. */
final class Child implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Process process;
    private final List<String> said = new CopyOnWriteArrayList<>();

    /** Instants of the monotonic clock between which it led. */
    record Reign(long firstNanos, long lastNanos) {}

    Child(String uri, String election, Duration lease) {
        try {
            process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xmx128m",
                            "-XX:TieredStopAtLevel=1",
                            "-XX:+UseSerialGC",
                            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                            "-cp",
                            System.getProperty("java.class.path"),
                            ChildMain.class.getName(),
                            uri,
                            election,
                            lease.toString())
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var reader = new Thread(this::listen, "child-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    private void listen() {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            output.lines().forEach(said::add);
        } catch (IOException e) {
            said.add("broken off: " + e);
        } catch (UncheckedIOException e) {
            said.add("broken off: " + e);
        }
    }

    /** Waits until it leads for the n-th time, and returns the token. */
    long awaitLeads(int times) {
        return Eventually.eventually("the child leads " + times + " times; it said " + said, PATIENCE, () -> {
            var tokens = words("leads ");
            return tokens.size() < times
                    ? Optional.empty()
                    : Optional.of(Long.parseLong(tokens.get(times - 1).get(0)));
        });
    }

    /** Waits until its n-th reign has ended, as far as it knows. */
    Reign awaitReign(int times) {
        return Eventually.eventually("the child has led " + times + " times; it said " + said, PATIENCE, () -> {
            var reigns = words("led ");
            return reigns.size() < times
                    ? Optional.empty()
                    : Optional.of(new Reign(
                            Long.parseLong(reigns.get(times - 1).get(0)),
                            Long.parseLong(reigns.get(times - 1).get(1))));
        });
    }

    private List<List<String>> words(String beginning) {
        return said.stream()
                .filter(line -> line.startsWith(beginning))
                .map(line -> List.of(line.substring(beginning.length()).split(" ", -1)))
                .toList();
    }

    void freeze() {
        signal("STOP");
    }

    void thaw() {
        signal("CONT");
    }

    /** Kills it, and returns when it is dead. */
    void kill() {
        signal("KILL");
        awaitEnd();
    }

    private void signal(String name) {
        try {
            var code = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                    .start()
                    .waitFor();
            if (code != 0) {
                throw new IllegalStateException("kill -" + name + " failed with code " + code);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends its input, at which it closes in order; returns the exit code when it has ended. */
    int leave() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        awaitEnd();
        return process.exitValue();
    }

    private void awaitEnd() {
        try {
            if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                throw new IllegalStateException("the child does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        process.destroyForcibly(); // frozen or not
    }
}
