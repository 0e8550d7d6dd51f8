package dev.bellwether.testkit.servers;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Ports of tests that run beside each other. */
class PortsTest {
    @Test
    void anotherProcessIsNotGivenThePortThatWeWereGivenThoughNothingListensThere() throws Exception {
        var ours = Ports.free();
        assertThat(mayBeGivenToAnother(ours)).isFalse();
        assertThat(mayBeGivenToAnother(21_000)).as("nobody was given that").isTrue();
    }

    private static boolean mayBeGivenToAnother(int port) throws Exception {
        var process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Another.class.getName(),
                        String.valueOf(port)))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        return Boolean.parseBoolean(said.trim());
    }

    /** Takes the port that it is told. */
    static final class Another {
        private Another() {}

        public static void main(String... arguments) {
            System.out.println(Ports.isGuarded(Integer.parseInt(arguments[0])));
        }
    }
}
