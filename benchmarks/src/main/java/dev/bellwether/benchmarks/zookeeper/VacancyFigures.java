package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.benchmarks.Vacancies;
import dev.bellwether.testkit.faults.Ours;
import dev.bellwether.testkit.zookeeper.ZooKeeperGround;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;

/** How long nobody leads on three servers of ZooKeeper: ours, and Curator's LeaderLatch. Argument: rounds. */
final class VacancyFigures {
    private static final Duration SESSION = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private VacancyFigures() {}

    public static void main(String[] arguments) {
        var vacancies = new Vacancies(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 30, SESSION);
        try (var servers = ZooKeeperServers.start(3, PLACES)) {
            vacancies.measure("Bellwether", Ours.class, new ZooKeeperGround(servers, PLACES, Faults::uri));
            vacancies.measure(
                    "LeaderLatch", LatchInAProcess.class, new ZooKeeperGround(servers, PLACES, addresses -> addresses));
        }
    }
}
