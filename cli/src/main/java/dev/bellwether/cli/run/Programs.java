package dev.bellwether.cli.run;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Other programs of this machine. */
final class Programs {
    private Programs() {}

    /** Returns where a program is, as a shell would find it; a name with a slash is a path. */
    static Optional<Path> find(String name) {
        return candidates(name).stream().filter(Files::isExecutable).findFirst();
    }

    /** Returns whether there is such a file at all, for telling a missing program from one that may not be run. */
    static boolean exists(String name) {
        return candidates(name).stream().anyMatch(Files::isRegularFile);
    }

    /** Runs a program to its end; what it writes is dropped. */
    static void run(String... line) throws IOException, InterruptedException {
        var process = new ProcessBuilder(line)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        var code = process.waitFor();
        if (code != 0) {
            throw new IOException(line[0] + " failed with code " + code);
        }
    }

    /** Kills a process group, and waits until nobody in it is alive, at most a few seconds. */
    static void killGroup(String group) {
        try {
            run("bash", "-p", "-c", "kill -s KILL -- \"-$1\" || true", "kill", group);
            for (var i = 0; i < 200 && groupLives(group); i++) {
                TimeUnit.MILLISECONDS.sleep(10);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the signal has been sent
        }
    }

    /** Anybody who is dead and only waits to be collected does not count. */
    private static boolean groupLives(String group) throws IOException {
        try (var processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (var process : processes) {
                var fields = fieldsAfterName(process.resolve("stat"));
                if (fields.length > 2 && fields[2].equals(group) && !fields[0].equals("Z") && !fields[0].equals("X")) {
                    return true;
                }
            }
        }
        return false;
    }

    private static String[] fieldsAfterName(Path stat) {
        try {
            var text = Files.readString(stat, StandardCharsets.ISO_8859_1);
            return text.substring(text.lastIndexOf(')') + 2).split(" ", 4);
        } catch (IOException e) {
            return new String[0]; // it has gone
        }
    }

    private static List<Path> candidates(String name) {
        if (name.indexOf('/') >= 0) {
            return List.of(Path.of(name)).stream()
                    .filter(path -> !Files.isDirectory(path))
                    .toList();
        }
        var path = System.getenv("PATH");
        return List.of((path == null ? "/usr/local/bin:/usr/bin:/bin" : path).split(File.pathSeparator)).stream()
                .map(folder -> Path.of(folder.isEmpty() ? "." : folder, name))
                .filter(one -> !Files.isDirectory(one))
                .toList();
    }
}
