package dev.bellwether.benchmarks.etcd;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Vacancies;
import java.time.Duration;

/**
 * How long nobody leads on a server of etcd: jetcd's Election. For scale, since Bellwether has no backend there.
 * Argument: rounds.
 */
final class VacancyFigures {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private VacancyFigures() {}

    public static void main(String[] arguments) {
        try (var server = new EtcdServer();
                var ground = new LinkedServer("etcd on 1 server (for scale)", server.port(), PLACES, EtcdServer::url)) {
            Vacancies.of(arguments, LEASE).measure("jetcd", JetcdInAProcess.class, ground);
        }
    }
}
