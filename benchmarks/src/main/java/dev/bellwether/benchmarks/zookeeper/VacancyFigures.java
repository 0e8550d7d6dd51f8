package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.benchmarks.Vacancies;
import dev.bellwether.testkit.faults.BellwetherContestant;
import dev.bellwether.testkit.zookeeper.ZooKeeperGround;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;

/**
 * How long nobody leads on three servers of ZooKeeper: ours, Curator's LeaderLatch, and Spring Integration's leader.
 * Argument: rounds.
 */
final class VacancyFigures {
    private static final Duration SESSION = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private VacancyFigures() {}

    public static void main(String[] arguments) {
        var vacancies = Vacancies.of(arguments, SESSION);
        try (var servers = ZooKeeperServers.start(3, PLACES)) {
            vacancies.measure(
                    "Bellwether", BellwetherContestant.class, new ZooKeeperGround(servers, PLACES, Faults::uri));
            vacancies.measure(
                    "LeaderLatch", LatchInAProcess.class, new ZooKeeperGround(servers, PLACES, addresses -> addresses));
            vacancies.measure(
                    "Spring Integration",
                    InitiatorInAProcess.class,
                    new ZooKeeperGround(servers, PLACES, addresses -> addresses));
        }
    }
}
