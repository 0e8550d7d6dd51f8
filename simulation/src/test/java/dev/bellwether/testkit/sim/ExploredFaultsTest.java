package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A fault planted in core is found by trying all short histories. By {@code scripts/spec} alone: it takes minutes. */
class ExploredFaultsTest {
    private static final List<String> TABLE = new ArrayList<>();

    @TempDir
    private Path directory;

    static Stream<Arguments> faults() {
        return Stream.of(
                        "0 the deadline of a grant counted from the response",
                        "0 any holder taken for ourselves when a claim is read back",
                        "1 isLeader() by phase alone",
                        "1 a clock jump ignored",
                        "2 the seat released before the listener returned",
                        "4 the deadline of a grant counted from the response",
                        "5 isLeader() by phase alone")
                .map(line -> Arguments.of(
                        Integer.parseInt(line.substring(0, 1)),
                        PlantedFaultsTest.all()
                                .filter(plant -> plant.fault().equals(line.substring(2)))
                                .findFirst()
                                .orElseThrow(() -> new IllegalArgumentException("no such fault: " + line))));
    }

    static Stream<Arguments> faultsOfRecords() {
        return Stream.of(
                Arguments.of(
                        5,
                        new PlantedFaultsTest.Plant(
                                "a held record is free at first sight",
                                "internal/record/SeatRules.java",
                                "return Math.max(0, until - nowNanos);",
                                "return 0;")),
                Arguments.of(
                        5,
                        new PlantedFaultsTest.Plant(
                                "a record counts from when its holder wrote it before",
                                "internal/record/ObservedRecord.java",
                                "if (isSame) {",
                                "if (isSame || (stored.record().isHeld()\n"
                                        + "        && found.record().nonce().equals(stored.record().nonce()))) {")),
                Arguments.of(
                        5,
                        new PlantedFaultsTest.Plant(
                                "the seat of another is vacated",
                                "internal/record/SeatRules.java",
                                "boolean mayVacate(boolean isOurs) {\n        return isOurs;",
                                "boolean mayVacate(boolean isOurs) {\n        return true;")));
    }

    static Stream<Arguments> faultsOfJournals() {
        return Stream.of(
                Arguments.of(
                        8,
                        new PlantedFaultsTest.Plant(
                                "a claim is led by before earlier ones are over",
                                "spi/journal/JournalSeat.java",
                                "barred = Math.max(barred, claim.untilNanos() - nanos);",
                                "barred = 0;")),
                Arguments.of(
                        8,
                        new PlantedFaultsTest.Plant(
                                "a beat counts from when it is read",
                                "spi/journal/SeatHold.java",
                                "effects.proven(token, new Proof(commitSent, lease));",
                                "effects.proven(token,\n"
                                        + "        new Proof(new Moment(nowNanos, nowNanos / 1_000_000), lease));")),
                Arguments.of(
                        8,
                        new PlantedFaultsTest.Plant(
                                "a reader that lost a part of the log waits for nobody",
                                "spi/journal/JournalSeat.java",
                                "earlier.add(new SeatClaim(UNSEEN, \"\", 0, unseenUntilNanos, false));",
                                "")));
    }

    @ParameterizedTest
    @MethodSource({"faults", "faultsOfRecords", "faultsOfJournals"})
    void aPlantedFaultIsFound(int number, PlantedFaultsTest.Plant plant) throws IOException {
        var began = System.nanoTime();
        var found =
                PlantedFaultsTest.simulate(PlantedFaultsTest.compile(plant, directory), ExplorationRun.class, number);
        assertThat(found)
                .as("\"%s\" was not found in %s", plant.fault(), found[0])
                .hasSize(2);
        System.out.println(plant.fault() + ": " + found[0] + ": " + found[1]);
        TABLE.add(String.format(
                Locale.ROOT,
                "| %s | %s | %d | %s | %.1f |",
                plant.fault(),
                ExplorationRun.PARTS.get(number).name(),
                found[1].lines().count() - 1,
                found[0],
                (System.nanoTime() - began) / 1e9));
    }

    @AfterAll
    static void print() throws IOException {
        PlantedFaultsTest.print(
                "explored-faults.md", List.of("fault", "explored", "steps", "until then", "seconds"), TABLE);
    }
}
