package dev.bellwether.benchmarks.redis;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Vacancies;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.time.Duration;

/** How long nobody leads on one server of Valkey: ours, and Redisson's fenced lock. Argument: rounds. */
final class VacancyFigures {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;
    private static final String GROUND = "Valkey on 1 server";

    private VacancyFigures() {}

    public static void main(String[] arguments) {
        var vacancies = Vacancies.of(arguments, LEASE);
        try (var server = ValkeyServers.start()) {
            try (var ground = new LinkedServer(
                    GROUND, server.port(), PLACES, link -> "redis://127.0.0.1:" + link + "?prefix=ours")) {
                vacancies.measure("Bellwether", BellwetherContestant.class, ground);
            }
            try (var ground = new LinkedServer(GROUND, server.port(), PLACES, link -> "redis://127.0.0.1:" + link)) {
                vacancies.measure("Redisson", RedissonInAProcess.class, ground);
            }
        }
    }
}
