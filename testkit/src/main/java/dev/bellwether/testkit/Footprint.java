package dev.bellwether.testkit;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
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

    private final Map<String, Long> threads = threads();
    private final long files = files();
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
        Eventually.eventually("no more threads than before", patience, () -> grown().isEmpty());
        Eventually.eventually(
                "no more than " + (files + more) + " open files", patience, () -> files() <= files + more);
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
        var grown = new TreeMap<String, Long>();
        threads().forEach((name, count) -> {
            var ofTheJdk = name.startsWith("ForkJoinPool.commonPool") || name.startsWith("CompletableFutureDelay");
            if (!ofTheJdk && count > threads.getOrDefault(name, 0L) + THREADS) {
                grown.put(name, count - threads.getOrDefault(name, 0L));
            }
        });
        return grown;
    }

    /** Zero where the system does not tell. */
    private static long files() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
                ? unix.getOpenFileDescriptorCount()
                : 0;
    }

    private static long bytes() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    @Override
    public String toString() {
        return "%d threads, %d open files, %,d bytes of heap"
                .formatted(threads.values().stream().mapToLong(Long::longValue).sum(), files, bytes);
    }
}
