package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Ensembles whose tick is long against the sessions that they grant: one candidate is on a follower, the other on the
 * leader.
 */
@Timeout(300)
class TickTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    /** Undercuts two ticks, which servers grant at least if they are not told otherwise. */
    private static final String SHORTEST_SESSION = "200";

    private static ZooKeeperServers ensemble(int tickMillis) {
        return ZooKeeperServers.start(
                3,
                0,
                Map.of("tickTime", Integer.toString(tickMillis), "minSessionTimeout", SHORTEST_SESSION),
                List.of());
    }

    private static String uri(String address, int tickMillis) {
        return "zk://" + address + ',' + address.replace("127.0.0.1", "127.1") + "?tickTime="
                + Duration.ofMillis(tickMillis);
    }

    private static CandidacyConfig lease(Duration lease) {
        return CandidacyConfig.builder()
                .lease(lease)
                .standDownBudget(lease.dividedBy(10))
                .build();
    }

    /** A lease that is not refused, and hardly longer than it must be. */
    private static CandidacyConfig shortest(int tickMillis) {
        var timing = new ProofTiming(Duration.ofMillis(tickMillis));
        var millis = 200;
        while (!timing.fits(lease(Duration.ofMillis(millis)), 1)) {
            millis += 10;
        }
        return lease(Duration.ofMillis(Math.max(600, millis)));
    }

    /**
     * Whatever happens to servers meanwhile; where the candidate's own server dies, so do the touches that it has not
     * handed over.
     */
    @ParameterizedTest
    @ValueSource(ints = {100, 500, 2_000, 3_000})
    void twoNeverLeadWhateverTheTickOfTheEnsemble(int tickMillis) {
        var seed = System.nanoTime();
        System.out.println("seed " + seed);
        var random = new Random(seed);
        var config = shortest(tickMillis);
        try (var servers = ensemble(tickMillis);
                var auditor = new LeadershipAuditor()) {
            var follower = servers.follower();
            try (var first = Elections.connect(uri(follower.address(), tickMillis));
                    var second = Elections.connect(uri(servers.leader().address(), tickMillis))) {
                for (var round = 0; round < 2; round++) {
                    var election = "tick-" + tickMillis + '-' + round;
                    var one = first.stand(election, config);
                    auditor.audit(one);
                    Eventually.eventually("the one on the follower leads", PATIENCE, one::isLeader);
                    var other = second.stand(election, config);
                    auditor.audit(other);
                    var leads = Duration.ofMillis(random.nextInt(2 * tickMillis));
                    Eventually.throughout("it may lead", leads, () -> true);
                    follower.kill();
                    Eventually.eventually("the other leads", PATIENCE, other::isLeader);
                    follower.start();
                    one.close();
                    other.close();
                }
            }
        }
    }

    /** It was granted, and both led at once. */
    @Test
    void aLeaseThatIsTooShortForTheTickOfTheEnsembleIsRefused() {
        try (var servers = ensemble(3_000);
                var elections = Elections.connect(uri(servers.follower().address(), 3_000))) {
            assertThatThrownBy(() -> elections.stand(
                            "short",
                            CandidacyConfig.builder()
                                    .lease(Duration.ofSeconds(1))
                                    .standDownBudget(Duration.ofMillis(100))
                                    .build()))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("1000 ms")
                    .hasMessageContaining("tickTime of 3000 ms")
                    .hasMessageContaining("make the lease");
            assertThat(elections.election("short").leader()).isEmpty();
        }
    }

    private static boolean holds(Mandate mandate) {
        var began = System.nanoTime();
        while (mandate.isValid()
                && System.nanoTime() - began < Duration.ofSeconds(10).toNanos()) {
            LockSupport.parkNanos(1_000_000);
        }
        return mandate.isValid();
    }

    /** As {@code run} has it: a lease of two seconds, of which less than 1.4 are a mandate. */
    @Test
    void withATickOfHalfASecondALeaseOfTwoSecondsIsHeldWithoutALoss() {
        var config = CandidacyConfig.builder()
                .lease(Duration.ofSeconds(2))
                .standDownBudget(Duration.ofMillis(606))
                .build();
        try (var servers = ensemble(500);
                var elections = Elections.connect(uri(servers.follower().address(), 500))) {
            var candidacy = elections.stand("held", config);
            // a busy machine may stall for longer than there is between two proofs: five such times are no stall
            var held = false;
            for (var times = 0; times < 5 && !held; times++) {
                held = holds(Eventually.eventually("it leads", PATIENCE, candidacy::mandate));
            }
            assertThat(held).as("it leads for five leases").isTrue();
            assertThat(new ProofTiming(Duration.ofMillis(500)).renewal(config, 1))
                    .as("the age of a proof when the next comes, against a mandate of 1374 ms")
                    .isLessThan(Duration.ofMillis(1374 * 2 / 3));
        }
    }
}
