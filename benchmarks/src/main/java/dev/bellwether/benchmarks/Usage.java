package dev.bellwether.benchmarks;

import java.lang.management.ManagementFactory;
import java.time.Duration;

/** What this process takes, or another. Thread-safe: it holds nothing. */
public final class Usage {
    private Usage() {}

    /** Returns how many threads this process has. */
    public static int threads() {
        return ManagementFactory.getThreadMXBean().getThreadCount();
    }

    /** Returns how many bytes of this process's heap are in use, after a collection. */
    public static long heap() {
        for (var i = 0; i < 3; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** Returns for how many nanoseconds a process has had a processor. */
    public static long cpu(long pid) {
        return ProcessHandle.of(pid)
                .flatMap(process -> process.info().totalCpuDuration())
                .map(Duration::toNanos)
                .orElse(0L);
    }
}
