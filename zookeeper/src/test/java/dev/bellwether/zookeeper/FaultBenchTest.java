package dev.bellwether.zookeeper;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import dev.bellwether.testkit.zookeeper.ZooKeeperGround;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the
 * soak profile. Each server draws its tick and the limits of sessions whenever it starts, so that they differ, and
 * change under the candidates.
 */
class FaultBenchTest {
    /** The session's timeout, too: shorter than two of the longest ticks, less the stand-down budget. */
    private static final Duration LEASE = Duration.ofMillis(1_500);

    private static final List<Integer> TICKS = List.of(100, 200, 500, 800);

    @Test
    void noFaultMakesTwoLeadersOnThreeServers() {
        var random = new Random(Long.getLong("bellwether.bench.seed", 1));
        try (var servers = ZooKeeperServers.startDrawing(3, ZooKeeperInfrastructure.LINKS, () -> settings(random))) {
            FaultBench.run(
                    new ZooKeeperGround(servers, ZooKeeperInfrastructure.LINKS, FaultBenchTest::uri),
                    Setting.of("zookeeper", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }

    private static Map<String, String> settings(Random random) {
        synchronized (random) {
            var tick = TICKS.get(random.nextInt(TICKS.size()));
            return Map.of(
                    "tickTime", tick.toString(),
                    "initLimit", Integer.toString(10_000 / tick),
                    "syncLimit", Integer.toString(3_000 / tick),
                    "minSessionTimeout", random.nextBoolean() ? "200" : "1000",
                    "maxSessionTimeout", random.nextBoolean() ? "1600" : "60000");
        }
    }

    private static String uri(String addresses) {
        return "zk://" + addresses + "?tickTime=" + Duration.ofMillis(TICKS.get(TICKS.size() - 1));
    }
}
