package dev.bellwether.cli;

import dev.bellwether.Mandate;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.Properties;

/**
 * A file that says until when its writer leads, for those who look at files: scripts and cron jobs on the same machine.
 *
 * <p>Time is told by the seconds since the machine was started, which no setting of a clock moves; where there is no such figure, by the
 * wall clock. Confined to whoever holds its lock.
 */
final class FreshFile {
    private static final Path UPTIME = Path.of("/proc/uptime");
    private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");

    private final Path file;

    FreshFile(Path file) {
        this.file = file;
    }

    /** Writes, in one step, that the mandate lasts as long as it does now; a reader sees the old file or the new one. */
    synchronized void write(Mandate mandate) throws IOException {
        var clock = clock(); // read before what remains: the end comes out early rather than late
        var remaining = mandate.remaining();
        if (remaining.isZero()) {
            remove();
            return;
        }
        var text = """
                election=%s
                candidate=%s
                token=%d
                written=%s
                clock=%s
                at_millis=%d
                until_millis=%d
                """.formatted(
                        escaped(mandate.election()),
                        escaped(mandate.candidate()),
                        mandate.token(),
                        Instant.now(),
                        clock.name,
                        clock.millis,
                        clock.millis + remaining.toMillis());
        var folder = file.toAbsolutePath().getParent();
        var beside = Files.createTempFile(folder, "." + file.getFileName(), ".new");
        try {
            Files.writeString(beside, text);
            Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(beside);
        }
    }

    synchronized void remove() throws IOException {
        Files.deleteIfExists(file);
    }

    /** Returns why nobody leads here by what the file says, or an empty text if somebody does. */
    String check() throws IOException {
        var said = new Properties();
        try (var reader = Files.newBufferedReader(file)) {
            said.load(reader);
        } catch (NoSuchFileException e) {
            return file + " does not exist";
        } catch (IllegalArgumentException e) {
            return file + " was not written by bellwether file";
        }
        var clock = clock();
        try {
            var at = Long.parseLong(said.getProperty("at_millis", ""));
            var until = Long.parseLong(said.getProperty("until_millis", ""));
            if (!clock.name.equals(said.getProperty("clock"))) {
                return file + " was written before this machine was started";
            }
            if (clock.millis < at) {
                return file + " was written in the future";
            }
            return clock.millis < until
                    ? ""
                    : file + " is too old: its writer led until " + (clock.millis - until) + "ms ago";
        } catch (NumberFormatException e) {
            return file + " was not written by bellwether file";
        }
    }

    private record Reading(String name, long millis) {}

    private static Reading clock() {
        try {
            var seconds = Files.readString(UPTIME).split(" ", 2)[0];
            return new Reading(Files.readString(BOOT).strip(), (long) (Double.parseDouble(seconds) * 1000));
        } catch (IOException | NumberFormatException e) {
            return new Reading("wall", System.currentTimeMillis());
        }
    }

    /** As {@link Properties} read it: UTF-8, with a backslash doubled. */
    private static String escaped(String text) {
        return text.replace("\\", "\\\\");
    }
}
