package dev.bellwether.testkit.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * The wall clock of a process that was started with it, and of its children: what a file says. Its monotonic clock is
 * left alone.
 */
public final class SteppedClock {
    private SteppedClock() {}

    /**
     * Returns the environment in which a server has the wall clock that the file sets: all its processes notice at
     * once, since on one machine they have one clock.
     */
    public static Map<String, String> environmentOfServer(Path file, String libfaketime) {
        var environment = new HashMap<>(environment(file, libfaketime));
        environment.remove("FAKETIME_CACHE_DURATION");
        environment.put("FAKETIME_NO_CACHE", "1");
        return environment;
    }

    /** Returns the environment in which a process has the wall clock that the file sets. */
    public static Map<String, String> environment(Path file, String libfaketime) {
        return Map.of(
                "LD_PRELOAD",
                libfaketime,
                "FAKETIME_TIMESTAMP_FILE",
                file.toAbsolutePath().toString(),
                "FAKETIME_CACHE_DURATION",
                "1",
                "DONT_FAKE_MONOTONIC",
                "1",
                "FAKETIME_FORCE_MONOTONIC_FIX",
                "0");
    }

    /** Sets it ahead of that of the machine, or back. The process notices within a second. */
    public static void set(Path file, Duration ahead) {
        try {
            var next = Files.writeString(
                    file.resolveSibling(file.getFileName() + ".next"), "%+d%n".formatted(ahead.toSeconds()));
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
