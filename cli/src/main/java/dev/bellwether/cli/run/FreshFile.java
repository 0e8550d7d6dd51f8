package dev.bellwether.cli.run;

import dev.bellwether.Mandate;
import dev.bellwether.cli.command.UsageException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Properties;
import java.util.Set;

/**
 * A file that says until when its writer leads, for those who look at files: scripts and cron jobs on the same machine.
 *
 * <p>Time is told by the seconds since the machine was started, which no setting of a clock moves; where there is no
 * such figure, by the wall clock. Confined to anybody who holds its lock.
 */
final class FreshFile {
    private static final Path UPTIME = Path.of("/proc/uptime");
    private static final Set<PosixFilePermission> READABLE = PosixFilePermissions.fromString("rw-r--r--");
    private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");

    private final Path file;
    private String written = ""; // what we wrote last; guarded by this
    private long freshUntilNanos = System.nanoTime(); // at the latest; guarded by this

    FreshFile(Path file) {
        this.file = file;
    }

    /**
     * Writes, in one step, that the mandate lasts as long as it does now, and no longer than so long: a reader sees the
     * old file or the new one.
     */
    synchronized void write(Mandate mandate, Duration longest) throws IOException {
        var clock = clock(); // read before what remains: the end comes out early rather than late
        var left = mandate.remaining();
        var remaining = left.compareTo(longest) < 0 ? left : longest;
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
        requireOursOrNothing(mandate.election());
        var folder = file.toAbsolutePath().getParent();
        var beside = Files.createTempFile(folder, "." + file.getFileName(), ".new", permissions());
        try {
            Files.writeString(beside, text);
            freshUntilNanos = System.nanoTime() + remaining.toNanos();
            Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            written = text; // where that fails, the old one is still there
        } finally {
            Files.deleteIfExists(beside);
        }
    }

    /** For all to read, less the umask: scripts of other users look at it, and it holds no secret. */
    private FileAttribute<?>[] permissions() {
        return file.getFileSystem().supportedFileAttributeViews().contains("posix")
                ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(READABLE)}
                : new FileAttribute<?>[0];
    }

    /** Removes it if it is what we wrote last, and nothing if it is not. */
    synchronized void remove() throws IOException {
        var ours = written;
        if (!ours.isEmpty() && ours.equals(text())) {
            Files.deleteIfExists(file);
        }
        written = "";
    }

    /**
     * Removes it, and if that fails, waits until it is too old: when this returns or throws, it tells nobody that we
     * lead.
     */
    void withdraw() throws IOException {
        try {
            remove();
        } catch (IOException | RuntimeException e) {
            Uninterrupted.sleepUntil(freshUntilNanos());
            throw e;
        }
    }

    private synchronized long freshUntilNanos() {
        return freshUntilNanos;
    }

    /** Removes what an earlier writer for this election has left behind and nobody keeps fresh. */
    synchronized void removeStale(String election) throws IOException {
        if (written.isEmpty() && Files.isRegularFile(file) && isOf(election) && !check().isEmpty()) {
            Files.deleteIfExists(file);
        }
    }

    /**
     * Refuses what is not ours to replace: anything but a file that was written for this election by a writer such as
     * this one.
     *
     * @throws UsageException if it is something else
     */
    void requireOursOrNothing(String election) throws IOException {
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS) || (Files.isRegularFile(file) && isOf(election))) {
            return;
        }
        throw new UsageException(file + " was not written by 'bellwether file' for \"" + election
                + "\", so it stays as it is: name another file, or remove this one yourself");
    }

    /** Returns whether it was written for this election. */
    boolean isOf(String election) throws IOException {
        var said = new Properties();
        try {
            said.load(new StringReader(text()));
        } catch (IllegalArgumentException e) {
            return false;
        }
        return election.equals(said.getProperty("election"))
                && said.getProperty("clock") != null
                && said.getProperty("until_millis") != null;
    }

    /** Returns what it holds: nothing if it is missing, or no text. */
    private String text() throws IOException {
        try {
            return Files.readString(file);
        } catch (NoSuchFileException | CharacterCodingException e) {
            return "";
        } catch (IOException e) {
            throw unreadable(e, "it may be anybody's, so it stays as it is");
        }
    }

    /**
     * Returns why nobody leads here by what the file says, or an empty text if somebody does.
     *
     * @throws IOException if it cannot be read; the message says so
     */
    String check() throws IOException {
        var said = new Properties();
        try (var reader = Files.newBufferedReader(file)) {
            said.load(reader);
        } catch (NoSuchFileException e) {
            return file + " does not exist";
        } catch (IllegalArgumentException | CharacterCodingException e) {
            return file + " was not written by bellwether file";
        } catch (IOException e) {
            throw unreadable(e, "whether anybody leads is not known");
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

    /** What the system says of a refusal is no more than the name of the file. */
    private IOException unreadable(IOException e, String consequence) {
        var why = e instanceof AccessDeniedException ? "this user may not" : String.valueOf(e.getMessage());
        return new IOException(file + " cannot be read: " + why + "; " + consequence, e);
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
