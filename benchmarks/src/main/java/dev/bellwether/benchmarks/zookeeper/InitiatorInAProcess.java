package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.benchmarks.SpringCandidate;
import dev.bellwether.testkit.faults.Contestant;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.springframework.integration.zookeeper.leader.LeaderInitiator;

/**
 * Spring Integration's leader on ZooKeeper, over Curator's LeaderSelector, for the fault bench: with a session of the
 * lease, and its defaults else.
 */
public final class InitiatorInAProcess implements Contestant.Maker {
    /** For the process that stands. */
    public InitiatorInAProcess() {}

    @Override
    public Contestant stand(Contestant.Orders orders) {
        var session = (int) orders.lease().toMillis();
        var client =
                CuratorFrameworkFactory.newClient(orders.uri(), session, session, new ExponentialBackoffRetry(100, 20));
        client.start();
        var candidate = new SpringCandidate(orders);
        var initiator = new LeaderInitiator(client, candidate, "/initiator");
        initiator.start();
        return candidate.contestant(() -> initiator.getContext().isLeader(), () -> {
            initiator.stop();
            client.close();
        });
    }
}
