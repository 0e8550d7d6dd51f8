package dev.bellwether.benchmarks.outbox;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Seconds of processor time: what a process has used does not depend on what else the machine does. Linux only. */
final class ProcessorTime {
    private static final double TICKS = 100; // USER_HZ, which Linux shows to all

    private ProcessorTime() {}

    static double ofThisProcess() {
        return of(ProcessHandle.current(), false);
    }

    /** Returns that of a process and all its children, those included that have ended and were waited for. */
    static double ofTree(ProcessHandle root) {
        return Stream.concat(Stream.of(root), root.descendants())
                .mapToDouble(process -> of(process, true))
                .sum();
    }

    private static double of(ProcessHandle process, boolean withEndedChildren) {
        try {
            var stat = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
            // behind the name, which may hold anything: utime, stime, cutime and cstime are the 12th to 15th
            var fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            var ticks = Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
            if (withEndedChildren) {
                ticks += Long.parseLong(fields[13]) + Long.parseLong(fields[14]);
            }
            return ticks / TICKS;
        } catch (NoSuchFileException e) {
            return 0; // it has ended: its parent has the time now
        } catch (IOException e) {
            throw new UncheckedIOException("no processor time of process " + process.pid(), e);
        }
    }
}
