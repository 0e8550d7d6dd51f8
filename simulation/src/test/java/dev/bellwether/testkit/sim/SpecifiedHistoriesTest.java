package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the real code does in the simulator is a behaviour of the specification; with a fault in it, it is not. */
@Tag("specification")
class SpecifiedHistoriesTest {
    private static final int HISTORIES = Integer.getInteger("bellwether.histories", 20);
    private static final Pattern PLACE = Pattern.compile("/\\\\ [ni] = (\\d+)");

    @TempDir
    private Path directory;

    private final List<String> histories = new ArrayList<>();
    private final Set<String> names = new LinkedHashSet<>();
    private int mandates;

    @Test
    void whatTheCodeDoesIsSpecified() throws IOException {
        for (var seed = 1; seed <= HISTORIES; seed++) {
            add(new HistoryRun().apply(seed));
        }
        var outcome = check();
        System.out.printf(
                Locale.ROOT,
                "specified: %d histories of %d mandates, %,d states, %.1f s%n",
                HISTORIES,
                mandates,
                outcome.distinct(),
                outcome.seconds());
        assertThat(outcome.violated()).as(where(outcome)).isEmpty();
        assertThat(mandates).as("mandates").isGreaterThan(2 * HISTORIES);
        assertThat(outcome.distinct()).as("states").isGreaterThan(100L * HISTORIES);
    }

    static Stream<PlantedFaultsTest.Plant> faults() {
        var ofLeases = Set.of(
                "the deadline of a grant counted from the response",
                "the deadline of a renewal counted from the response",
                "isLeader() by phase alone",
                "the lease extended on an unknown outcome",
                "the stand-down budget not taken off the deadline");
        return Stream.concat(
                PlantedFaultsTest.all().filter(plant -> ofLeases.contains(plant.fault())),
                ExploredFaultsTest.faultsOfRecords().map(each -> (PlantedFaultsTest.Plant) each.get()[1]));
    }

    @ParameterizedTest
    @MethodSource("faults")
    void aFaultMakesAHistoryThatIsNotSpecified(PlantedFaultsTest.Plant plant) throws IOException {
        var classes = PlantedFaultsTest.compile(plant, directory);
        for (var seed = 1; seed <= HISTORIES; seed++) {
            add(PlantedFaultsTest.simulate(classes, HistoryRun.class, seed));
        }
        var outcome = check();
        System.out.println(plant.fault() + ": " + where(outcome));
        assertThat(outcome.violated()).as(plant.fault() + " was not found").isPresent();
    }

    private void add(String[] history) {
        histories.add(history[0]);
        Pattern.compile(",").splitAsStream(history[1]).forEach(names::add);
        mandates += Integer.parseInt(history[2]);
    }

    private Tlc.Outcome check() throws IOException {
        var tlc = new Tlc(Files.createDirectories(directory.resolve("tlc")));
        tlc.add("Histories", "All == <<\n" + String.join(",\n", histories) + "\n>>");
        var all = names.stream().map(name -> '"' + name + '"').collect(Collectors.joining(", ", "{", "}"));
        return tlc.check("Trace", Map.of("Candidates", all, "Clocked", all));
    }

    /** Returns which event of which history is not allowed. */
    private String where(Tlc.Outcome outcome) {
        var numbers = PLACE.matcher(outcome.output())
                .results()
                .map(found -> Integer.parseInt(found.group(1)))
                .toList();
        if (outcome.violated().isEmpty() || numbers.size() < 2) {
            return "all is specified";
        }
        var last = numbers.subList(numbers.size() - 2, numbers.size()); // TLC prints variables in alphabetical order
        var lines = histories.get(last.get(1) - 1).lines().toList();
        var place = last.get(0);
        return "seed " + last.get(1) + ", event " + place + ", "
                + outcome.violated().get() + ": "
                + String.join("\n  ", lines.subList(Math.max(1, place - 8), Math.min(place + 1, lines.size())));
    }
}
