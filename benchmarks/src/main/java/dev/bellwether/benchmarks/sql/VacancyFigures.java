package dev.bellwether.benchmarks.sql;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Vacancies;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;

/**
 * How long nobody leads on PostgreSQL: ours, Spring Integration's JDBC leader, and ShedLock with its keep-alive, which
 * accepts no lease below 30 s and so has rounds of its own. Arguments: rounds, rounds of ShedLock.
 */
final class VacancyFigures {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final Duration LEAST_KEPT_ALIVE = Duration.ofSeconds(30);
    private static final int PLACES = 3;

    private VacancyFigures() {}

    public static void main(String[] arguments) throws IOException, SQLException {
        var vacancies = Vacancies.of(arguments, LEASE);
        var few = arguments.length > 1 ? Integer.parseInt(arguments[1]) : Math.min(5, vacancies.rounds());
        try (var server = Server.start();
                var ground = new LinkedServer("PostgreSQL", server.port(), PLACES, Server::plainUri)) {
            vacancies.measure("Bellwether", BellwetherContestant.class, ground);
            vacancies.measure("Spring Integration", SpringInAProcess.class, ground);
            if (few > 0) {
                new Vacancies(few, LEAST_KEPT_ALIVE).measure("ShedLock", ShedLockInAProcess.class, ground);
            }
        }
    }
}
