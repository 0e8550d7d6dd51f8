package dev.bellwether.benchmarks.sql;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Trial;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;

/**
 * Trials on PostgreSQL: ours; Spring Integration's JDBC leader, whose driver waits for an answer as long as it takes, and
 * once more with the least bound that the driver knows; and ShedLock with its keep-alive, which accepts no lease below
 * 30 s. Arguments: those of {@link Trial}.
 */
final class Trials {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final Duration LEAST_KEPT_ALIVE = Duration.ofSeconds(30);
    private static final int PLACES = 3;

    private Trials() {}

    public static void main(String[] arguments) throws IOException, SQLException {
        var trial = Trial.of(arguments, LEASE);
        try (var server = Server.start();
                var ground = new LinkedServer("PostgreSQL", server.port(), PLACES, Server::plainUri)) {
            trial.hold("Bellwether", BellwetherContestant.class, ground);
            trial.hold("Spring Integration", SpringInAProcess.class, ground);
            try (var bounded = new LinkedServer(
                    "PostgreSQL", server.port(), PLACES, port -> Server.plainUri(port) + "&socketTimeout=1")) {
                trial.hold("Spring Integration; socketTimeout=1", SpringInAProcess.class, bounded);
            }
            trial.withLease(LEAST_KEPT_ALIVE).hold("ShedLock", ShedLockInAProcess.class, ground);
        }
    }
}
