package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.testkit.faults.Contestant;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.springframework.integration.leader.AbstractCandidate;
import org.springframework.integration.leader.Context;
import org.springframework.integration.zookeeper.leader.LeaderInitiator;

/**
 * Spring Integration's leader on ZooKeeper, over Curator's LeaderSelector, for the fault bench: with a session of the lease, and its defaults else. It has no token; the instant at
 * which it was told of its leadership stands for one.
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
        var candidate = new Told(orders);
        var initiator = new LeaderInitiator(client, candidate, "/initiator");
        initiator.start();
        return new Contestant() {
            @Override
            public boolean isLeader() {
                return initiator.getContext().isLeader();
            }

            @Override
            public long token() {
                return candidate.grantedNanos;
            }

            @Override
            public void close() {
                initiator.stop();
                client.close();
            }
        };
    }

    /** Hears of its leadership. */
    private static final class Told extends AbstractCandidate {
        private final Contestant.Orders orders;
        private volatile long grantedNanos;

        private Told(Contestant.Orders orders) {
            super(orders.candidate(), orders.election());
            this.orders = orders;
        }

        @Override
        public void onGranted(Context context) {
            grantedNanos = System.nanoTime();
            orders.held().run();
        }

        @Override
        public void onRevoked(Context context) {
            orders.held().run();
        }
    }
}
