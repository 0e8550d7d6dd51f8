package dev.bellwether.benchmarks.outbox;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/**
 * How fast a table that is full becomes empty, records confirmed by Kafka and rows gone; all on this machine. Nothing
 * is run beforehand: the first run in the process counts, and is told apart.
 */
public final class Drain {
    private static final int OF_THE_SLOW = 20_000;

    private Drain() {}

    /**
     * Takes the number of rows, a million by default; bytes of a value; "headers" or "plain", or "held" for plain ones
     * while a transaction that has written into our table stays open; and who takes part.
     */
    public static void main(String[] args) throws Exception {
        var rows = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
        var bytes = args.length > 1 ? Integer.parseInt(args[1]) : 256;
        var mode = args.length > 2 ? args[2] : "plain";
        var headers = mode.equals("headers");
        try (var stand = OutboxServers.start()) {
            System.out.printf(
                    "%,d rows of %d bytes, %s headers, 10,000 keys, %d partitions%s%n",
                    rows,
                    bytes,
                    headers ? "two" : "no",
                    OutboxServers.PARTITIONS,
                    mode.equals("held") ? ", a transaction stays open" : "");
            var runs = new LinkedHashMap<String, List<Run>>();
            for (var contestant : Contestants.named(args, 3)) {
                // those that are slow get as many as they can do in about half a minute
                var share = contestant.isQuick() ? rows : Math.min(rows, OF_THE_SLOW);
                contestant.reset(stand);
                try (var held = mode.equals("held") ? hold(stand) : null) {
                    var run = measure(stand, contestant, share, bytes, headers);
                    System.out.printf("%-24s %,10d rows in %7.2f s: %s%n", contestant.name(), share, run.seconds, run);
                    runs.computeIfAbsent(contestant.name(), name -> new ArrayList<>())
                            .add(run);
                    if (held != null) {
                        held.rollback();
                    }
                }
            }
            compare(runs);
        }
    }

    /** Draws an id and keeps a snapshot, so that there is a gap and no dead row can be removed. */
    static Connection hold(OutboxServers stand) throws java.sql.SQLException {
        var connection = stand.connect();
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        connection.setAutoCommit(false);
        try (var statement = connection.createStatement()) {
            statement.execute("INSERT INTO outbox (topic, record_key) VALUES ('" + OutboxServers.TOPIC + "', 'late')");
        }
        return connection;
    }

    /** What a run took, and how much of the processors: of this process, and of all processes of PostgreSQL. */
    private record Run(int rows, double seconds, double ofJvm, double ofPostgres) {
        double rate() {
            return rows / seconds;
        }

        @Override
        public String toString() {
            return String.format(
                    "%,9.0f records/s; processor time per million: JVM %5.2f s, PostgreSQL %5.2f s",
                    rate(), ofJvm * 1e6 / rows, ofPostgres * 1e6 / rows);
        }
    }

    private static Run measure(OutboxServers stand, OutboxContestant contestant, int rows, int bytes, boolean headers)
            throws Exception {
        contestant.fill(stand, rows, bytes, headers);
        stand.execute("VACUUM ANALYZE");
        stand.execute("CHECKPOINT");
        var ofJvm = ProcessorTime.ofThisProcess();
        var ofPostgres = stand.processorTime();
        var began = System.nanoTime();
        try (var relay = contestant.start(stand)) {
            Objects.requireNonNull(relay, contestant.name());
            if (contestant.isProcess()) {
                began = System.nanoTime(); // it has begun meanwhile, so this is in its favour
            }
            while (contestant.left(stand) > 0) {
                TimeUnit.MILLISECONDS.sleep(5);
            }
            return new Run(
                    rows,
                    (System.nanoTime() - began) / 1e9,
                    ProcessorTime.ofThisProcess() - ofJvm,
                    stand.processorTime() - ofPostgres);
        }
    }

    private static void compare(Map<String, List<Run>> runs) {
        var first = median(runs.values().iterator().next(), Run::rate);
        runs.forEach((name, own) -> System.out.printf(
                "%-24s first run %,9.0f records/s; median of %d: %s, %.2f times the first here%n",
                name,
                own.get(0).rate(),
                own.size(),
                new Run(
                        own.get(0).rows(),
                        median(own, Run::seconds),
                        median(own, Run::ofJvm),
                        median(own, Run::ofPostgres)),
                median(own, Run::rate) / first));
    }

    private static double median(List<Run> runs, ToDoubleFunction<Run> figure) {
        var sorted = runs.stream().mapToDouble(figure).sorted().toArray();
        var middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
