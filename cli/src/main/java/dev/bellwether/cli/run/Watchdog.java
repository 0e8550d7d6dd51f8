package dev.bellwether.cli.run;

import dev.bellwether.ElectionException;
import dev.bellwether.Mandate;
import dev.bellwether.cli.command.ExitCode;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The watchdog around a command, seen from {@code bellwether run}: started with a first deadline, told of every later
 * one.
 *
 * <p>Thread-safe. The watchdog itself is {@code keeper.bash}, a process of its own, which ends the command when it
 * hears nothing. Should it be the watchdog that is gone or stuck, this side kills the command: each watches the other.
 * So nobody but the feeder ever writes to the watchdog: one that is frozen reads nothing, and who writes when its FIFO
 * is full waits forever.
 */
final class Watchdog {
    private static final Path UPTIME = Path.of("/proc/uptime");
    private static final int NEAR_THE_END = 20; // so many times as often
    private static final Duration TOKEN_AGE = Duration.ofHours(1);
    private static final Map<String, String> PACKAGES =
            Map.of("bash", "bash", "setsid", "util-linux", "mkfifo", "coreutils");

    private final Job job;
    private final Path folder;
    private final Path uptime;
    private final FileChannel orders;
    private final RandomAccessFile report; // held open: what tidies up /tmp removes the file of a long run
    private final BlockingQueue<String> due = new LinkedBlockingQueue<>(); // for the feeder
    private final Process process;
    private final CompletableFuture<Ended> ended;
    private volatile Mandate mandate;
    private volatile boolean over;
    private volatile @Nullable Throwable trouble; // why we could not tell the watchdog of a deadline
    private volatile boolean steppedIn; // we killed the command, because the watchdog was too slow or stuck
    private long toldMillis; // until when the watchdog thinks that we lead; confined to the feeder
    private long losses; // that the watchdog was told of; confined to the thread that tells

    /**
     * How the command ended.
     *
     * @param code as a shell would have it: 128 and the signal's number if one ended it
     * @param why see {@code keeper.bash}; {@code broken} if that itself was killed
     */
    record Ended(int code, String why) {}

    /**
     * What to run, and how.
     *
     * @param environment of the command, on top of our own
     * @param grace from SIGTERM to SIGKILL
     * @param margin from SIGKILL to the end of the lease
     * @param tell the signals for a command that stays; empty for one that is ended
     */
    record Job(
            List<String> command,
            Map<String, String> environment,
            Duration grace,
            Duration margin,
            Optional<Signals> tell) {}

    /** Names of signals, without SIG. */
    record Signals(String won, String lost) {}

    private Watchdog(
            Job job,
            Path folder,
            Path uptime,
            FileChannel orders,
            RandomAccessFile report,
            Process process,
            Mandate mandate) {
        this.job = job;
        this.folder = folder;
        this.uptime = uptime;
        this.orders = orders;
        this.report = report;
        this.process = process;
        this.mandate = mandate;
        ended = process.onExit().thenApply(exited -> collect());
    }

    /** Refuses to begin where it could not work. */
    static void check() {
        if (!Files.isReadable(UPTIME)) {
            throw new ElectionException(
                    "run needs Linux: here is no " + UPTIME + ", by which its watchdog tells the time");
        }
        PACKAGES.forEach((tool, from) -> {
            if (Programs.find(tool).isEmpty()) {
                throw new ElectionException(
                        "run needs " + tool + " for its watchdog: install " + from + ", or put it on the PATH");
            }
        });
    }

    /**
     * Starts the watchdog, which starts the command when it has heard the first deadline, and tells it later ones at
     * this interval.
     */
    static Watchdog start(Job job, Mandate mandate, Duration interval) throws IOException, InterruptedException {
        return start(job, mandate, interval, UPTIME);
    }

    /** The same, with the time from this file. */
    static Watchdog start(Job job, Mandate mandate, Duration interval, Path uptime)
            throws IOException, InterruptedException {
        var folder = Files.createTempDirectory("bellwether-run-");
        FileChannel orders = null;
        RandomAccessFile report = null;
        Process process = null;
        try {
            var script = folder.resolve("keeper.bash");
            try (var source = Watchdog.class.getResourceAsStream("keeper.bash")) {
                if (source == null) {
                    throw new IOException("keeper.bash is missing from the class path");
                }
                Files.copy(source, script);
            }
            var fifo = folder.resolve("orders");
            Programs.run("mkfifo", "-m", "600", fifo.toString());
            // For both, since opening a FIFO for writing alone would wait for a reader.
            orders = FileChannel.open(fifo, StandardOpenOption.READ, StandardOpenOption.WRITE);
            report = new RandomAccessFile(
                    Files.createFile(folder.resolve("report")).toFile(), "r");
            writeToken(job, folder, mandate);
            process = builder(job, script, folder).start();
            var keeper = new Watchdog(job, folder, uptime, orders, report, process, mandate);
            var feeder = new Thread(() -> keeper.feed(interval), "bellwether-keeper");
            feeder.setDaemon(true);
            feeder.start();
            return keeper;
        } catch (Throwable e) { // no thread is left, for example
            if (process != null) {
                process.destroyForcibly(); // it has heard of no deadline, and so has started nothing
            }
            sweep(folder, orders, report);
            throw e;
        }
    }

