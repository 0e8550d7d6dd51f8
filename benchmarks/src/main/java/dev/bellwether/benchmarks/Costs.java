package dev.bellwether.benchmarks;

import static dev.bellwether.benchmarks.Usage.heap;
import static dev.bellwether.benchmarks.Usage.threads;

import java.io.IOException;
import java.io.UncheckedIOException;
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
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * What elections cost: a hundred standbys while nothing happens, many elections in one process, and the next leader out
 * of five hundred candidates. All in this process, as so many clients of the server as processes are told of. Whatever
 * does not end in time is given up, and a line tells how far it came.
 *
 * @param where the server
 * @param port of the server
 * @param counter of what it is asked
 * @param unit of what is counted, per second
 * @param time for which is counted
 */
public record Costs(String where, int port, Counter counter, String unit, Duration time) {
    /** So long we wait for leaders. */
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    /** So long one attempt may take, its counting aside. */
    private static final Duration BOUND = Duration.ofMinutes(2);
    /** So long those who are told to leave may take. */
    private static final Duration FAREWELL = Duration.ofSeconds(40);

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

    /**
     * Reads the seconds of counting: 30 unless given, a lease, in which whatever is done thrice or twice a lease is
     * done as often as it should be.
     */
    public static Duration time(String[] arguments) {
        return Duration.ofSeconds(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 30);
    }

    /** What a hundred candidates ask who wait, beside a leader. */
    public void standBy(String who, Make make, Duration lease) {
        attempt(who + ": " + STANDBYS + " standbys", () -> {
            var election = UUID.randomUUID().toString();
            try (var clients = new Clients(make, lease, PROCESSES)) {
                await("a leader", clients.all.get(0).stand(election)::leads);
                var alone = rate(Duration.ofSeconds(2), time.dividedBy(3)); // a renewal
                clients.stand(STANDBYS, election);
                awaitRest();
                var together = rate(Duration.ofSeconds(2), time);
                value(STANDBYS + " idle standbys in " + PROCESSES + " processes", lease, unit, who, together - alone);
            }
        });
    }

    /** What so many elections take that one process leads; or how many it led in the end. */
    public void many(String who, Make make, Duration lease, int count) {
        attempt(who + ": " + count + " elections", () -> {
            awaitThreads();
            var threads = threads();
            var heap = heap();
            try (var clients = new Clients(make, lease, 1)) {
                var what = "%,d elections in one process".formatted(count).replace(',', ' ');
                var begun = System.nanoTime();
                var seats = new ArrayList<Seat>(count);
                while (seats.size() < count && System.nanoTime() - begun < PATIENCE.toNanos()) {
                    requireGoingOn();
                    seats.add(clients.all.get(0).stand(UUID.randomUUID().toString()));
                }
                var led = leading(seats);
                while (led < count && System.nanoTime() - begun < PATIENCE.toNanos()) {
                    idle(Duration.ofMillis(20));
                    led = leading(seats);
                }
                var took = System.nanoTime() - begun;
                if (led < count) {
                    value(what + ": lead after " + PATIENCE.toSeconds() + " s", lease, "elections", who, led);
                    System.out.printf(
                            "%s, %s: %d of %d stood, %d led; no further figures%n",
                            where, who, seats.size(), count, led);
                    return;
                }
                value(what + ": until all lead", lease, "ms", who, took / 1e6);
                var rate = rate(lease.dividedBy(3).plusSeconds(5), time); // after the first renewals
                value(what + ": threads", lease, "threads", who, threads() - threads);
                value(what + ": heap each", lease, "kB", who, (heap() - heap) / 1e3 / count);
                value(what + ": connections", lease, "connections", who, (double) connections());
                value(what + ": asked", lease, unit, who, rate);
                value(what + ": do not lead any more", lease, "elections", who, (double) count - leading(seats));
            }
        });
    }

    private static int leading(List<Seat> seats) {
        return (int) seats.stream().filter(Seat::leads).count();
    }

