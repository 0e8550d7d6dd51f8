package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What counts as a proof, and from when. */
class ProofTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final Duration LEASE = Duration.ofSeconds(6);

    @Test
    void aProofIsAsOldAsItsFirstRequest() {
        var each = Duration.ofMillis(60); // each way, of each of five requests, one after another
        try (var proxy = FaultProxy.to(
                        "127.0.0.1",
                        Integer.parseInt(SharedServer.get().addresses().replaceAll(".*:", "")));
                var elections = Elections.connect(ZooKeeperInfrastructure.uri("127.0.0.1:" + proxy.port()))) {
            proxy.delay(each);
            var candidacy = elections.stand("old-proof", CandidacyConfig.ofLease(Duration.ofSeconds(6)));
            Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
            Eventually.throughout(
                    "each proof is old when it comes",
                    Duration.ofSeconds(6),
                    () -> candidacy
                            .status()
                            .sinceProof()
                            .filter(age -> age.compareTo(each.multipliedBy(9)) < 0)
                            .isEmpty());
            assertThat(candidacy.isLeader()).isTrue();
        }
    }

    /** A follower that has lost its leader answers reads, and pings, as if nothing had happened. */
    @Test
    void whatAFollowerAnswersByItselfProvesNothing() {
        var lease = Duration.ofSeconds(2);
        try (var servers = ZooKeeperServers.start(3, 0);
                var elections = Elections.connect(
                        ZooKeeperInfrastructure.uri(servers.follower().address()))) {
            var candidacy = elections.stand("follower", CandidacyConfig.ofLease(lease));
            Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
            var leader = servers.leader();
            leader.pause(); // its followers notice after three seconds
            var latest = System.nanoTime() + lease.toNanos();
            Eventually.eventually("the deadline passes", PATIENCE, () -> {
                var overdue = System.nanoTime() - latest >= 0; // read before isLeader() reads its clock
                assertThat(overdue && candidacy.isLeader())
                        .as("leads after the deadline")
                        .isFalse();
                return overdue;
            });
            leader.resume();
            Eventually.eventually("it leads again", PATIENCE, candidacy::isLeader);
        }
    }

    /** What a slow server is asked a thousand times keeps it from ever answering in time. */
    @Tag("full")
    @Test
    void aThousandStandOnAServerThatHardlyGetsOn() {
        try (var servers = ZooKeeperServers.start(1, 0);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            var all = java.util.stream.IntStream.range(0, 1_000)
                    .mapToObj(i -> elections.stand("slowly-" + i, CandidacyConfig.ofLease(LEASE)))
                    .toList();
            var server = servers.servers().get(0);
            Eventually.eventually("all lead", PATIENCE, () -> {
                server.pause();
                LockSupport.parkNanos(95_000_000);
                server.resume();
                LockSupport.parkNanos(10_000_000);
                return all.stream().allMatch(Candidacy::isLeader);
            });
        }
    }

    @Test
    void aThousandElectionsAreProvenTogether() {
        try (var servers = ZooKeeperServers.start(1, 0);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            var all = java.util.stream.IntStream.range(0, 1_000)
                    .mapToObj(i -> elections.stand("together-" + i, CandidacyConfig.ofLease(LEASE)))
                    .toList();
            Eventually.eventually("all lead", PATIENCE, () -> all.stream().allMatch(c -> c.isLeader()));
            var server = servers.servers().get(0);
            // where the machine stalls, leaders claim again, which takes requests: so it is a matter of one quiet lease
            Eventually.eventually("a lease in which all lead on takes few requests, pings included", PATIENCE, () -> {
                var before = server.figure("zk_packets_received");
                var began = System.nanoTime();
                var lead = true;
                while (lead && System.nanoTime() - began < LEASE.toNanos()) {
                    lead = all.stream().allMatch(Candidacy::isLeader);
                    LockSupport.parkNanos(1_000_000);
                }
                return lead && server.figure("zk_packets_received") - before < 60;
            });
            assertThat(server.figure("zk_num_alive_connections"))
                    .as("one each, and this question")
                    .isLessThan(4);
        }
    }
}
