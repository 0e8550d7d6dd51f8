package dev.bellwether.benchmarks.outbox;

import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** Whether memory and rate stay as they are while a great backlog is published. */
public final class Backlog {
    private static final int TENTHS = 10;

    private Backlog() {}

    /** Takes the number of rows, ten million by default, and bytes of a value. */
    public static void main(String[] args) throws Exception {
        var rows = args.length > 0 ? Integer.parseInt(args[0]) : 10_000_000;
        var bytes = args.length > 1 ? Integer.parseInt(args[1]) : 256;
        var ours = new BellwetherContestant(1);
        try (var stand = OutboxServers.start()) {
            ours.reset(stand);
            for (var tenth = 0; tenth < TENTHS; tenth++) {
                ours.fill(stand, rows / TENTHS, bytes, false);
            }
            stand.execute("ANALYZE outbox");
            System.out.printf(
                    "%,d rows of %d bytes, a heap of %d MiB at most%n",
                    rows, bytes, Runtime.getRuntime().maxMemory() >> 20);
            var began = System.nanoTime();
            try (var relay = ours.start(stand)) {
                Objects.requireNonNull(relay);
                var last = began;
                for (var tenth = 1; tenth <= TENTHS; tenth++) {
                    var until = (long) rows / TENTHS * tenth;
                    while (stand.number("SELECT coalesce(sum(sent), 0) FROM outbox_relay") < until
                            && (tenth < TENTHS || ours.left(stand) > 0)) {
                        TimeUnit.MILLISECONDS.sleep(20);
                    }
                    var now = System.nanoTime();
                    System.out.printf(
                            "%,12d rows: %,9.0f records/s, %d MiB of heap in use after a collection%n",
                            until, (double) rows / TENTHS / ((now - last) / 1e9), inUse());
                    last = System.nanoTime();
                }
            }
            System.out.printf("all in %.1f s: %,.0f records/s%n", seconds(began), rows / seconds(began));
        }
    }

    private static double seconds(long began) {
        return (System.nanoTime() - began) / 1e9;
    }

    private static long inUse() {
        System.gc();
        return (Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory()) >> 20;
    }
}
