package dev.bellwether.redis;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.fixtures.ServersGround;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the
 * soak profile.
 */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);
    private static final String PREFIX = "?prefix=bench";

    @Test
    void noFaultMakesTwoLeadersOnAServerThatKeepsWhatItAcknowledges() {
        try (var server = ValkeyServers.start();
                var ground = new ServersGround(
                        "Valkey on one server",
                        List.of(server),
                        ports -> "redis://" + ServersGround.hosts(ports) + PREFIX)) {
            FaultBench.run(ground, Setting.of("redis", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }
}