    private static ProcessBuilder builder(Job job, Path script, Path folder) {
        var line = new ArrayList<>(List.of(
                "setsid",
                "bash",
                "-p", // no BASH_ENV, no functions from the environment
                script.toString(),
                folder.toString(),
                Long.toString(job.grace().toMillis()),
                Programs.find("setpriv").isPresent() ? "yes" : "no",
                job.tell().map(Signals::won).orElse(""),
                job.tell().map(Signals::lost).orElse(""),
                "--"));
        line.addAll(job.command());
        var builder = new ProcessBuilder(line).inheritIO();
        restoreLocale(builder.environment());
        builder.environment().putAll(job.environment());
        job.tell()
                .ifPresent(signals -> builder.environment()
                        .put("BELLWETHER_TOKEN_FILE", folder.resolve("token").toString()));
        return builder;
    }

    /** The launcher has us read arguments as UTF-8, and tells what LC_ALL was: "=" and the value, or nothing. */
    private static void restoreLocale(Map<String, String> environment) {
        var was = System.getProperty("bellwether.lcAll");
        if (was != null) {
            environment.remove("LC_ALL");
            if (!was.isEmpty()) {
                environment.put("LC_ALL", was.substring(1));
            }
        }
    }

    /** Returns how the command ended, once nothing of its process group is alive any more. */
    CompletableFuture<Ended> ended() {
        return ended;
    }

    /**
     * Ends the command: SIGTERM, and SIGKILL when the grace is over. Returns at once; what it returns waits until the
     * command has ended.
     */
    Runnable down() {
        return end("down", job.grace().plus(job.margin().dividedBy(2)));
    }

    /** Kills the command. Returns at once; what it returns waits until the command has ended. */
    Runnable kill() {
        return end("kill", job.margin().dividedBy(2));
    }

    private Runnable end(String order, Duration patience) {
        var deadline = System.nanoTime() + patience.toNanos();
        tell(order);
        return () -> awaitEnd(deadline);
    }

    /**
     * Tells a command that stays that we lead no more. Returns when it has been told, or is dead: if the watchdog does
     * not tell it within half of the margin, the command is killed, and this is false.
     */
    boolean lost() {
        losses++;
        tell("lost");
        var deadline = System.nanoTime() + job.margin().dividedBy(2).toNanos();
        if (Uninterrupted.await(() -> ended.isDone() || lossesTold() >= losses, deadline)) {
            return true;
        }
        awaitEnd(deadline);
        return false;
    }

    private long lossesTold() {
        return report().stream().filter("lost"::equals).count();
    }

    /**
     * Tells a command that stays that we lead again.
     *
     * @throws IOException if its token cannot be written: it has been told nothing
     */
    void won(Mandate next) throws IOException {
        writeToken(job, folder, next);
        mandate = next;
        tell("won");
    }

