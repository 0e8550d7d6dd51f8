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
import java.util.Optional;
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
    private static final int HISTORIES = Integer.getInteger("bellwether.histories", 60);
    /** So many are given to TLC at a time. */
    private static final int SOME = 20;

    private static final Pattern PLACE = Pattern.compile("/\\\\ [ni] = (\\d+)");

    @TempDir
    private Path directory;

    /** Writes the history of a seed down. */
    private interface Run {
        String[] apply(long seed) throws IOException;
    }

    private int mandates;
    private long states;
    private double seconds;

    @Test
    void whatTheCodeDoesIsSpecified() throws IOException {
        assertThat(firstUnspecified(new HistoryRun()::apply)).isEmpty();
        System.out.printf(
                Locale.ROOT,
                "specified: %d histories of %d mandates, %,d states, %.1f s%n",
                HISTORIES,
                mandates,
                states,
                seconds);
        assertThat(mandates).as("mandates").isGreaterThan(2 * HISTORIES);
        assertThat(states).as("states").isGreaterThan(50L * HISTORIES);
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
        var found = firstUnspecified(seed -> PlantedFaultsTest.simulate(classes, HistoryRun.class, seed));
        System.out.println(plant.fault() + ": " + found.orElse("all is specified"));
        assertThat(found).as(plant.fault() + " was not found").isPresent();
    }

    /** Returns the first event that is not specified, of all histories. */
    private Optional<String> firstUnspecified(Run run) throws IOException {
        for (var first = 1; first <= HISTORIES; first += SOME) {
            var histories = new ArrayList<String>();
            var names = new LinkedHashSet<String>();
            for (var seed = first; seed < Math.min(first + SOME, HISTORIES + 1); seed++) {
                var history = run.apply(seed);
                histories.add(history[0]);
                Pattern.compile(",").splitAsStream(history[1]).forEach(names::add);
                mandates += Integer.parseInt(history[2]);
            }
            var outcome = check(directory.resolve("tlc" + first), histories, names);
            states += outcome.distinct();
            seconds += outcome.seconds();
            if (outcome.violated().isPresent()) {
                return Optional.of(where(outcome, first, histories));
            }
        }
        return Optional.empty();
    }

    private static Tlc.Outcome check(Path directory, List<String> histories, Set<String> names) throws IOException {
        var tlc = new Tlc(Files.createDirectories(directory));
        tlc.add("Histories", "All == <<\n" + String.join(",\n", histories) + "\n>>");
        var all = names.stream().map(name -> '"' + name + '"').collect(Collectors.joining(", ", "{", "}"));
        return tlc.check("Trace", Map.of("Candidates", all, "Clocked", all));
    }

    /** Returns which event of which history is not allowed. */
    private static String where(Tlc.Outcome outcome, int first, List<String> histories) {
        var violated = outcome.violated().orElseThrow();
        var numbers = PLACE.matcher(outcome.output())
                .results()
                .map(found -> Integer.parseInt(found.group(1)))
                .toList();
        if (numbers.size() < 2) {
            return violated;
        }
        var last = numbers.subList(numbers.size() - 2, numbers.size()); // TLC prints variables in alphabetical order
        var lines = histories.get(last.get(1) - 1).lines().toList();
        var place = last.get(0);
        return "seed " + (first + last.get(1) - 1) + ", event " + place + ", " + violated + ": "
                + String.join("\n  ", lines.subList(Math.max(1, place - 8), Math.min(place + 1, lines.size())));
    }
}
