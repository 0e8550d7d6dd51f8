package dev.bellwether.testkit.faults;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import dev.bellwether.testkit.servers.ProcessReaper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** One process of a contestant. Confined to the thread of the bench, but for what it says, which another hears. */
final class ContestantProcess {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final int MOST_SAID = 2_000;

    private final ContestantMain.Arguments arguments;
    private final Process process;
    private final Process undertaker;
    private final Path errors;
    private final TermFile terms;
    private final Thread hearing;
    private final List<String> faults = new CopyOnWriteArrayList<>();
    private volatile boolean standing;
    private volatile boolean closed;
    private boolean killed;

    ContestantProcess(ContestantMain.Arguments arguments, Map<String, String> environment, Consumer<String> notes) {
        this.arguments = arguments;
        var command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx96m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-D" + ContestantMain.PAUSE + '=' + ContestantMain.PAUSE_MICROS,
                "-cp",
                System.getProperty("java.class.path"),
                ContestantMain.class.getName()));
        command.addAll(arguments.line());
        errors = arguments.terms().resolveSibling(this + ".err");
        var builder = new ProcessBuilder(command).redirectError(errors.toFile());
        builder.environment().putAll(environment);
        try {
            terms = TermFile.open(arguments.terms());
            process = builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException("no process for " + this, e);
        }
        undertaker = ProcessReaper.watch(process.pid());
        hearing = new Thread(() -> hear(notes), "bellwether-hear-" + arguments.number());
        hearing.setDaemon(true);
        hearing.start();
    }

    private void hear(Consumer<String> notes) {
        try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                notes.accept(this + " says: " + line);
                standing |= line.equals("standing");
                closed |= line.equals("closed");
                if (line.startsWith("fault ")) {
                    faults.add(ofUs(line.substring(6)));
                }
            }
        } catch (IOException e) {
            standing = false; // it was killed
        }
    }

    private String ofUs(String what) {
        return what.startsWith(Never.MARK)
                ? Never.mark(this + ": " + what.substring(Never.MARK.length()))
                : this + ": " + what;
    }

    boolean isAlive() {
        return process.isAlive();
    }

    boolean isStanding() {
        return standing && isAlive();
    }

    void awaitStanding() {
        Eventually.eventually(this + " stands: see " + arguments.terms(), PATIENCE, () -> {
            if (!isAlive()) {
                throw new AssertionError(Never.mark(this + " has ended: " + end()));
            }
            return standing;
        });
    }

    long pid() {
        return process.pid();
    }

    void freeze() {
        ProcessReaper.signal("STOP", pid());
    }

    void thaw() {
        ProcessReaper.signal("CONT", pid());
    }

    void tell(String command) {
        try {
            process.getOutputStream().write((command + "\n").getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            // it is dead, which is found elsewhere
        }
    }

    /** Has it leave in order, without waiting for that. */
    void leave() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // it is dead, which is found elsewhere
        }
    }

    /** Has it leave, and interrupts the thread that closes it. */
    void leaveInterrupted() {
        tell(ContestantMain.INTERRUPTED);
        leave();
    }

    void awaitEnd() {
        try {
            if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                faults.add(this + " did not end within " + PATIENCE);
                kill();
            }
            hearing.join(PATIENCE.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (!killed && !closed) {
            faults.add(Never.mark(this + " ended by itself, " + end()));
        }
        undertaker.destroy();
        forget("/dev/shm/faketime_shm_" + pid());
        forget("/dev/shm/sem.faketime_sem_" + pid());
    }

    /** Returns how it ended, and the last that it said of that: the next try of a test deletes the file. */
    private String end() {
        try {
            var said = Files.readString(errors);
            return "with code " + process.exitValue() + ": " + said.substring(Math.max(0, said.length() - MOST_SAID));
        } catch (IOException e) {
            return "with code " + process.exitValue() + ": see " + errors;
        }
    }

    /** A process that is killed leaves behind what its fake clock had in memory. */
    private static void forget(String file) {
        try {
            Files.deleteIfExists(Path.of(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Kills it, by SIGKILL, and returns when it is dead. */
    void kill() {
        killed = true;
        process.destroyForcibly();
        awaitEnd();
    }

    /** Returns what it led so far. */
    List<ObservedTerm> terms() {
        var alive = isAlive(); // before: of a dead one, what is written is all
        return terms.since(0, arguments.candidate(), arguments.number()).stream()
                .map(term -> alive ? term : term.ended())
                .toList();
    }

    /** Returns what must not be. */
    List<String> faults() {
        return faults;
    }

    @Override
    public String toString() {
        return arguments.candidate() + "-" + arguments.number();
    }
}
