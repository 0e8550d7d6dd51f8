package dev.bellwether.kafka;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A process of our own class path, to be killed, stopped and continued. It takes commands, a line each, and says something, a line each. */
final class Child implements AutoCloseable {
    private final Process process;
    private final CountDownLatch ended = new CountDownLatch(1);

    /** Starts it, and hands each line that it says to the listener, on one thread. */
    Child(Class<?> main, List<String> arguments, Consumer<String> listener) {
        var command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(arguments);
        try {
            process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var reader = new Thread(() -> listen(listener), "child-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    private void listen(Consumer<String> listener) {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            output.lines().forEach(listener);
        } catch (IOException | UncheckedIOException e) {
            // it was killed
        } finally {
            ended.countDown();
        }
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

    /** Returns whether it ends, and all that it said has been heard, within a minute. */
    boolean ends() {
        try {
            return ended.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
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
