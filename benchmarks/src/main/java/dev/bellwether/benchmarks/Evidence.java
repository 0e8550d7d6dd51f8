package dev.bellwether.benchmarks;

import dev.bellwether.benchmarks.Samples.Series;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Makes one table of all that was measured, a plot for each distribution, and one picture of all vacancies, for light
 * pages and dark. Arguments: the folder of the samples, and where to put the table and the plots. The table begins with
 * what stands in the files {@code head} and {@code parts} beside the samples.
 */
final class Evidence {
    private static final List<String> LEGEND = List.of(
            "How long nobody led is told from the last instant at which the old leader was seen to lead to the first at which the new one was. Where both led at once there was no such time:",
            "then there are fewer values (n) than rounds, for fewer than half as many no ratio is told, and *two led at once* says for how long in all. Where the old one did not learn that another led within 5 s, it was killed.",
            "The median of an even number of values is the lower of the two in the middle; of fewer than a hundred values, p99 is the longest. All values stand in samples.csv.",
            "");

    private static final String OURS = "Bellwether";

    private Evidence() {}

    /** Same server, same question. */
    private record Question(String where, String what, String unit) {
        String file() {
            return (where + "-" + what)
                            .toLowerCase(Locale.ROOT)
                            .replaceAll("[^a-z0-9]+", "-")
                            .replaceAll("-$", "") + ".svg";
        }
    }

    public static void main(String[] arguments) throws IOException {
        var target = Files.createDirectories(Path.of(arguments[1]));
        var questions = new LinkedHashMap<Question, Map<String, List<Double>>>();
        var all = Samples.read(Path.of(arguments[0]));
        all.forEach((series, values) -> questions
                .computeIfAbsent(question(series), question -> new LinkedHashMap<>())
                .put(series.who(), values));
        questions.replaceAll((question, byWho) -> oursFirst(byWho));
        var table = new ArrayList<String>();
        for (var part : List.of("head", "parts")) {
            var file = Path.of(arguments[0], part);
            if (Files.exists(file)) {
                table.addAll(Files.readAllLines(file, StandardCharsets.UTF_8));
                table.add("");
            }
        }
        table.addAll(LEGEND);
        table.add("| where | what | who | n | p50 | p99 | max | to ours |");
        table.add("|---|---|---|--:|--:|--:|--:|--:|");
        for (var each : questions.entrySet()) {
            rows(each.getKey(), each.getValue(), table);
        }
        for (var each : questions.entrySet()) {
            if (each.getValue().values().stream().anyMatch(values -> values.size() > 1)) {
                var question = each.getKey();
                var title = question.what + ", " + question.where;
                Files.writeString(target.resolve(question.file()), new Plot(title, question.unit).of(each.getValue()));
                table.add("");
                table.add("![" + title + "](" + question.file() + ")");
            }
        }
        Files.writeString(target.resolve("all-vacancies-light.svg"), new SmallMultiples(all, false).draw());
        Files.writeString(target.resolve("all-vacancies-dark.svg"), new SmallMultiples(all, true).draw());
        Files.write(target.resolve("figures.md"), table, StandardCharsets.UTF_8);
        var samples = Path.of(arguments[0], "samples.csv");
        if (!Files.isSameFile(target, Path.of(arguments[0]))) {
            Files.copy(samples, target.resolve("samples.csv"), StandardCopyOption.REPLACE_EXISTING);
        }
        System.out.println(String.join("\n", table));
    }

    private static Map<String, List<Double>> oursFirst(Map<String, List<Double>> byWho) {
        var sorted = new LinkedHashMap<String, List<Double>>();
        if (byWho.containsKey(OURS)) {
            sorted.put(OURS, byWho.get(OURS));
        }
        sorted.putAll(byWho);
        return sorted;
    }

    private static Question question(Series series) {
        return new Question(series.where(), series.what(), series.unit());
    }

    private static void rows(Question question, Map<String, List<Double>> byWho, List<String> table) {
        var ourValues = byWho.getOrDefault(OURS, List.of());
        var ours = ourValues.isEmpty() ? 0 : at(ourValues, 0.5);
        byWho.forEach((who, values) -> table.add("| %s | %s | %s | %d | %s | %s | %s | %s |"
                .formatted(
                        question.where,
                        question.what,
                        who,
                        values.size(),
                        text(at(values, 0.5), question.unit),
                        values.size() > 1 ? text(at(values, 0.99), question.unit) : "",
                        values.size() > 1 ? text(at(values, 1), question.unit) : "",
                        ours <= 0 || who.equals(OURS) || 2 * values.size() < ourValues.size()
                                ? ""
                                : String.format(
                                        Locale.ROOT,
                                        at(values, 0.5) < 100 * ours ? "%,.2f" : "%,.0f",
                                        at(values, 0.5) / ours))));
    }

    static String text(double value, String unit) {
        var counted = !unit.equals("ms") && value == Math.rint(value);
        var format = counted ? "%,.0f %s" : value < 10 ? "%,.2f %s" : value < 1_000 ? "%,.1f %s" : "%,.0f %s";
        return String.format(Locale.ROOT, format, value, unit);
    }

    /** Of values in order. */
    static double at(List<Double> sorted, double share) {
        return sorted.get(Math.max(0, (int) Math.ceil(share * sorted.size()) - 1));
    }
}
