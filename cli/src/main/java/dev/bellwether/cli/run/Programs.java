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
    // of /proc/PID/stat, counted from after the name
    private static final int STATE = 0;
    private static final int GROUP = 2;
    private static final int THREADS = 17;

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

    /**
     * Returns whether a process has ended. One that nobody collects has, too, of which Java says that it is alive: a
     * child of ours, for example, that was there before us, as in {@code ./app & exec bellwether serve}.
     */
    static boolean hasEnded(ProcessHandle process) {
        return !process.isAlive() || isDead(fieldsAfterName(Path.of("/proc", Long.toString(process.pid()), "stat")));
    }

    /** Kills a process group, and waits until nobody in it is alive, at most a few seconds. */
    static void killGroup(String group) {
        try {
            killAtOnce(group);
            for (var i = 0; i < 200 && killAlive(group); i++) {
                TimeUnit.MILLISECONDS.sleep(10);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the signal has been sent
        }
    }

    private static void killAtOnce(String group) throws InterruptedException {
        try {
            run("bash", "-p", "-c", "kill -s KILL -- \"-$1\" || true", "kill", group);
        } catch (IOException | OutOfMemoryError e) {
            return; // there is no process or no thread for that: then one after the other is killed, which needs none
        }
    }

    /** Returns whether there were any. Anybody who is dead and only waits to be collected does not count. */
    private static boolean killAlive(String group) throws IOException {
        var any = false;
        try (var processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (var process : processes) {
                var fields = fieldsAfterName(process.resolve("stat"));
                if (fields.length > GROUP && fields[GROUP].equals(group) && !isDead(fields)) {
                    any = true;
                    ProcessHandle.of(Long.parseLong(String.valueOf(process.getFileName())))
                            .ifPresent(ProcessHandle::destroyForcibly);
                }
            }
        }
        return any;
    }

    /** A process whose first thread alone has ended has the state of a dead one, and works on. */
    private static boolean isDead(String[] fields) {
        return fields.length > THREADS
                && (fields[STATE].equals("Z") || fields[STATE].equals("X"))
                && Integer.parseInt(fields[THREADS]) <= 1;
    }

    /** Returns nothing if there is no such process, or no such file on this system. */
    private static String[] fieldsAfterName(Path stat) {
        try {
            var text = Files.readString(stat, StandardCharsets.ISO_8859_1);
            return text.substring(text.lastIndexOf(')') + 2).split(" ", THREADS + 2);
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
