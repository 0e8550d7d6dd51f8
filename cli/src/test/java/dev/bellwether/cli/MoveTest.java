package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Never;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** From ZooKeeper to Kafka: each process is restarted, one after the other. */
@Timeout(300)
class MoveTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int PROCESSES = 3;

    private record Member(Elections elections, Candidacy candidacy) {}

    private final List<Member> processes = new ArrayList<>();
    private final LeadershipAuditor auditor = new LeadershipAuditor();
    private long highest;

    @Test
    void threeDeploymentsLeadFromZooKeeperToKafka() {
        try (var ensemble = ZooKeeperServers.start(1, 0);
                var brokers = KafkaBrokers.start(1)) {
            Supplier<Elections> old =
                    () -> Elections.connect("zk://" + ensemble.addresses() + "/elections?tickTime=100ms");
            Supplier<Elections> next = () -> Elections.connect("kafka://" + brokers.bootstrap());
            for (var i = 0; i < PROCESSES; i++) {
                processes.add(start(old));
            }
            lead("by ZooKeeper");
            deploy("jointly", () -> Elections.jointly(old.get(), next.get()));
            deploy("by Kafka", next);
            assertThat(auditor.violations()).as(Never.mark("none")).isEmpty();
        } finally {
            processes.forEach(process -> process.elections.close());
            auditor.close();
        }
    }

    private Member start(Supplier<Elections> step) {
        var elections = step.get();
        var candidacy = elections.stand("billing", CandidacyConfig.ofLease(Duration.ofSeconds(3)));
        auditor.audit(candidacy);
        return new Member(elections, candidacy);
    }

    /** Starts each process again, one after the other. */
    private void deploy(String how, Supplier<Elections> step) {
        for (var i = 0; i < PROCESSES; i++) {
            var former = processes.remove(0);
            processes.add(start(step));
            former.elections.close();
            lead(how + ", " + (i + 1) + " of " + PROCESSES);
        }
    }

    private void lead(String how) {
        var mandate = Eventually.eventually(
                "one leads " + how,
                PATIENCE,
                () -> processes.stream()
                        .flatMap(process -> process.candidacy.mandate().stream())
                        .filter(Mandate::isValid)
                        .findFirst());
        assertThat(mandate.token()).as("the token of one that leads " + how).isGreaterThanOrEqualTo(highest);
        highest = mandate.token();
        System.out.println("token " + highest + ": " + how);
    }
}
