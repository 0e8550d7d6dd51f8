package dev.bellwether.outbox;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Undertaker;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A {@link RelayMain} that runs, and what it has said. */
final class RelayProcess implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private final Process process;
    private final Process undertaker;
    private final List<String> said = new CopyOnWriteArrayList<>();

    RelayProcess(String... arguments) {
        var command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                RelayMain.class.getName()));
        command.addAll(Arrays.asList(arguments));
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            throw new UncheckedIOException("no relay", e);
        }
        undertaker = Undertaker.watch(process.pid());
        var reader = new Thread(this::read, "relay-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    void await(String line) {
        Eventually.eventually(
                "the relay says " + line + " (it said " + said + ")", PATIENCE, () -> said.contains(line));
    }

    long count(String line) {
        return said.stream().filter(line::equals).count();
    }

    void awaitDeath() {
        Eventually.eventually("the relay dies (it said " + said + ")", PATIENCE, () -> !process.isAlive());
        undertaker.destroy();
    }

    void resume() {
        Undertaker.signal("CONT", process.pid());
    }

    @Override
    public void close() {
        process.destroyForcibly();
        process.onExit().join();
        undertaker.destroy();
    }

    private void read() {
        try (var lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                said.add(line);
            }
        } catch (IOException e) {
            said.add("broken off: " + e);
        }
    }
}
