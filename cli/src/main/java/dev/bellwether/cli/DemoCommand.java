package dev.bellwether.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code bellwether demo} */
@Command(
        name = "demo",
        header = "Watch an election survive its leader, on this machine, with nothing set up.",
        descriptionHeading = "%n",
        description =
                "Three candidates, each a process of its own, stand for one seat in an SQLite file. Whoever leads is made to"
                        + " resign, or killed with SIGKILL, in turn; another takes over, with a higher token. Nothing is left running,"
                        + " and nothing is left behind.",
        synopsisHeading = "%nUsage: ",
        optionListHeading = "%nOptions:%n",
        sortOptions = false,
        footerHeading = "%nExamples:%n",
        footer = {"  bellwether demo", "  bellwether demo --for 20s --lease 1s"})
final class DemoCommand implements Callable<Integer> {
    static final String ELECTION = "demo";
    private static final List<String> NAMES = List.of("ann", "bob", "cyd");
    private static final Duration TERM = Duration.ofSeconds(3);

    private final Surroundings around;
    private final List<Process> processes = new ArrayList<>(); // guarded by this
    private final BlockingQueue<Told> told = new LinkedBlockingQueue<>();
    private final long began = System.nanoTime();
    private volatile boolean over;

    @Option(names = "--for", paramLabel = "TIME", description = "Stop after this time. Default: at Ctrl-C.")
    private Optional<Duration> time = Optional.empty();

    @Option(
            names = "--lease",
            paramLabel = "TIME",
            defaultValue = "2s",
            description = "How long the seat stays taken after a crash. Default: 2s.")
    private Duration lease = Duration.ofSeconds(2);

    /** A line that a candidate told. */
    private record Told(String candidate, Process process, List<String> words) {
        private String word(int index) {
            return index < words.size() ? words.get(index) : "";
        }

        /** When it happened, on the clock that all processes of a machine share. */
        private long nanos() {
            return Long.parseLong(word(1));
        }
    }

    DemoCommand(Surroundings around) {
        this.around = around;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        var folder = Files.createTempDirectory("bellwether-demo-");
        var uri = "jdbc:sqlite:" + folder.resolve("elections.db");
        var hook = new Thread(() -> leaveNothing(folder), "bellwether-demo-end");
        Runtime.getRuntime().addShutdownHook(hook);
        try {
            say("Three candidates stand for the election \"" + ELECTION + "\", each a process of its own.");
            say(paint().faint(
                            "Lease " + Durations.show(lease) + ". Ctrl-C ends it. To look on from another terminal:"));
            say(paint().faint("  bellwether watch --on " + uri));
            for (var name : NAMES) {
                start(name, uri);
            }
            play(uri);
        } finally {
            leaveNothing(folder);
        }
        return ExitCode.OK;
    }

    /** Tells what the candidates tell, and gives the leader a push when it has led for a while. */
    private void play(String uri) throws IOException, InterruptedException {
        var end = began + time.orElse(Duration.ofDays(36_500)).toNanos();
        var pushAt = end;
        var killNext = false;
        Told leading = null;
        var vacantSince = Optional.<Long>empty();
        while (true) {
            var next = told.poll(Math.min(pushAt, end) - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (System.nanoTime() - end >= 0) {
                return;
            }
            if (next != null && next.word(0).equals("leads")) {
                var vacancy = vacantSince
                        .map(since -> paint().faint("; vacant for ") + (next.nanos() - since) / 1_000_000 + " ms")
                        .orElse("");
                say(paint().good(next.candidate() + " leads") + ", token " + next.word(2) + vacancy);
                leading = next;
                pushAt = System.nanoTime() + TERM.toNanos();
            } else if (next != null && next.word(0).equals("left")) {
                if (leading != null && leading.process().equals(next.process())) {
                    say(next.candidate() + " leads no more" + paint().faint(", " + next.word(2)));
                    leading = null;
                    pushAt = end;
                }
                vacantSince = Optional.of(next.nanos());
            } else if (next != null) {
                tellOther(next);
            } else if (leading != null) {
                var process = leading.process();
                if (killNext) {
                    say(paint().bad("kill -9 " + process.pid()) + paint().faint(": its lease has to run out first"));
                    vacantSince = Optional.of(System.nanoTime());
                    process.destroyForcibly();
                } else {
                    say("asking " + leading.candidate() + " to resign" + paint().faint(": it hands over in order"));
                    try (var in = process.getOutputStream()) {
                        in.write('\n');
                    }
                }
                start(leading.candidate(), uri); // back again, to stand by
                killNext = !killNext;
                leading = null;
                pushAt = end;
            }
        }
    }

    private void tellOther(Told next) {
        switch (next.word(0)) {
            case "standing" ->
                say(paint().faint(next.candidate() + " stands, process "
                        + next.process().pid()));
            case "failed" ->
                throw new IllegalStateException(
                        "candidate " + next.candidate() + " failed: " + String.join(" ", next.words()));
            default -> {}
        }
    }

    /** Starts a candidate. Its standard input is a pipe from us, which ends when we do, however we end; then it ends, too. */
    private void start(String name, String uri) throws IOException {
        var line = new ArrayList<>(ownCommand());
        line.addAll(List.of("demo-candidate", "--id", name, "--lease", lease.toMillis() + "ms", "--on", uri));
        var process = new ProcessBuilder(line)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        remember(process);
        var reader = new Thread(
                () -> {
                    try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
                        for (var text = lines.readLine(); text != null; text = lines.readLine()) {
                            told.add(new Told(name, process, List.of(text.split(" ", -1))));
                        }
                    } catch (IOException e) {
                        if (!over) {
                            told.add(new Told(name, process, List.of("failed", String.valueOf(e.getMessage()))));
                        }
                    }
                },
                "bellwether-demo-" + name);
        reader.setDaemon(true);
        reader.start();
    }

    /** Returns how this process was started, for another of the same. */
    private static List<String> ownCommand() {
        var line = new ArrayList<String>();
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (var option :
                java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (option.startsWith("-XX:") || option.startsWith("-Xshare") || option.startsWith("-Xlog")) {
                line.add(option);
            }
        }
        line.addAll(List.of("-Xmx64m", "-cp", System.getProperty("java.class.path"), Main.class.getName()));
        return line;
    }

    private synchronized void remember(Process process) {
        processes.removeIf(one -> !one.isAlive());
        processes.add(process);
        if (over) {
            process.destroyForcibly();
        }
    }

    private synchronized void leaveNothing(Path folder) {
        over = true;
        processes.forEach(Process::destroyForcibly);
        try {
            for (var process : processes) {
                process.waitFor();
            }
            if (Files.exists(folder)) {
                try (var files = Files.list(folder)) {
                    for (var file : files.toList()) {
                        Files.deleteIfExists(file);
                    }
                }
                Files.deleteIfExists(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Paint paint() {
        return new Paint(around.colours());
    }

    private void say(String text) {
        var millis = (System.nanoTime() - began) / 1_000_000;
        around.out().println(paint().faint("%3d.%03d  ".formatted(millis / 1000, millis % 1000)) + text);
    }
}
