package dev.bellwether.testkit;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What this process held at one time, to be compared with what it holds later: threads, open files, which sockets are
 * too, and heap.
 */
final class Footprint {
    /** By how many threads a pool may breathe; a leak is one per cycle. */
    private static final int THREADS = 2;
    /** How many files may be opened by the way, such as those of classes. */
    private static final long FILES = 16;
    /** By how much the heap may breathe after a collection. */
    private static final long BYTES = 16 * 1024 * 1024;

    /** In which column of the kernel's table of sockets their numbers stand, counted from 0. */
    private static final int INODE = 9;

    private static final Map<String, String> TCP_STATES = Map.of(
            "01",
            "established",
            "04",
            "finished by us",
            "05",
            "finished by us",
            "07",
            "closed",
            "08",
            "finished by the other",
            "0A",
            "listening");

    private final Map<String, Long> threads = threads();
    private final Map<String, Long> files = files();
    private final long bytes = bytes();

    private Footprint() {}

    static Footprint take() {
        return new Footprint();
    }

    /** Waits until nothing has grown, beyond what comes and goes: ends take a moment. */
    void requireSame(Duration patience) {
        requireSame(patience, FILES);
    }

    /** Waits like that, and lets no more than so many files be opened by the way. */
    void requireSame(Duration patience, long more) {
        require("no more threads than before", patience, () -> grown().isEmpty(), this::grown);
        var most = sum(files) + more;
        require(
                "no more than " + most + " open files",
                patience,
                () -> sum(files()) <= most,
                () -> grown(files, files(), 0));
        // each look is a full collection: a few are enough for what is freed late
        var now = bytes();
        for (var i = 0; i < 5 && now > bytes + BYTES; i++) {
            now = bytes();
        }
        if (now > bytes + BYTES) {
            throw new AssertionError(
                    "%,d bytes of heap after a collection, and before there were %,d".formatted(now, bytes));
        }
    }

    private static void require(
            String what, Duration patience, BooleanSupplier isSo, Supplier<Map<String, Long>> grown) {
        try {
            Eventually.eventually(what, patience, isSo);
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "; there are more of these: " + grown.get(), e);
        }
    }

    /** Returns how many threads of each name there are, numbers in names left aside. */
    private static Map<String, Long> threads() {
        var threads = ManagementFactory.getThreadMXBean();
        return Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
                .filter(Objects::nonNull)
                .collect(Collectors.groupingBy(
                        thread -> thread.getThreadName().replaceAll("[0-9]+", "#"), Collectors.counting()));
    }

    /** Pools that are nobody's in particular may grow by what the machine has; ours, and the client's, may not. */
    private Map<String, Long> grown() {
        var grown = grown(threads, threads(), THREADS);
        grown.keySet()
                .removeIf(name ->
                        name.startsWith("ForkJoinPool.commonPool") || name.startsWith("CompletableFutureDelay"));
        return grown;
    }

    private static Map<String, Long> grown(Map<String, Long> before, Map<String, Long> now, long more) {
        var grown = new TreeMap<String, Long>();
        now.forEach((name, count) -> {
            var growth = count - before.getOrDefault(name, 0L);
            if (growth > more) {
                grown.put(name, growth);
            }
        });
        return grown;
    }

    /**
     * Returns how many open files of each name there are, numbers left aside; sockets by their state and by the port
     * that they are connected to. Their count, if no names are told.
     */
    private static Map<String, Long> files() {
        try (var open = Files.list(Path.of("/proc/self/fd"))) {
            var sockets = sockets();
            return open.map(Footprint::target)
                    .map(name -> sockets.getOrDefault(name, name.replaceAll("[0-9]+", "#")))
                    .collect(Collectors.groupingBy(name -> name, Collectors.counting()));
        } catch (IOException e) {
            return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
                    ? Map.of("files", unix.getOpenFileDescriptorCount())
                    : Map.of();
        }
    }

    /** Returns the name of each TCP socket of this machine, by what a descriptor of it is called. */
    private static Map<String, String> sockets() throws IOException {
        var sockets = new HashMap<String, String>();
        for (var table : List.of("/proc/self/net/tcp", "/proc/self/net/tcp6")) {
            var path = Path.of(table); // the second is there with IPv6 only
            for (var line : Files.exists(path) ? Files.readAllLines(path) : List.<String>of()) {
                var columns = line.strip().split(" +", -1);
                if (columns.length > INODE && columns[0].endsWith(":")) {
                    var port = Integer.parseInt(columns[2].substring(columns[2].lastIndexOf(':') + 1), 16);
                    var state = TCP_STATES.getOrDefault(columns[3], columns[3]);
                    sockets.put("socket:[" + columns[INODE] + ']', "socket " + state + " to port " + port);
                }
            }
        }
        return sockets;
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            return "closed by now";
        }
    }

    private static long sum(Map<String, Long> counts) {
        return counts.values().stream().mapToLong(Long::longValue).sum();
    }

    private static long bytes() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    @Override
    public String toString() {
        return "%d threads, %d open files, %,d bytes of heap".formatted(sum(threads), sum(files), bytes);
    }
}
