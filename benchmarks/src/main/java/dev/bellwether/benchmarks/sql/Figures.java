package dev.bellwether.benchmarks.sql;

import dev.bellwether.benchmarks.Costs;
import dev.bellwether.testkit.FaultProxy;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/**
 * What a lease in PostgreSQL costs, and how long its seat stays empty, beside Spring Integration and ShedLock on the
 * same server at the same lease.
 *
 * <p>A crash is what the server sees when a process is killed: its connections are reset, and none comes back. Its time
 * counts from then, so that it is the rest of the lease and what comes on top.
 */
public final class Figures {
    private static final List<SqlContestant> MAKES =
            List.of(new BellwetherOnSql(), new SpringIntegration(), new ShedLock());
    private static final Duration LEASE = Duration.ofSeconds(2);
    /** ShedLock keeps nothing shorter alive. */
    private static final Duration LONG_LEASE = Duration.ofSeconds(30);

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int STANDBYS = 100;
    private static final int PROCESSES = 10;

    private Figures() {}

    /**
     * Takes what to measure ({@code hand-over}, {@code crash}, {@code standby}, {@code hold} or {@code all}, the
     * default), the number of rounds, 30 by default, the seconds of counting, 60 by default, and how many elections are
     * held, 1,000.
     */
    public static void main(String[] args) throws IOException, SQLException {
        // they complain of what we do to them
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        System.setProperty("org.apache.logging.log4j.simplelog.level", "OFF");
        var what = args.length > 0 ? args[0] : "all";
        var rounds = args.length > 1 ? Integer.parseInt(args[1]) : 30;
        var time = Duration.ofSeconds(args.length > 2 ? Integer.parseInt(args[2]) : 60);
        var elections = args.length > 3 ? Integer.parseInt(args[3]) : 1_000;
        var all = what.equals("all");
        try (var server = Server.start()) {
            if (all || what.equals("hand-over")) {
                for (var make : MAKES) {
                    progress(make.name() + ": hand-overs");
                    handOver(server, make, 30); // warm-up
                    report("hand-over", make, LEASE, handOver(server, make, rounds));
                }
            }
            if (all || what.equals("crash")) {
                progress("crashes, side by side");
                crashes(server, rounds);
            }
            for (var make : MAKES) {
                if (all || what.equals("standby")) {
                    progress(make.name() + ": standing by");
                    standBy(server, make, time);
                }
                if (all || what.equals("hold")) {
                    progress(make.name() + ": holding");
                    hold(server, make, time, elections);
                }
            }
        }
    }

    /** One thread each, since nearly all of a round is waiting. */
    private static void crashes(Server server, int rounds) {
        var threads = new LinkedHashMap<SqlContestant, FutureTask<List<Long>>>();
        for (var make : MAKES) {
            var task = new FutureTask<>(() -> {
                crash(server, make, 3); // warm-up
                return crash(server, make, rounds);
            });
            threads.put(make, task);
            new Thread(task, make.name()).start();
        }
        threads.forEach((make, task) -> {
            try {
                report("crash", make, LEASE, task.get());
            } catch (ExecutionException e) {
                throw new IllegalStateException(make.name(), e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    private static void progress(String what) {
        System.err.println("# " + what);
    }

    private static List<Long> handOver(Server server, SqlContestant make, int rounds) {
        var took = new ArrayList<Long>();
        try (var one = make.connect(server.port(), LEASE);
                var other = make.connect(server.port(), LEASE)) {
            for (var round = 0; round < rounds; round++) {
                var election = UUID.randomUUID().toString();
                var leader = one.stand(election);
                await(leader);
                var standby = other.stand(election);
                idle(Duration.ofMillis(
                        300 + 37 * round % 500)); // so that no round meets the others' pace at the same point
                var begun = System.nanoTime();
                new Thread(leader::leave).start();
                await(standby);
                took.add(System.nanoTime() - begun);
                standby.leave();
            }
        }
        return took;
    }

    private static List<Long> crash(Server server, SqlContestant make, int rounds) {
        var took = new ArrayList<Long>();
        for (var round = 0; round < rounds; round++) {
            var election = UUID.randomUUID().toString();
            try (var link = FaultProxy.to("127.0.0.1", server.port());
                    var doomed = make.connect(link.port(), LEASE);
                    var other = make.connect(server.port(), LEASE)) {
                var leader = doomed.stand(election);
                await(leader);
                var standby = other.stand(election);
                idle(Duration.ofMillis(LEASE.toMillis() + 71 * round % 700));
                link.refuse();
                link.reset();
                var begun = System.nanoTime();
                await(standby);
                took.add(System.nanoTime() - begun);
                standby.leave();
                link.heal();
                leader.leave();
            }
        }
        return took;
    }

    private static void standBy(Server server, SqlContestant make, Duration time) throws SQLException {
        var processes = IntStream.range(0, PROCESSES)
                .mapToObj(i -> make.connect(server.port(), LONG_LEASE))
                .toList();
        var election = UUID.randomUUID().toString();
        var leader = processes.get(0).stand(election);
        await(leader);
        var alone = count(server, time);
        var standbys = IntStream.range(0, STANDBYS)
                .mapToObj(i -> processes.get(i % PROCESSES).stand(election))
                .toList();
        idle(LONG_LEASE); // in the first lease that they wait for, each process looks for itself
        var all = count(server, time);
        System.out.printf(
                "%-20s lease %2d s: one leader %8.2f statements/s; with %d standbys in %d processes %8.2f%n",
                make.name(), LONG_LEASE.toSeconds(), alone, STANDBYS, PROCESSES, all);
        standbys.forEach(Costs.Seat::leave);
        leader.leave();
        processes.forEach(Costs.Client::close);
    }

    private static void hold(Server server, SqlContestant make, Duration time, int elections) throws SQLException {
        try (var process = make.connect(server.port(), LONG_LEASE)) {
            var seats = IntStream.range(0, elections)
                    .mapToObj(i -> process.stand(UUID.randomUUID().toString()))
                    .toList();
            seats.forEach(Figures::await);
            var rate = count(server, time);
            System.out.printf(
                    "%-20s lease %2d s: %d elections held %8.2f statements/s%n",
                    make.name(), LONG_LEASE.toSeconds(), elections, rate);
            seats.forEach(Costs.Seat::leave);
        }
    }

    private static double count(Server server, Duration time) throws SQLException {
        idle(Duration.ofSeconds(5)); // what belongs to the beginning
        server.statements();
        var begun = System.nanoTime();
        idle(time);
        return server.statements() * 1e9 / (System.nanoTime() - begun);
    }

    private static void await(Costs.Seat seat) {
        var deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!seat.leads()) {
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException("nobody leads after " + PATIENCE);
            }
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(200));
        }
    }

    private static void idle(Duration time) {
        var until = System.nanoTime() + time.toNanos();
        for (var left = time.toNanos(); left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private static void report(String what, SqlContestant make, Duration lease, List<Long> took) {
        Collections.sort(took);
        System.out.printf(
                "%-20s lease %2d s: %-9s ms p50 %8.1f  p99 %8.1f  max %8.1f  (%d rounds)%n",
                make.name(),
                lease.toSeconds(),
                what,
                millis(took, 0.50),
                millis(took, 0.99),
                millis(took, 1),
                took.size());
    }

    private static double millis(List<Long> sorted, double share) {
        return sorted.get(Math.max(0, (int) Math.ceil(share * sorted.size()) - 1)) / 1e6;
    }
}
