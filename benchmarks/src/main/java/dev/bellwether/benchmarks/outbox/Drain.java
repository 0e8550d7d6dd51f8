package dev.bellwether.benchmarks.outbox;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** How fast a table that is full becomes empty, records confirmed by Kafka and rows gone; all on this machine. */
public final class Drain {
    private static final int WARM_UP = 100_000;
    private static final int OF_THE_SLOW = 20_000;

    private Drain() {}

    /**
     * Takes the number of rows, a million by default; bytes of a value; "headers" or "plain", or "held" for plain ones while a
     * transaction that has written into our table stays open; and who takes part.
     */
    public static void main(String[] args) throws Exception {
        var rows = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
        var bytes = args.length > 1 ? Integer.parseInt(args[1]) : 256;
        var mode = args.length > 2 ? args[2] : "plain";
        var headers = mode.equals("headers");
        try (var stand = Stand.start()) {
            System.out.printf(
                    "%,d rows of %d bytes, %s headers, 10,000 keys, %d partitions%s%n",
                    rows,
                    bytes,
                    headers ? "two" : "no",
                    Stand.PARTITIONS,
                    mode.equals("held") ? ", a transaction stays open" : "");
            var rates = new LinkedHashMap<String, List<Double>>();
            for (var contestant : Contestants.named(args, 3)) {
                // those that are slow get as many as they can do in about half a minute
                var share = contestant.isQuick() ? rows : Math.min(rows, OF_THE_SLOW);
                contestant.reset(stand);
                if (contestant.isQuick()) {
                    measure(stand, contestant, Math.min(share, WARM_UP), bytes, headers);
                }
                contestant.reset(stand);
                try (var held = mode.equals("held") ? hold(stand) : null) {
                    var rate = report(contestant, share, measure(stand, contestant, share, bytes, headers));
                    rates.computeIfAbsent(contestant.name(), name -> new ArrayList<>())
                            .add(rate);
                    if (held != null) {
                        held.rollback();
                    }
                }
            }
            compare(rates);
        }
    }

    /** Draws an id and keeps a snapshot, so that there is a gap and no dead row can be removed. */
    static Connection hold(Stand stand) throws java.sql.SQLException {
        var connection = stand.connect();
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        connection.setAutoCommit(false);
        try (var statement = connection.createStatement()) {
            statement.execute("INSERT INTO outbox (topic, record_key) VALUES ('" + Stand.TOPIC + "', 'late')");
        }
        return connection;
    }

    private static double measure(Stand stand, Contestant contestant, int rows, int bytes, boolean headers)
            throws Exception {
        contestant.fill(stand, rows, bytes, headers);
        stand.execute("VACUUM ANALYZE");
        stand.execute("CHECKPOINT");
        var began = System.nanoTime();
        try (var relay = contestant.start(stand)) {
            Objects.requireNonNull(relay, contestant.name());
            while (contestant.left(stand) > 0) {
                TimeUnit.MILLISECONDS.sleep(5);
            }
            return (System.nanoTime() - began) / 1e9;
        }
    }

    private static double report(Contestant contestant, int rows, double seconds) {
        System.out.printf(
                "%-24s %,10d rows in %7.2f s: %,9.0f records/s%n", contestant.name(), rows, seconds, rows / seconds);
        return rows / seconds;
    }

    private static void compare(Map<String, List<Double>> rates) {
        var first = rates.values().iterator().next();
        rates.forEach((name, own) -> System.out.printf(
                "%-24s median of %d: %,9.0f records/s, %.2f times the first here%n",
                name, own.size(), median(own), median(own) / median(first)));
    }

    private static double median(List<Double> rates) {
        return rates.stream().sorted().skip(rates.size() / 2).findFirst().orElseThrow();
    }
}
