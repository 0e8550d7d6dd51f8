package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.sim.InterleavingRun.Part;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
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
        var began = System.nanoTime();
        assertThat(InterleavingRun.found(part)).isEmpty();
        System.out.printf(Locale.ROOT, "interleaved: %s, %.1f s%n", part, (System.nanoTime() - began) / 1e9);
    }

    static Stream<Arguments> mistakes() {
        return Stream.of(
                Arguments.of(
                        Part.MANDATE,
                        new PlantedFaultsTest.Plant(
                                "the validity read twice",
                                "internal/election/LocalMandate.java",
                                "} else if (v.holds(clock)) {",
                                "} else if (validity.get().holds(clock)) {")),
                Arguments.of(
                        Part.MANDATE,
                        new PlantedFaultsTest.Plant(
                                "over for who was held up, and valid again after that",
                                "internal/election/LocalMandate.java",
                                "validity.compareAndSet(v, null); // if",
                                "return false; // if")),
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
    void aPlantedMistakeIsFound(Part part, PlantedFaultsTest.Plant plant) throws IOException, InterruptedException {
        var began = System.nanoTime();
        var output = directory.resolve("output");
        var process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        PlantedFaultsTest.compile(plant, directory)
                                + File.pathSeparator
                                + System.getProperty("java.class.path"),
                        InterleavingRun.class.getName(),
                        part.name()))
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try { // the JVM has other codes where it or Lincheck fails
            assertThat(process.waitFor(2, TimeUnit.MINUTES))
                    .as("it came to an end")
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        var said = Files.readString(output);
        System.out.printf(
                Locale.ROOT,
                "%s: exit code %d, %.1f s%n",
                plant.fault(),
                process.exitValue(),
                (System.nanoTime() - began) / 1e9);
        assertThat(process.exitValue())
                .as("\"%s\" was not found: %s", plant.fault(), said)
                .isEqualTo(InterleavingRun.FOUND);
    }
}
