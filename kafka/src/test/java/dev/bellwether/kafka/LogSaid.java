package dev.bellwether.kafka;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** What is logged, from now until this is closed. */
final class LogSaid implements AutoCloseable {
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private final PrintStream before = System.err;

    LogSaid() {
        System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
    }

    /** Returns the first lines of the warnings in which all of these words are. */
    List<String> warnings(String... words) {
        return written.toString(StandardCharsets.UTF_8)
                .lines()
                .filter(line -> line.contains("] WARN "))
                .filter(line -> List.of(words).stream().allMatch(line::contains))
                .toList();
    }

    /** Returns all of it. */
    String text() {
        return written.toString(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        System.setErr(before);
        System.err.print(text());
    }
}
