package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.RosterMode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A seed is the same world in another process. Collections that cannot be changed have their elements in an order that
 * each process draws, and sets of objects that do not say what makes two equal in an order of hashes that the JVM draws: the
 * same in each new process, others in each that has drawn before. One such order that matters makes two worlds of a seed.
 */
class SameWorldTest {
    private static final int WORLDS = 30;

    /** Prints what became of each world, after so many hashes that the JVM drew. */
    public static void main(String[] arguments) {
        for (var i = 0; i < Integer.parseInt(arguments[0]); i++) {
            System.identityHashCode(new Object());
        }
        for (var seed = 1; seed <= WORLDS; seed++) {
            for (var mode : RosterMode.values()) {
                var world = new RosterWorld(seed, mode, true);
                world.run();
                System.out.println(mode + " " + seed + ' ' + world.agenda().entered() + ' ' + end(world.trace()));
            }
            print("candidacies", seed, Chaos.simulation());
            print("sessions", seed, Chaos.overSessions());
        }
    }

    private static void print(String what, int seed, Simulation simulation) {
        var world = new World(seed, simulation, true);
        world.run();
        System.out.println(what + ' ' + seed + ' ' + world.agenda().entered() + ' ' + end(world.trace()));
    }

    /** But for nonces: two processes never have the same. */
    private static String end(Trace trace) {
        var lines = trace.lines().stream()
                .map(line -> line.replaceAll("nonce=[^&]*", ""))
                .toList();
        return lines.hashCode() + " " + lines.get(lines.size() - 1);
    }

    @Test
    void aSeedIsTheSameWorldInAnotherProcess() throws IOException, InterruptedException {
        var first = inAProcess(0);
        assertThat(first).hasSize(WORLDS * (RosterMode.values().length + 2));
        for (var i = 1; i <= 2; i++) {
            assertThat(inAProcess(i)).isEqualTo(first);
        }
    }

    private static List<String> inAProcess(int drawn) throws IOException, InterruptedException {
        var process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1", // so few worlds do not pay for what a better compiler costs
                        "-cp",
                        System.getProperty("java.class.path"),
                        SameWorldTest.class.getName(),
                        Integer.toString(drawn))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (var output = process.inputReader(StandardCharsets.UTF_8)) {
            var lines = output.lines().toList();
            assertThat(process.waitFor()).isZero();
            return lines;
        } finally {
            process.destroyForcibly();
        }
    }
}
