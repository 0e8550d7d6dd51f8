package dev.bellwether.internal.election;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** What is logged, from now until this is closed. */
public final class LogSaid implements AutoCloseable {
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private final PrintStream before = System.err;

    public LogSaid() {
        System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
    }

    /** Returns what was logged as this, without names of threads and loggers. */
    public List<String> said(String level) {
        return text().lines()
                .filter(line -> line.contains("] " + level + " "))
                .map(line -> line.replaceFirst("^.*?\\] " + level + " \\S+ - ", ""))
                .toList();
    }

    /** Returns all of it. */
    public String text() {
        return written.toString(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        System.setErr(before);
    }
}
