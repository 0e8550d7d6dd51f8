package dev.bellwether.benchmarks;

import dev.bellwether.benchmarks.Samples.Series;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Makes one table of the runs of the fault bench: a row for each elector. Argument: the folder of the samples, into
 * which it is written, too. It begins with what stands in the files {@code head} and {@code parts} there.
 */
final class Scoreboard {
    private static final String KILLED = "vacant after a kill";

    private Scoreboard() {}

    /** Who, where. */
    private record Elector(String where, String who) {}

    public static void main(String[] arguments) throws IOException {
        var folder = Path.of(arguments[0]);
        var board = new LinkedHashMap<Elector, Map<String, List<Double>>>();
        var settings = new LinkedHashMap<Elector, String>();
        Samples.read(folder).forEach((series, values) -> {
            if (series.what().startsWith(FaultRun.FIGURES)) {
                var elector = new Elector(series.where(), series.who());
                board.computeIfAbsent(elector, each -> new LinkedHashMap<>()).put(figure(series), values);
                settings.put(elector, setting(series));
            }
        });
        var table = new ArrayList<String>();
        for (var part : List.of("head", "parts")) {
            var file = folder.resolve(part);
            if (Files.exists(file)) {
                table.addAll(Files.readAllLines(file, StandardCharsets.UTF_8));
                table.add("");
            }
        }
        table.add("| on | who | setting | faults | terms | two led at once | in all | for the longest | late writes "
                + "| killed: nobody led for, median | longest | in the end somebody leads |");
        table.add("|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|");
        board.forEach((elector, figures) -> table.add(row(elector, settings.getOrDefault(elector, ""), figures)));
        Files.write(folder.resolve("scoreboard.md"), table, StandardCharsets.UTF_8);
        System.out.println(String.join("\n", table));
    }

    private static String row(Elector elector, String setting, Map<String, List<Double>> figures) {
        var killed = figures.getOrDefault(KILLED, List.of());
        return String.join(
                " | ",
                "| " + elector.where,
                elector.who,
                setting,
                count(figures, "faults"),
                count(figures, "terms"),
                count(figures, "two led at once") + " times",
                Evidence.text(one(figures, "two led at once in all"), "ms"),
                Evidence.text(one(figures, "two led at once for the longest"), "ms"),
                count(figures, "late writes that a guard must refuse"),
                killed.isEmpty() ? "never" : Evidence.text(Evidence.at(killed, 0.5), "ms"),
                killed.isEmpty() ? "" : Evidence.text(Evidence.at(killed, 1), "ms"),
                (one(figures, "nobody led in the end") == 0 ? "yes" : "**nobody**") + " |");
    }

    private static String count(Map<String, List<Double>> figures, String figure) {
        return "%,.0f".formatted(one(figures, figure));
    }

    private static double one(Map<String, List<Double>> figures, String figure) {
        var values = figures.getOrDefault(figure, List.of());
        if (values.size() != 1) {
            throw new IllegalStateException("\"" + figure + "\" has " + values.size()
                    + " values: was an elector measured twice into one folder?");
        }
        return values.get(0);
    }

    private static String figure(Series series) {
        var what = series.what().substring(FaultRun.FIGURES.length());
        return what.substring(0, what.lastIndexOf(" ("));
    }

    private static String setting(Series series) {
        var what = series.what();
        return what.substring(what.lastIndexOf('(') + 1, what.length() - 1);
    }
}
