package dev.bellwether.benchmarks.consul;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Vacancies;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.time.Duration;

/** How long nobody leads on one server of Consul. Argument: rounds. */
final class VacancyFigures {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private VacancyFigures() {}

    public static void main(String[] arguments) {
        var vacancies = Vacancies.of(arguments, LEASE);
        try (var servers = ConsulServers.start(1);
                var ground = new LinkedServer(
                        "Consul on 1 server",
                        servers.member(0).port(),
                        PLACES,
                        link -> "consul://127.0.0.1:" + link + "/ours")) {
            vacancies.measure("Bellwether", BellwetherContestant.class, ground);
        }
    }
}