    /** The watchdog keeps the time; we only step in if it does not. */
    private void awaitEnd(long deadline) {
        var interrupted = false;
        var stepped = false;
        while (!ended.isDone()) {
            try {
                var left = Math.max(deadline - System.nanoTime(), 1);
                if (!process.waitFor(stepped ? Long.MAX_VALUE : left, TimeUnit.NANOSECONDS)) {
                    stepped = true;
                    steppedIn = true;
                    killGroup();
                    process.destroyForcibly();
                } else {
                    ended.join();
                }
            } catch (InterruptedException e) {
                interrupted = true; // half of the time is over, says core: the command still has the other half
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Has the feeder write an order. Returns at once. */
    private void tell(String order) {
        due.add(order);
    }

    private void feed(Duration interval) {
        try {
            var leads = true;
            while (!over) {
                if (leads) {
                    extend();
                }
                keepToken();
                var order = due.poll((leads ? pause(interval) : interval).toNanos(), TimeUnit.NANOSECONDS);
                if (order != null) {
                    leads = order.equals("won");
                    if (leads) {
                        extend(); // first, since it is this mandate that was won
                    }
                    write(order);
                }
            }
        } catch (ClosedChannelException e) {
            over = true; // since the watchdog has ended
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody does
        } catch (Throwable e) { // no memory, too: a command that stays would be told that we lost, while we lead on
            leave(e);
        }
    }

    /** While little is left, a renewal must be told at once: the watchdog acts on what it knows. */
    private Duration pause(Duration interval) throws IOException {
        var left = toldMillis - uptimeMillis();
        return left < 2 * interval.toMillis() ? interval.dividedBy(NEAR_THE_END) : interval;
    }

    /** Has the watchdog end the command, as if we were dead: we cannot tell it until when we lead. */
    private void leave(Throwable why) {
        trouble = why;
        over = true;
        try {
            orders.close();
        } catch (IOException e) {
            why.addSuppressed(e); // it hears of no deadline, and so ends the command when the mandate is over
        }
    }

    /**
     * Tells the watchdog how long the mandate lasts. Its clock is read before the mandate is asked: if we are held up
     * between the two, the deadline comes out early, not late.
     */
    private void extend() throws IOException {
        var now = uptimeMillis();
        var left = mandate.remaining().toMillis();
        if (left > 0 && now + left > toldMillis) {
            toldMillis = now + left;
            write("until " + toldMillis);
        }
    }

    /** Waits while the FIFO is full, until it is closed. */
    private void write(String order) throws IOException {
        orders.write(ByteBuffer.wrap(
                (order + "\n").getBytes(StandardCharsets.US_ASCII))); // short: written whole or not at all
    }

    private static void writeToken(Job job, Path folder, Mandate mandate) throws IOException {
        if (job.tell().isEmpty()) {
            return;
        }
        var fresh = folder.resolve("token.new");
        Files.writeString(fresh, mandate.token() + "\n");
        Files.move(fresh, folder.resolve("token"), StandardCopyOption.ATOMIC_MOVE);
    }

    /** What tidies up /tmp takes away what nobody has used for some days, and a command may stay for longer. */
    private void keepToken() {
        if (job.tell().isEmpty()) {
            return;
        }
        var token = folder.resolve("token");
        try {
            var now = Instant.now();
            var view = Files.getFileAttributeView(token, BasicFileAttributeView.class);
            if (view.readAttributes().lastModifiedTime().toInstant().isBefore(now.minus(TOKEN_AGE))) {
                view.setTimes(FileTime.from(now), FileTime.from(now), null);
            }
        } catch (IOException e) {
            return; // it has gone: who writes the next is told
        }
    }

    private long uptimeMillis() throws IOException {
        var text = Files.readString(uptime);
        return Long.parseLong(text.substring(0, text.indexOf(' ')).replace(".", "")) * 10;
    }

    /** The watchdog has exited: learn how the command ended, and make sure that it did. */
    private Ended collect() {
        over = true;
        var result = new Ended(ExitCode.RUN_FAILED, "broken");
        for (var line : report()) {
            if (line.startsWith("ended ")) {
                var words = line.split(" ", -1);
                result = new Ended(Integer.parseInt(words[1]), words[2]);
            }
        }
        if (result.why().equals("broken")) {
            killGroup();
            if (steppedIn) {
                result = new Ended(ExitCode.RUN_FAILED, "ordered"); // by us, as the watchdog should have
            }
        }
        sweep(folder, orders, report);
        var why = trouble;
        return why == null ? result : new Ended(ExitCode.RUN_FAILED, "it could not be told until when we lead: " + why);
    }

    private List<String> report() {
        try {
            synchronized (report) {
                var bytes = new byte[(int) report.length()];
                report.seek(0);
                report.readFully(bytes);
                return new String(bytes, StandardCharsets.US_ASCII).lines().toList();
            }
        } catch (IOException e) {
            return List.of(); // it has been collected
        }
    }

    /** Kills the command's process group without the watchdog, and waits until nothing of it is left. */
    private void killGroup() {
        for (var line : report()) {
            if (line.startsWith("started ")) {
                Programs.killGroup(line.substring("started ".length()));
            }
        }
    }

    private static void sweep(Path folder, @Nullable FileChannel orders, @Nullable RandomAccessFile report) {
        try (report) {
            if (orders != null) {
                orders.close();
            }
            for (var name : List.of("keeper.bash", "orders", "report", "token", "token.new")) {
                Files.deleteIfExists(folder.resolve(name));
            }
            Files.deleteIfExists(folder);
        } catch (IOException e) {
            return; // a few small files stay in the folder for such files
        }
    }
}
