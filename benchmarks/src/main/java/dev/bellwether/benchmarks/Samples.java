package dev.bellwether.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Measured values, in a file for the table and the plots: one a line, none left out. Written only where
 * {@code -Dbellwether.figures=FOLDER} says so.
 */
public final class Samples {
    private static final String FOLDER = System.getProperty("bellwether.figures", "");

    private Samples() {}

    /**
     * What was measured of whom.
     *
     * @param where the server
     * @param what in which respect, with its setting
     */
    public record Series(String where, String what, String unit, String who) {
        public Series {
            for (var word : List.of(where, what, unit, who)) {
                if (word.indexOf(',') >= 0 || word.indexOf('\n') >= 0) {
                    throw new IllegalArgumentException(word);
                }
            }
        }
    }

    /** Writes how long something took, each time. */
    public static void nanos(String where, String what, String who, Collection<Long> nanos) {
        add(
                new Series(where, what, "ms", who),
                nanos.stream().map(one -> one / 1e6).toList());
    }

    /** Writes a figure of another kind. */
    public static void value(String where, String what, String unit, String who, double value) {
        add(new Series(where, what, unit, who), List.of(value));
    }

    private static void add(Series series, List<Double> values) {
        if (FOLDER.isEmpty()) {
            return;
        }
        var lines = values.stream()
                .map(value ->
                        String.join(",", series.where, series.what, series.unit, series.who, Double.toString(value)))
                .toList();
        try {
            Files.createDirectories(Path.of(FOLDER));
            Files.write(
                    Path.of(FOLDER, "samples.csv"),
                    lines,
                    StandardCharsets.UTF_8,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads all that was written to a folder, in the order in which it first was; each series sorted. */
    static Map<Series, List<Double>> read(Path folder) throws IOException {
        var all = new LinkedHashMap<Series, List<Double>>();
        try (Stream<String> lines = Files.lines(folder.resolve("samples.csv"), StandardCharsets.UTF_8)) {
            lines.map(line -> line.split(",", -1))
                    .forEach(words -> all.computeIfAbsent(
                                    new Series(words[0], words[1], words[2], words[3]), series -> new ArrayList<>())
                            .add(Double.parseDouble(words[4])));
        }
        all.values().forEach(values -> values.sort(null));
        return all;
    }
}
