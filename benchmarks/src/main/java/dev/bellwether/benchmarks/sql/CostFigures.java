package dev.bellwether.benchmarks.sql;

import dev.bellwether.benchmarks.Costs;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;

/**
 * What elections cost on PostgreSQL, beside Spring Integration and ShedLock. Argument: seconds of counting. Spring
 * Integration has no figure at 10,000 elections: it has a thread for each.
 */
final class CostFigures {
    /** ShedLock keeps nothing shorter alive. */
    private static final Duration LEASE = Duration.ofSeconds(30);

    private static final int CANDIDATES = 500;

    private CostFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static void measure(String[] arguments) throws IOException, SQLException {
        // they complain of closed pools
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        System.setProperty("org.apache.logging.log4j.simplelog.level", "OFF");
        try (var server = Server.start()) {
            var costs = new Costs(
                    "PostgreSQL", server.port(), new Statements(server), "statements/s", Costs.time(arguments));
            for (var make : List.of(new BellwetherOnSql(), new SpringIntegration(), new ShedLock())) {
                costs.standBy(make.name(), lease -> make.connect(server.port(), lease), LEASE);
                costs.many(make.name(), lease -> make.connect(server.port(), lease), LEASE, 1_000);
                costs.crowd(make.name(), lease -> make.connect(server.port(), lease), LEASE, CANDIDATES);
            }
            for (var make : List.of(new BellwetherOnSql(), new ShedLock())) {
                costs.many(make.name(), lease -> make.connect(server.port(), lease), LEASE, 10_000);
            }
        }
    }

    /** The server's own count begins anew each time that it is asked for. */
    private static final class Statements implements Costs.Counter {
        private final Server server;
        private double count;

        Statements(Server server) {
            this.server = server;
        }

        @Override
        public double count() throws SQLException {
            count += server.statements();
            return count;
        }
    }
}
