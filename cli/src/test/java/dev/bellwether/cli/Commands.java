package dev.bellwether.cli;

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

    public static String uri(Path folder) {
        return "jdbc:sqlite:" + folder.resolve("elections.db");
    }
}
