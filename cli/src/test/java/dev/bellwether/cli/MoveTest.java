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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** From ZooKeeper to Kafka: each process is restarted, one after the other, while either of the two fails. */
@Tag("full") // for a minute
@Timeout(500)
class MoveTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int PROCESSES = 3;

    private static final Duration LEASE = Duration.ofSeconds(3);

    /** What happens to one of the two. */
    private record Fault(String name, Runnable begin, Runnable end) {
        static Fault stillness(String of, Runnable pause, Runnable resume) {
            return new Fault(of + " stood still", pause, () -> {
                Eventually.throughout(
                        "a lease and a half", LEASE.multipliedBy(3).dividedBy(2), () -> true);
                resume.run();
            });
        }
    }

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
            var server = ensemble.servers().get(0);
            var broker = brokers.brokers().get(0);
            var faults = List.of(
                    Fault.stillness("ZooKeeper", server::pause, server::resume),
                    Fault.stillness("Kafka", broker::pause, broker::resume),
                    new Fault("ZooKeeper was killed and started", server::kill, server::start),
                    new Fault("Kafka was killed and started", broker::kill, broker::start));
            deploy("jointly", () -> Elections.jointly(old.get(), next.get()), faults);
            deploy("by Kafka", next, faults);
            assertThat(auditor.violations()).as(Never.mark("none")).isEmpty();
        } finally {
            processes.forEach(process -> process.elections.close());
            auditor.close();
        }
    }

    private Member start(Supplier<Elections> step) {
        var elections = step.get();
        var candidacy = elections.stand("billing", CandidacyConfig.ofLease(LEASE));
        auditor.audit(candidacy);
        return new Member(elections, candidacy);
    }

    /** Starts each process again, one after the other. Behind each, and in the end, comes a fault. */
    private void deploy(String how, Supplier<Elections> step, List<Fault> faults) {
        var pending = new ArrayList<>(faults);
        for (var i = 0; i < PROCESSES; i++) {
            var former = processes.remove(0);
            processes.add(start(step));
            former.elections.close();
            var who = how + ", " + (i + 1) + " of " + PROCESSES;
            lead(who);
            suffer(pending.remove(0), who);
        }
        pending.forEach(fault -> suffer(fault, how));
    }

    private void suffer(Fault fault, String who) {
        fault.begin.run();
        fault.end.run();
        lead(who + ", after " + fault.name);
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
