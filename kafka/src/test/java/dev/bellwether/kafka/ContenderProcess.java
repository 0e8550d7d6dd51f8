package dev.bellwether.kafka;

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

/** A {@link Contender} in a process of its own, to be killed, stopped and continued. */
final class ContenderProcess implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    /** Instants between which it led. */
    record Reign(String who, long first, long last) {}

    private final String id;
    private final Process process;
    private final List<String> said = new CopyOnWriteArrayList<>();

    ContenderProcess(String bootstrap, String election, String id, Duration lease, String topic) {
        this.id = id;
        try {
            process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xmx128m",
                            "-XX:TieredStopAtLevel=1",
                            "-XX:+UseSerialGC",
                            "-cp",
                            System.getProperty("java.class.path"),
                            Contender.class.getName(),
                            bootstrap,
                            election,
                            id,
                            Long.toString(lease.toMillis()),
                            topic)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var reader = new Thread(this::listen, "contender-" + id);
        reader.setDaemon(true);
        reader.start();
    }

    private void listen() {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            output.lines().forEach(said::add);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns what it has said so far. */
    List<String> said() {
        return List.copyOf(said);
    }

    void await(String line) {
        Eventually.eventually(
                id + " says «" + line + "», not only " + said,
                PATIENCE,
                () -> said.stream().anyMatch(line::equals));
    }

    /** Waits until it leads for the n-th time, and returns the token. */
    long awaitLeads(int times) {
        return Eventually.eventually(id + " leads, having said " + said, PATIENCE, () -> {
            var leads = said.stream().filter(line -> line.startsWith("leads ")).toList();
            return leads.size() < times
                    ? Optional.empty()
                    : Optional.of(Long.parseLong(leads.get(times - 1).split(" ", -1)[1]));
        });
    }

    /** Returns when it began to lead for the n-th time. */
    long ledSinceNanos(int times) {
        awaitLeads(times);
        return Long.parseLong(said.stream()
                .filter(line -> line.startsWith("leads "))
                .toList()
                .get(times - 1)
                .split(" ", -1)[2]);
    }

    List<Reign> reigns() {
        return said.stream()
                .filter(line -> line.startsWith("led "))
                .map(line -> line.split(" ", -1))
                .map(words -> new Reign(id, Long.parseLong(words[1]), Long.parseLong(words[2])))
                .toList();
    }

    void command(String line) {
        try {
            process.getOutputStream().write((line + '\n').getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void kill() {
        signal("KILL");
    }

    void pause() {
        signal("STOP");
    }

    void resume() {
        signal("CONT");
    }

    private void signal(String name) {
        try {
            new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                    .start()
                    .waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
