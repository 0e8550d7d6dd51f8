package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.testkit.faults.Contestant;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's LeaderLatch, for the fault bench: with a session of the lease, and its defaults else. Its token is the
 * sequence number of its node.
 */
public final class LatchInAProcess implements Contestant.Maker {
    /** For the process that stands. */
    public LatchInAProcess() {}

    @Override
    public Contestant stand(Contestant.Orders orders) throws Exception {
        var session = (int) orders.lease().toMillis();
        var client =
                CuratorFrameworkFactory.newClient(orders.uri(), session, session, new ExponentialBackoffRetry(100, 20));
        client.start();
        var latch = new LeaderLatch(client, "/latch/" + orders.election(), orders.candidate());
        latch.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {
                orders.held().run();
            }

            @Override
            public void notLeader() {
                orders.held().run();
            }
        });
        latch.start();
        return new Standing(client, latch);
    }

    private record Standing(CuratorFramework client, LeaderLatch latch) implements Contestant {
        @Override
        public boolean isLeader() {
            return latch.hasLeadership();
        }

        @Override
        public long token() {
            var path = latch.getLastPathIsLeader();
            return path == null ? 0 : 1 + Long.parseLong(path.substring(path.lastIndexOf('-') + 1));
        }

        @Override
        public void close() {
            try {
                latch.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            client.close();
        }
    }
}
