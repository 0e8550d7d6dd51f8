package dev.bellwether.benchmarks.outbox;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** How fast a table that is full becomes empty, records confirmed by Kafka and rows gone; all on this machine. */
public final class Drain {
    private static final int WARM_UP = 100_000;

    private Drain() {}

    /** Takes the number of rows, a million by default; bytes of a value; "headers" or "plain"; and who takes part. */
    public static void main(String[] args) throws Exception {
        var rows = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
        var bytes = args.length > 1 ? Integer.parseInt(args[1]) : 256;
        var headers = args.length > 2 && args[2].equals("headers");
        var who = new ArrayList<Contestant>();
        for (var contestant : Contestants.ALL) {
            if (args.length < 4 || List.of(args).subList(3, args.length).contains(contestant.name())) {
                who.add(contestant);
            }
        }
        try (var stand = Stand.start()) {
            System.out.printf(
                    "%,d rows of %d bytes, %s headers, 10,000 keys, %d partitions%n",
                    rows, bytes, headers ? "two" : "no", Stand.PARTITIONS);
            for (var contestant : who) {
                // those that are slow get as many as they can do in about half a minute
                var share = contestant instanceof Ours || contestant.name().startsWith("debezium")
                        ? rows
                        : Math.min(rows, 20_000);
                measure(stand, contestant, Math.min(share, WARM_UP), bytes, headers);
                report(contestant, share, measure(stand, contestant, share, bytes, headers));
            }
        }
    }

    private static double measure(Stand stand, Contestant contestant, int rows, int bytes, boolean headers)
            throws Exception {
        contestant.reset(stand);
        contestant.fill(stand, rows, bytes, headers);
        stand.execute("VACUUM ANALYZE");
        stand.execute("CHECKPOINT");
        var began = System.nanoTime();
        try (var relay = contestant.start(stand)) {
            Objects.requireNonNull(relay, contestant.name());
            var first = stand.number("SELECT 1");
            while (contestant.left(stand) > 0) {
                TimeUnit.MILLISECONDS.sleep(first * 5);
            }
            return (System.nanoTime() - began) / 1e9;
        }
    }

    private static void report(Contestant contestant, int rows, double seconds) {
        System.out.printf(
                "%-24s %,10d rows in %7.2f s: %,9.0f records/s%n", contestant.name(), rows, seconds, rows / seconds);
    }
}
