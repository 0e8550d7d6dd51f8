package dev.bellwether.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * What elections cost: a hundred standbys while nothing happens, many elections in one process, and the next leader out of five hundred candidates. All in this process, as so many clients of the
 * server as processes are told of.
 *
 * @param where the server
 * @param port of the server
 * @param counter of what it is asked
 * @param unit of what is counted, per second
 * @param time for which is counted
 */
public record Costs(String where, int port, Counter counter, String unit, Duration time) {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final int PROCESSES = 10;
    private static final int STANDBYS = 100;
    private static final int DEPARTURES = 20;
    private static final String ESTABLISHED = "01";

    /** Counts from its start. */
    public interface Counter {
        /** Returns how much there was since the start. */
        double count() throws Exception;
    }

    /** One client of the server. */
    public interface Client extends AutoCloseable {
        /** Lets one candidate stand; returns before it is known who leads. */
        Seat stand(String election);

        @Override
        void close();
    }

    /** One candidate. */
    public interface Seat {
        /** Returns whether it believes to lead. */
        boolean leads();

        /** Leaves in order. */
        void leave();
    }

    /** How to make clients. */
    public interface Make {
        /** Connects. */
        Client connect(Duration lease);
    }

    /** Reads the seconds of counting, 20 unless given. */
    public static Duration time(String[] arguments) {
        return Duration.ofSeconds(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 20);
    }

    /** What a hundred candidates ask who wait, beside a leader. They are given the time of a lease to come to rest. */
    public void standBy(String who, Make make, Duration lease) {
        attempt(who + ": " + STANDBYS + " standbys", () -> {
            var election = UUID.randomUUID().toString();
            try (var clients = new Clients(make, lease, PROCESSES)) {
                await(clients.all.get(0).stand(election)::leads);
                var alone = rate(Duration.ofSeconds(2));
                clients.stand(STANDBYS, election);
                var together = rate(lease);
                value(STANDBYS + " idle standbys in " + PROCESSES + " processes", lease, unit, who, together - alone);
            }
        });
    }

    /** What so many elections take that one process leads. */
    public void many(String who, Make make, Duration lease, int count) {
        attempt(who + ": " + count + " elections", () -> {
            var threads = threads();
            var heap = heap();
            try (var clients = new Clients(make, lease, 1)) {
                var what = "%,d elections in one process".formatted(count).replace(',', ' ');
                var begun = System.nanoTime();
                var seats = IntStream.range(0, count)
                        .mapToObj(
                                i -> clients.all.get(0).stand(UUID.randomUUID().toString()))
                        .toList();
                await(() -> seats.stream().allMatch(Seat::leads));
                var took = System.nanoTime() - begun;
                var rate = rate(Duration.ofSeconds(5));
                value(what + ": until all lead", lease, "ms", who, took / 1e6);
                value(what + ": threads", lease, "threads", who, threads() - threads);
                value(what + ": heap each", lease, "kB", who, (heap() - heap) / 1e3 / count);
                value(what + ": connections", lease, "connections", who, (double) connections());
                value(what + ": asked", lease, unit, who, rate);
                var lost = seats.stream().filter(seat -> !seat.leads()).count();
                value(what + ": do not lead any more", lease, "elections", who, (double) lost);
            }
        });
    }

