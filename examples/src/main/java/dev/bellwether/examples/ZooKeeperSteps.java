package dev.bellwether.examples;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.zookeeper.ZooKeeperConfig;
import dev.bellwether.zookeeper.ZooKeeperElections;
import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;

/** The code of the page about ZooKeeper. */
final class ZooKeeperSteps {
    private ZooKeeperSteps() {}

    static void lead(FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = Elections.connect("zk://zoo1:2181,zoo2:2181,zoo3:2181/elections");
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }

    static Elections over(CuratorFramework client) {
        // tag::using
        var config = ZooKeeperConfig.builder()
                .root("/elections")
                .tickTime(Duration.ofSeconds(2)) // as on the servers
                .build();
        return ZooKeeperElections.using(client, config, ElectionsConfig.defaults());
        // end::using
    }

    static void deleteCandidates(CuratorFramework client, ZooKeeperConfig config) {
        // tag::delete-candidates
        ZooKeeperElections.deleteCandidates(client, config, "billing");
        // end::delete-candidates
    }
}
