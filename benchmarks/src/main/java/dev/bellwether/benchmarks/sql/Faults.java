package dev.bellwether.benchmarks.sql;

import dev.bellwether.benchmarks.FaultRun;
import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.testkit.faults.BellwetherContestant;
import dev.bellwether.testkit.faults.Contestant;
import java.time.Duration;

/** The fault bench on PostgreSQL: ours, and Spring Integration's JDBC leader, under the same seed. Arguments: seconds, seed, and, as a third, the seconds
 * after which Spring Integration's driver gives up to wait for an answer ({@code socketTimeout}); without it, it has no
 * such bound. Ours has one of its own. */
final class Faults {
    private static final Duration LEASE = Duration.ofSeconds(2);

    private Faults() {}

    public static void main(String[] arguments) throws Exception {
        var run = FaultRun.of(arguments, LEASE);
        try (var server = Server.start()) {
            on(run, "Bellwether on PostgreSQL", BellwetherContestant.class, server, "");
            if (arguments.length > 2) {
                var name = "Spring Integration on PostgreSQL with socketTimeout " + arguments[2] + " s";
                on(run, name, SpringInAProcess.class, server, "&socketTimeout=" + arguments[2]);
            } else {
                on(run, "Spring Integration on PostgreSQL", SpringInAProcess.class, server, "");
            }
        }
    }

    private static void on(
            FaultRun run, String name, Class<? extends Contestant.Maker> maker, Server server, String query) {
        try (var ground = new LinkedServer("PostgreSQL", server.port(), 3, port -> Server.plainUri(port) + query)) {
            run.run(name, maker, ground);
        }
    }
}