    /** How long it takes until one of so many candidates leads who all stand when the leader leaves; what is left of them, some times over. */
    public void crowd(String who, Make make, Duration lease, int candidates) {
        attempt(who + ": " + candidates + " candidates", () -> {
            var election = UUID.randomUUID().toString();
            try (var clients = new Clients(make, lease, PROCESSES)) {
                var leader = clients.all.get(0).stand(election);
                await(leader::leads);
                var waiting = new ArrayList<>(clients.stand(candidates, election));
                awaitRest();
                var took = new ArrayList<Long>();
                var before = counter.count();
                for (var i = 0; i < DEPARTURES; i++) {
                    var begun = System.nanoTime();
                    var leaving = new Thread(leader::leave);
                    leaving.start();
                    await(() -> waiting.stream().anyMatch(Seat::leads));
                    took.add(System.nanoTime() - begun);
                    leaving.join();
                    leader = waiting.stream().filter(Seat::leads).findFirst().orElseThrow();
                    waiting.remove(leader);
                }
                var what = "next leader of " + candidates + " candidates (lease " + lease.toSeconds() + " s)";
                var asked = (counter.count() - before) / DEPARTURES;
                Samples.nanos(where, what, who, took);
                value("a departure among " + candidates + " candidates", lease, unit.replace("/s", ""), who, asked);
                took.sort(null);
                System.out.printf(
                        "%s, %s: %s: p50 %.1f ms, longest %.1f ms, %d times%n",
                        where,
                        who,
                        what,
                        took.get((took.size() - 1) / 2) / 1e6,
                        took.get(took.size() - 1) / 1e6,
                        took.size());
            }
        });
    }

    private interface Task {
        void run() throws Exception;
    }

    /** One that does not get through leaves a gap, and says so. */
    private void attempt(String what, Task task) {
        System.err.println("# " + where + ", " + what);
        try {
            task.run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception | OutOfMemoryError e) {
            System.out.println(where + ", " + what + ": no figure: " + e);
        }
    }

    private void value(String what, Duration lease, String unit, String who, double value) {
        Samples.value(where, what + " (lease " + lease.toSeconds() + " s)", unit, who, value);
        System.out.println(String.format(
                Locale.ROOT, "%s, %s: %s (lease %d s): %.2f %s", where, who, what, lease.toSeconds(), value, unit));
    }

    /** Per second, after so much rest. */
    private double rate(Duration rest) throws Exception {
        idle(rest);
        var before = counter.count();
        var begun = System.nanoTime();
        idle(time);
        return (counter.count() - before) * 1e9 / (System.nanoTime() - begun);
    }

    /** Waits until the server is asked no more than by one second before: those who came last have found their places. */
    private void awaitRest() throws Exception {
        double before;
        double last = Double.MAX_VALUE;
        for (var round = 0; round < PATIENCE.toSeconds(); round++) {
            before = counter.count();
            idle(Duration.ofSeconds(1));
            var asked = counter.count() - before;
            if (asked >= last * 0.9) {
                return;
            }
            last = asked;
        }
    }

    private static void idle(Duration time) {
        var until = System.nanoTime() + time.toNanos();
        for (var left = time.toNanos(); left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private static void await(BooleanSupplier condition) {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - until > 0) {
                throw new IllegalStateException("not within " + PATIENCE);
            }
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(200));
        }
    }

    private static int threads() {
        return ManagementFactory.getThreadMXBean().getThreadCount();
    }

    private static long heap() {
        for (var i = 0; i < 3; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** Returns how many connections to the server are open on this machine. */
    private long connections() {
        var remote = "%04X".formatted(port);
        return Stream.of("/proc/net/tcp", "/proc/net/tcp6")
                .flatMap(Costs::lines)
                .map(line -> line.strip().split("\\s+"))
                .filter(words -> words.length > 3 && words[2].endsWith(":" + remote) && words[3].equals(ESTABLISHED))
                .count();
    }

    private static Stream<String> lines(String file) {
        try {
            return Files.readAllLines(Path.of(file)).stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Some clients, which end together. */
    private static final class Clients implements AutoCloseable {
        private final List<Client> all;

        Clients(Make make, Duration lease, int count) {
            all = IntStream.range(0, count).mapToObj(i -> make.connect(lease)).toList();
        }

        List<Seat> stand(int count, String election) {
            return IntStream.range(0, count)
                    .mapToObj(i -> all.get(i % all.size()).stand(election))
                    .toList();
        }

        @Override
        public void close() {
            all.forEach(Client::close);
        }
    }
}
