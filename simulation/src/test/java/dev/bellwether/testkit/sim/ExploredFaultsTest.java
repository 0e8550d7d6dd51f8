package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A fault planted in core is found by trying all short histories, within the bounds to which {@link ExplorationTest}
 * explores core as it is.
 */
@Tag("specification")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // of loops that never end
class ExploredFaultsTest {
    private static final List<String> TABLE = new ArrayList<>();

    @TempDir
    private Path directory;

    static Stream<Arguments> faults() {
        return Stream.of(
                in("leases, one does not know that it leads", "the deadline of a grant counted from the response"),
                in(
                        "leases, nobody leads yet, 2 candidates, 2 of [ANSWER",
                        "any holder taken for ourselves when a claim is read back"),
                in(
                        "leases, one does not know that it has renewed",
                        "the deadline of a renewal counted from the response"),
                in("leases, one leads", "isLeader() by phase alone"),
                in("leases, nobody leads yet, 2 candidates, 2 of [STALL", "a clock jump ignored"),
                in(
                        "leases, nobody leads yet, 2 candidates, 2 of [END",
                        "the seat released before the listener returned"),
                in("records, one does not know that it leads", "the deadline of a grant counted from the response"),
                in("records, one leads", "isLeader() by phase alone"));
    }

    static Stream<Arguments> faultsOfRecords() {
        return Stream.of(
                in(
                        "records, nobody leads yet, 2 candidates, 2 of [STALL",
                        "a held record is free at first sight",
                        "internal/record/SeatRules.java",
                        "return Math.max(0, until - nowNanos);",
                        "return 0;"),
                in(
                        "records, one has renewed",
                        "a record counts from when its holder wrote it before",
                        "internal/record/ObservedRecord.java",
                        "if (isSame) {",
                        "if (isSame || (stored.record().isHeld()\n"
                                + "        && found.record().nonce().equals(stored.record().nonce()))) {"),
                in(
                        "records, one does not know that another leads",
                        "the seat of another is vacated",
                        "internal/record/SeatRules.java",
                        "boolean mayVacate(boolean isOurs) {\n        return isOurs;",
                        "boolean mayVacate(boolean isOurs) {\n        return true;"));
    }

    static Stream<Arguments> faultsOfJournals() {
        return Stream.of(
                in(
                        "journal, nobody leads yet, 2",
                        "a claim is led by before earlier ones are over",
                        "spi/journal/JournalSeat.java",
                        "barred = Math.max(barred, claim.untilNanos() - nanos);",
                        "barred = 0;"),
                in(
                        "journal, one has renewed, 2 candidates, 0",
                        "a beat counts from when it is read",
                        "spi/journal/SeatHold.java",
                        "effects.proven(token, new Proof(commitSent, lease));",
                        "effects.proven(token,\n"
                                + "        new Proof(new Moment(nowNanos, nowNanos / 1_000_000), lease));"),
                in(
                        "journal, nobody leads yet, 2",
                        "a reader that lost a part of the log waits for nobody",
                        "spi/journal/JournalSeat.java",
                        "earlier.add(new SeatClaim(UNSEEN, \"\", 0, unseenUntilNanos, false));",
                        ""));
    }

    /** In the first part of this beginning. */
    private static Arguments in(String part, String fault, String file, String text, String instead) {
        return Arguments.of(ExplorationRun.numberOf(part), new PlantedFaultsTest.Plant(fault, file, text, instead));
    }

    private static Arguments in(String part, String fault) {
        return Arguments.of(
                ExplorationRun.numberOf(part),
                PlantedFaultsTest.all()
                        .filter(plant -> plant.fault().equals(fault))
                        .findFirst()
                        .orElseThrow(() -> new IllegalArgumentException("no such fault: " + fault)));
    }

    @ParameterizedTest
    @MethodSource({"faults", "faultsOfRecords", "faultsOfJournals"})
    void aPlantedFaultIsFound(int number, PlantedFaultsTest.Plant plant) throws IOException {
        var began = ExplorationRun.cpuNanos();
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
                found[1].lines().filter(line -> !line.contains("before: ")).count() - 1,
                found[0],
                (ExplorationRun.cpuNanos() - began) / 1e9));
    }

    @AfterAll
    static void print() throws IOException {
        PlantedFaultsTest.print(
                "explored-faults.md", List.of("fault", "explored", "steps", "until then", "seconds of CPU"), TABLE);
    }
}
