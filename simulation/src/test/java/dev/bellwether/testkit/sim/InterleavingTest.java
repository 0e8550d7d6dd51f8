package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.sim.InterleavingRun.Part;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What threads share without the loop, under all interleavings that Lincheck tries; and that it finds mistakes so. */
@Tag("specification")
class InterleavingTest {
    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource
    void noInterleavingBreaksWhatIsShared(Part part) {
        var found = new InterleavingRun().apply(number(part));
        System.out.println("interleaved: " + part + ", " + found[0]);
        assertThat(found).as(found[found.length - 1]).hasSize(1);
    }

    private static int number(Part part) {
        return List.of(Part.values()).indexOf(part);
    }

    static Stream<Arguments> mistakes() {
        return Stream.of(
                Arguments.of(
                        Part.MANDATE,
                        new PlantedFaultsTest.Plant(
                                "the validity read twice",
                                "internal/election/LocalMandate.java",
                                "return v != null && v.holds(clock);",
                                "return validity != null && validity.holds(clock);")),
                Arguments.of(
                        Part.CANDIDACY,
                        new PlantedFaultsTest.Plant(
                                "the snapshot read twice",
                                "internal/election/LoopCandidacy.java",
                                "var mandate = snapshot.mandate;\n        return mandate != null && mandate.isValid();",
                                "return snapshot.mandate != null && snapshot.mandate.isValid();")),
                Arguments.of(
                        Part.EXECUTOR,
                        new PlantedFaultsTest.Plant(
                                "an end that was found is told once more",
                                "internal/loop/SerialExecutor.java",
                                "if (running != piece) {",
                                "if (idle()) {")),
                Arguments.of(
                        Part.INTERRUPT,
                        new PlantedFaultsTest.Plant(
                                "a piece interrupted without its lock",
                                "internal/loop/SerialExecutor.java",
                                "private synchronized void interrupt() {\n            if (thread != null) {\n"
                                        + "                thread.interrupt();",
                                "private void interrupt() {\n            var t = thread;\n            if (t != null) {\n"
                                        + "                t.interrupt();")),
                Arguments.of(
                        Part.INBOX,
                        new PlantedFaultsTest.Plant(
                                "asleep before it says so",
                                "internal/loop/LoopThread.java",
                                "parked = true;\n        if (inbox.isEmpty() && nanos > 0 && !closed) {",
                                "if (inbox.isEmpty() && nanos > 0 && !closed) {\n            parked = true;")),
                Arguments.of(
                        Part.LIMITER,
                        new PlantedFaultsTest.Plant(
                                "room made without the lock",
                                "spi/RequestLimiter.java",
                                "synchronized (lines) {\n            underWay--;\n        }",
                                "underWay--;")));
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void aPlantedMistakeIsFound(Part part, PlantedFaultsTest.Plant plant) throws IOException {
        var found = PlantedFaultsTest.simulate(
                PlantedFaultsTest.compile(plant, directory), InterleavingRun.class, number(part));
        System.out.println(plant.fault() + ": " + String.join(": ", found).lines().limit(6).toList());
        assertThat(found)
                .as("\"%s\" was not found in %s", plant.fault(), found[0])
                .hasSize(2);
    }
}
