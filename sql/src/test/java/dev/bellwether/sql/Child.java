package dev.bellwether.sql;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Undertaker;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** A {@link ChildMain} that runs, and what it has said. */
final class Child implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Process process;
    private final List<String> said = new CopyOnWriteArrayList<>();
    private final Process undertaker;

    private Child(Process process) {
        this.process = process;
        undertaker = Undertaker.watch(process.pid());
        var reader = new Thread(this::read, "child-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    static Child stand(String uri, String election, Duration lease) {
        return stand(uri, election, lease, Map.of());
    }

    static Child stand(String uri, String election, Duration lease, Map<String, String> environment) {
        return run(List.of(ChildMain.class.getName(), uri, election, lease.toString()), environment);
    }

    /** Runs a class with a main method, and its arguments. */
    static Child run(List<String> main, Map<String, String> environment) {
        var command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(main);
        var builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        try {
            return new Child(builder.start());
        } catch (IOException e) {
            throw new UncheckedIOException("no child", e);
        }
    }

    /** Waits until it has said a line that begins like this, and returns the rest of that line. */
    String await(String beginning) {
        return Eventually.eventually(
                "the child says " + beginning + " (it said " + said + ")", PATIENCE, () -> heard(beginning));
    }

    Optional<String> heard(String beginning) {
        return said.stream()
                .filter(line -> line.startsWith(beginning))
                .map(line -> line.substring(beginning.length()).strip())
                .findFirst();
    }

    List<String> said() {
        return said;
    }

    void freeze() {
        Undertaker.signal("STOP", process.pid());
    }

    void thaw() {
        Undertaker.signal("CONT", process.pid());
    }

    void kill() {
        process.destroyForcibly();
        process.onExit().join();
    }

    /** Lets it close in order. */
    @Override
    public void close() {
        try {
            process.getOutputStream().write('\n');
            process.getOutputStream().flush();
        } catch (IOException e) {
            // it is gone already
        }
        process.onExit()
                .orTimeout(PATIENCE.toSeconds(), java.util.concurrent.TimeUnit.SECONDS)
                .join();
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
