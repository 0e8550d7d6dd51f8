package dev.bellwether.benchmarks.sql;

import dev.bellwether.benchmarks.Vacancies;
import dev.bellwether.testkit.faults.Ours;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;

/** How long nobody leads on PostgreSQL: ours, and Spring Integration's JDBC leader. Argument: rounds. */
final class VacancyFigures {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private VacancyFigures() {}

    public static void main(String[] arguments) throws IOException, SQLException {
        var vacancies = new Vacancies(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 30, LEASE);
        try (var server = Server.start();
                var ground = new LinkedServer(server, PLACES)) {
            vacancies.measure("Bellwether", Ours.class, ground);
            vacancies.measure("Spring Integration", SpringInAProcess.class, ground);
        }
    }
}
