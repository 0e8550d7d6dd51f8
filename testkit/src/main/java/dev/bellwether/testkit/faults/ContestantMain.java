package dev.bellwether.testkit.faults;

import dev.bellwether.testkit.Never;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The process of one contestant. Says {@code standing}, {@code fault WHAT} and {@code closed}; takes
 * {@code block MILLIS}, {@code interrupt threads} and {@code interrupted}; leaves in order at the end of its input,
 * after {@code interrupted} by a thread that is interrupted.
 */
final class ContestantMain {
    /** How long a look whether we lead is away from the last, in microseconds. */
    static final String PAUSE = "bellwether.bench.pause";

    static final int PAUSE_MICROS = Integer.getInteger(PAUSE, 100);

    private static final Duration BETWEEN_LOOKS = Duration.of(PAUSE_MICROS, ChronoUnit.MICROS);

    static final String INTERRUPTED = "interrupted";
    private static final Set<String> THREADS_OF_BENCH = Set.of(LeadershipSampler.THREAD, RegisterWriter.THREAD);
    static final String INTERRUPT_THREADS = "interrupt threads";

    private volatile boolean interrupted;
    private volatile long blockedUntilNanos = System.nanoTime();

    private ContestantMain() {}

    /** What a process is started with. */
    record Arguments(
            String maker,
            String uri,
            String election,
            String candidate,
            Duration lease,
            Path terms,
            int number,
            int port) {
        List<String> line() {
            return List.of(
                    maker,
                    uri,
                    election,
                    candidate,
                    lease.toString(),
                    terms.toString(),
                    Integer.toString(number),
                    Integer.toString(port));
        }

        static Arguments of(String[] line) {
            return new Arguments(
                    line[0],
                    line[1],
                    line[2],
                    line[3],
                    Duration.parse(line[4]),
                    Path.of(line[5]),
                    Integer.parseInt(line[6]),
                    Integer.parseInt(line[7]));
        }
    }

    public static void main(String[] line) throws Exception {
        new ContestantMain().run(Arguments.of(line));
        System.exit(0); // whatever threads the contestant has left
    }

    private void run(Arguments arguments) throws Exception {
        var constructor = Class.forName(arguments.maker)
                .asSubclass(Contestant.Maker.class)
                .getDeclaredConstructor();
        constructor.setAccessible(true);
        var maker = constructor.newInstance();
        var contestant = maker.stand(new Contestant.Orders(
                arguments.uri,
                arguments.election,
                arguments.candidate,
                arguments.lease,
                this::held,
                () -> interrupted,
                fault -> say("fault " + fault.replace('\n', ' '))));
        var sampler = new LeadershipSampler(contestant, TermFile.open(arguments.terms), BETWEEN_LOOKS);
        var writer = new RegisterWriter(contestant, arguments.number, arguments.port);
        say("standing");
        obey();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        contestant.close();
        if (Thread.interrupted() || interrupted) {
            requireNoMore(contestant, arguments.lease);
        }
        sampler.close();
        writer.close();
        say("closed");
    }

    /** Nobody waited for the end; a lease later it must have come. The sampler looks on meanwhile. */
    private static void requireNoMore(Contestant contestant, Duration lease) {
        var until = System.nanoTime() + lease.toNanos();
        while (System.nanoTime() - until < 0) {
            LockSupport.parkNanos(until - System.nanoTime());
        }
        if (contestant.isLeader()) {
            say("fault " + Never.mark("it leads a lease after it was closed"));
        }
    }

    private void obey() throws IOException {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = input.readLine(); line != null; line = input.readLine()) {
            if (line.equals(INTERRUPTED)) {
                interrupted = true;
            } else if (line.equals(INTERRUPT_THREADS)) {
                interruptThreads();
            } else if (line.startsWith("block ")) {
                blockedUntilNanos = System.nanoTime()
                        + Duration.ofMillis(Long.parseLong(line.substring(6))).toNanos();
            }
        }
    }

    /** All but those of the JVM and those of the bench. */
    private static void interruptThreads() {
        var self = Thread.currentThread();
        for (var thread : Thread.getAllStackTraces().keySet()) {
            if (self.getThreadGroup().equals(thread.getThreadGroup())
                    && !thread.equals(self)
                    && !THREADS_OF_BENCH.contains(thread.getName())) {
                thread.interrupt();
            }
        }
    }

    /** A listener that is blocked hears no interrupt, either. */
    private void held() {
        var interrupted = false;
        for (var left = left(); left > 0; left = left()) {
            try {
                TimeUnit.NANOSECONDS.sleep(left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private long left() {
        return blockedUntilNanos - System.nanoTime();
    }

    private static void say(String what) {
        System.out.println(what);
        System.out.flush();
    }
}
