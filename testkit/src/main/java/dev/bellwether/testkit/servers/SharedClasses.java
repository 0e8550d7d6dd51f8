package dev.bellwether.testkit.servers;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The classes of a program as a JVM has them in memory, in an archive that the next JVM maps. To read and verify them
 * takes half of the processor's time in the start of a broker.
 *
 * <p>While there is no archive, a program lists what it loads. Once it serves, a JVM of its own makes the archive of
 * that. Jars whose contents may change come last on the class path, and are not in the archive; nor are folders.
 *
 * <p>Only where {@code -Dbellwether.shared.classes} names a folder for archives. Thread-safe.
 */
final class SharedClasses {
    private static final String FOLDER = "bellwether.shared.classes";
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();
    private static final long MOST_SECONDS = 120;

    private static final AtomicInteger LISTS = new AtomicInteger();
    /** What this JVM has made, or tried to. */
    private static final Set<Path> MADE = ConcurrentHashMap.newKeySet();

    private final String main;
    private final String jars;
    private final String classPath;
    private final @Nullable Path archive;
    private @Nullable Path list;

    private SharedClasses(String main, String jars, String classPath, @Nullable Path archive) {
        this.main = main;
        this.jars = jars;
        this.classPath = classPath;
        this.archive = archive;
    }

    /** Returns those of the program that this class begins, with this class path. */
    static SharedClasses of(Class<?> main, String classPath) throws IOException {
        return of(main, classPath, System.getProperty(FOLDER, ""));
    }

    /** Returns them, with archives in this folder; with none, if its name is empty. */
    static SharedClasses of(Class<?> main, String classPath, String folder) throws IOException {
        if (folder.isEmpty()) {
            return new SharedClasses(main.getName(), "", classPath, null);
        }
        Files.createDirectories(Path.of(folder));
        var parts = Arrays.stream(classPath.split(File.pathSeparator, -1))
                .filter(part -> !part.isEmpty())
                .collect(Collectors.partitioningBy(part -> part.endsWith(".jar") && !part.contains("-SNAPSHOT")));
        var jars = String.join(File.pathSeparator, parts.get(true));
        var all = new ArrayList<>(parts.get(true));
        all.addAll(parts.get(false));
        var name = main.getSimpleName() + '-' + digest(System.getProperty("java.vm.version") + ' ' + jars);
        return new SharedClasses(
                main.getName(), jars, String.join(File.pathSeparator, all), Path.of(folder, name + ".jsa"));
    }

    /** Returns what {@code java} is told to run it. */
    synchronized List<String> options() {
        var options = new ArrayList<String>();
        if (archive != null && Files.exists(archive)) {
            options.add("-XX:SharedArchiveFile=" + archive);
        } else if (archive != null && !MADE.contains(archive)) {
            list = sibling(archive, "-" + ProcessHandle.current().pid() + '-' + LISTS.incrementAndGet() + ".list");
            options.add("-XX:DumpLoadedClassList=" + list);
        }
        options.addAll(List.of("-cp", classPath, main));
        return options;
    }

    /** Has an archive made of what it has loaded until now, if there is none. */
    synchronized void served() {
        if (archive == null || list == null) {
            return;
        }
        try {
            if (MADE.add(archive) && !Files.exists(archive)) {
                make(archive, list);
            }
            Files.deleteIfExists(list);
            list = null;
        } catch (IOException e) {
            throw new UncheckedIOException("no archive of classes at " + archive, e);
        }
    }

    /** In a JVM of its own, since one with folders on its class path makes none. */
    private void make(Path archive, Path list) throws IOException {
        var listed = Files.readString(list, StandardCharsets.UTF_8);
        Files.writeString(list, listed.substring(0, listed.lastIndexOf('\n') + 1)); // it may be writing a line
        var made = sibling(list, ".jsa");
        var process = new ProcessBuilder(
                        JAVA,
                        "-Xshare:dump",
                        "-XX:+UseSerialGC",
                        "-XX:SharedClassListFile=" + list,
                        "-XX:SharedArchiveFile=" + made,
                        "-cp",
                        jars)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            if (process.waitFor(MOST_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0) {
                Files.move(made, archive, StandardCopyOption.ATOMIC_MOVE);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            process.destroyForcibly();
        }
    }

    private static Path sibling(Path file, String ending) {
        var name = file.getFileName().toString();
        return file.resolveSibling(name.substring(0, name.lastIndexOf('.')) + ending);
    }

    private static String digest(String text) {
        try {
            var whole = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(whole, 0, 8);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("each JVM has SHA-256", e);
        }
    }
}
