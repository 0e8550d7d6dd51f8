package dev.bellwether.testkit.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What happened, by the clock of the terms; at once on disk, so that a run that breaks off can be read, too.
 * Thread-safe.
 */
final class Chronicle {
    private final Path file;
    private final long beganNanos = System.nanoTime();
    private final List<Entry> entries = new ArrayList<>(); // guarded by this

    /**
     * Something that was done.
     *
     * @param candidate the one that it was done to; empty if to all
     */
    record Deed(long nanos, BenchFault fault, Optional<String> candidate) {}

    private record Entry(long nanos, String text) {}

    /** Begins again: what the folder held is deleted. */
    Chronicle(Path folder) {
        file = folder.resolve("history.txt");
        try {
            Files.createDirectories(folder);
            try (var old = Files.list(folder)) {
                for (var one : old.filter(Files::isRegularFile).toList()) {
                    Files.delete(one); // of the run before
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Path file() {
        return file;
    }

    synchronized void note(String text) {
        var entry = new Entry(System.nanoTime(), text);
        entries.add(entry);
        write(line(entry), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** Writes it all again, in order, with the terms among it. */
    synchronized void merge(List<ObservedTerm> terms) {
        var all = new ArrayList<>(entries);
        for (var term : terms) {
            var what = "%s (process %d), token %d, ".formatted(term.candidate(), term.process(), term.token());
            all.add(new Entry(term.firstNanos(), what + "leads"));
            all.add(new Entry(term.lastNanos(), what + "was last seen to lead"));
        }
        all.sort(Comparator.comparing(Entry::nanos, (a, b) -> Long.signum(a - b)));
        write(all.stream().map(this::line).collect(Collectors.joining()), StandardOpenOption.TRUNCATE_EXISTING);
    }

    private String line(Entry entry) {
        return "%14.6f ms  %s%n".formatted((entry.nanos - beganNanos) / 1e6, entry.text);
    }

    private void write(String text, StandardOpenOption... how) {
        try {
            Files.writeString(file, text, StandardCharsets.UTF_8, how);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
