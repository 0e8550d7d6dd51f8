package dev.bellwether.benchmarks.etcd;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Vacancies;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.time.Duration;

/** How long nobody leads on one member of etcd: ours, and jetcd's Election. Argument: rounds. */
final class VacancyFigures {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private VacancyFigures() {}

    public static void main(String[] arguments) {
        var vacancies = Vacancies.of(arguments, LEASE);
        try (var servers = EtcdServers.start(1)) {
            var port = servers.member(0).port();
            try (var ground =
                    new LinkedServer("etcd on 1 server", port, PLACES, link -> "etcd://127.0.0.1:" + link + "/ours")) {
                vacancies.measure("Bellwether", BellwetherContestant.class, ground);
            }
            try (var ground = new LinkedServer("etcd on 1 server", port, PLACES, link -> "http://127.0.0.1:" + link)) {
                vacancies.measure("jetcd", JetcdInAProcess.class, ground);
            }
        }
    }
}