    /**
     * How long it takes until one of so many candidates leads who all stand when the leader leaves; what is left of
     * them, some times over.
     */
    public void crowd(String who, Make make, Duration lease, int candidates) {
        attempt(who + ": " + candidates + " candidates", () -> {
            var election = UUID.randomUUID().toString();
            try (var clients = new Clients(make, lease, PROCESSES)) {
                var leader = clients.all.get(0).stand(election);
                await("a leader", leader::leads);
                var waiting = new ArrayList<>(clients.stand(candidates, election));
                awaitRest();
                var took = new ArrayList<Long>();
                var before = counter.count();
                for (var i = 0; i < DEPARTURES; i++) {
                    var begun = System.nanoTime();
                    var leaving = new Thread(leader::leave);
                    leaving.setDaemon(true);
                    leaving.start();
                    await(
                            "the next leader, number " + (i + 1),
                            () -> waiting.stream().anyMatch(Seat::leads));
                    took.add(System.nanoTime() - begun);
                    leaving.join(FAREWELL.toMillis());
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

    /** What may fail. */
    public interface Task {
        /** Does it. */
        void run() throws Exception;
    }

    /** Does this and ends the process, whatever threads are left in it. */
    public static void andEnd(Task figures) {
        try {
            figures.run();
        } catch (Exception | Error e) {
            e.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    /**
     * One that does not get through in time leaves a gap, and says so. What it has left behind may disturb those that
     * follow; that is told too.
     */
    private void attempt(String what, Task task) {
        System.err.println("# " + where + ", " + what);
        var begun = System.nanoTime();
        var worker = new Thread(
                () -> {
                    try {
                        task.run();
                    } catch (Exception | Error e) {
                        System.out.println(where + ", " + what + ": no figure: " + e);
                    }
                },
                "costs");
        worker.setDaemon(true);
        worker.start();
        try {
            worker.join(BOUND.plus(time.multipliedBy(2)).toMillis());
            if (worker.isAlive()) {
                System.out.println(where + ", " + what + ": given up after "
                        + TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun) + " s in "
                        + Stream.of(worker.getStackTrace())
                                .limit(8)
                                .map(StackTraceElement::toString)
                                .collect(Collectors.joining(" < ")));
                worker.interrupt();
                worker.join(FAREWELL.plusSeconds(5).toMillis());
                if (worker.isAlive()) {
                    System.out.println(where + ", " + what + ": does not end: what follows is measured beside it");
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        System.err.printf("  %.1f s%n", (System.nanoTime() - begun) / 1e9);
    }

    private void value(String what, Duration lease, String unit, String who, double value) {
        Samples.value(where, what + " (lease " + lease.toSeconds() + " s)", unit, who, value);
        System.out.println(String.format(
                Locale.ROOT, "%s, %s: %s (lease %d s): %.2f %s", where, who, what, lease.toSeconds(), value, unit));
    }

    /** Per second, for so long after so much rest. */
    private double rate(Duration rest, Duration length) throws Exception {
        idle(rest);
        var before = counter.count();
        var begun = System.nanoTime();
        idle(length);
        return (counter.count() - before) * 1e9 / (System.nanoTime() - begun);
    }

    /**
     * Waits until the server is asked no more than by one second before: those who came last have found their places.
     */
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
            requireGoingOn();
            LockSupport.parkNanos(left);
        }
    }

    private static void await(String what, BooleanSupplier condition) {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            requireGoingOn();
            if (System.nanoTime() - until > 0) {
                throw new IllegalStateException("waited " + PATIENCE.toSeconds() + " s for " + what);
            }
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(200));
        }
    }

    /** Whoever is given up is interrupted. */
    private static void requireGoingOn() {
        if (Thread.currentThread().isInterrupted()) {
            throw new IllegalStateException("given up");
        }
    }

    /** Waits until the threads of those who have left are gone: none ended for two seconds. */
    private static void awaitThreads() {
        for (var round = 0; round < 10; round++) {
            var before = threads();
            idle(Duration.ofSeconds(2));
            if (threads() >= before) {
                return;
            }
        }
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

        /** Waits so long, and no longer, for those who leave. */
        @Override
        public void close() {
            var leaving = new Thread(() -> all.forEach(Client::close), "costs-close");
            leaving.setDaemon(true);
            leaving.start();
            var until = System.nanoTime() + FAREWELL.toNanos();
            while (leaving.isAlive() && System.nanoTime() - until < 0) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
                Thread.interrupted(); // given up: to leave in order is all that is left
            }
            if (leaving.isAlive()) {
                System.out.println(
                        "not closed within " + FAREWELL.toSeconds() + " s: what follows is measured beside it");
            }
        }
    }
}
