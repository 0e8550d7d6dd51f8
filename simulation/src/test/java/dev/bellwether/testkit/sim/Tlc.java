package dev.bellwether.testkit.sim;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * TLC, the model checker of TLA+, in a process of its own: it keeps what it knows in static fields. Runs what lies in
 * {@code docs/spec}, with the bounds of the {@code .cfg} beside it, or others.
 */
final class Tlc {
    private static final Path SPECIFICATIONS = Path.of(System.getProperty("bellwether.spec", "../docs/spec"));
    private static final Pattern STATES =
            Pattern.compile("(\\d+) states generated, (\\d+) distinct states found, (\\d+) states left");
    private static final Pattern DEPTH = Pattern.compile("depth of the complete state graph search is (\\d+)");
    private static final Pattern VIOLATED = Pattern.compile("Invariant (\\w+) is violated");
    private static final boolean LARGE = Boolean.getBoolean("bellwether.spec.large");
    private static final long MINUTES = Long.getLong("bellwether.spec.minutes", 10);

    /**
     * What it said.
     *
     * @param violated the invariant that does not hold, or "Deadlock"; empty if there was no error
     * @param distinct how many different states it has seen
     * @param depth how many steps the longest of the shortest ways to them has
     */
    record Outcome(Optional<String> violated, long distinct, long depth, double seconds, String output) {}

    private final Path directory;

    /** Uses a directory for its files. */
    Tlc(Path directory) throws IOException {
        this.directory = directory;
        try (var files = Files.list(SPECIFICATIONS)) {
            for (var file :
                    files.filter(each -> each.toString().endsWith(".tla")).toList()) {
                Files.copy(file, directory.resolve(file.getFileName()));
            }
        }
    }

    /** Adds a module. */
    void add(String module, String text) throws IOException {
        Files.writeString(directory.resolve(module + ".tla"), "---- MODULE " + module + " ----\n" + text + "\n====\n");
    }

    /** Checks a module by its settings, but for these. */
    Outcome check(String module, Map<String, String> settings) throws IOException {
        var config = Files.readString(SPECIFICATIONS.resolve(module + ".cfg"));
        for (var setting : settings.entrySet()) {
            var line = Pattern.compile("(?m)^( *)" + setting.getKey() + "( = | ).*$")
                    .matcher(config);
            if (!line.find()) {
                throw new IllegalArgumentException(module + ".cfg has no " + setting.getKey());
            }
            config = line.replaceFirst("$1" + setting.getKey() + "$2" + Matcher.quoteReplacement(setting.getValue()));
        }
        Files.writeString(directory.resolve(module + ".cfg"), config);
        var began = System.nanoTime();
        var output = run(module);
        var seconds = (System.nanoTime() - began) / 1e9;
        var states = STATES.matcher(output);
        var distinct = -1L;
        while (states.find()) {
            distinct = Long.parseLong(states.group(2));
        }
        var depth = DEPTH.matcher(output);
        var violated = VIOLATED.matcher(output);
        Optional<String> wrong = violated.find()
                ? Optional.of(violated.group(1))
                : output.contains("Deadlock reached") ? Optional.of("Deadlock") : Optional.empty();
        if (wrong.isEmpty() && !output.contains("Model checking completed. No error has been found.")) {
            throw new IllegalStateException("TLC did not come to an end with " + module + " and " + settings + ":\n"
                    + output.substring(0, Math.min(output.length(), 20_000)));
        }
        return new Outcome(wrong, distinct, depth.find() ? Long.parseLong(depth.group(1)) : -1, seconds, output);
    }

    private String run(String module) throws IOException {
        var output = directory.resolve("output");
        var process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx" + System.getProperty("bellwether.spec.heap", "1g"),
                        "-XX:+UseSerialGC",
                        LARGE ? "-XX:+TieredCompilation" : "-XX:TieredStopAtLevel=1", // most end before it pays off
                        // where it unpacks the modules of the language, which it deletes at its end: to each its own
                        "-Djava.io.tmpdir=" + Files.createDirectories(directory.resolve("unpacked")),
                        "-cp",
                        jar().toString(),
                        "tlc2.TLC",
                        "-workers",
                        "1",
                        "-metadir",
                        directory.resolve("states").toString(),
                        "-config",
                        module + ".cfg",
                        module))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            if (!process.waitFor(MINUTES, TimeUnit.MINUTES)) {
                process.destroyForcibly();
                throw new IllegalStateException(String.format(
                        Locale.ROOT,
                        "TLC was still at %s after %d minutes:%n%s",
                        module,
                        MINUTES,
                        Files.readString(output)));
            }
            return Files.readString(output);
        } catch (InterruptedException e) {
            process.destroyForcibly();
            throw new IllegalStateException("interrupted", e);
        }
    }

    private static Path jar() {
        try {
            return Path.of(Class.forName("tlc2.TLC")
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
        } catch (ClassNotFoundException | URISyntaxException e) {
            throw new UncheckedIOException(new IOException("TLC is not on the class path", e));
        }
    }
}
