package dev.bellwether.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command as a process of its own. */
public final class Commands {
    private Commands() {}

    public static List<String> java() {
        return new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx128m",
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                "dev.bellwether.cli.Main"));
    }

    /**
     * Returns the same, of a process that SIGINT ends: whoever runs the tests in the background of a script has it ignored, and so
     * would all that they start.
     */
    public static List<String> interruptible() {
        var line = new ArrayList<>(List.of("env", "--default-signal=INT"));
        line.addAll(java());
        return line;
    }

    /** Runs it with a pipe, {@code /dev/fd/3}, of which this can be read, once; returns its code. */
    public static int fed(String text, Path said, String... words) throws IOException, InterruptedException {
        var line = new ArrayList<>(List.of("bash", "-c", "exec \"$@\" 3< <(printf %s \"$0\")", text));
        line.addAll(java());
        line.addAll(List.of(words));
        return new ProcessBuilder(line)
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start()
                .waitFor();
    }

    public static String uri(Path folder) {
        return "jdbc:sqlite:" + folder.resolve("elections.db");
    }
}
