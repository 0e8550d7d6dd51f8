package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** One process, as far as the server can tell, that stands for elections. */
interface ZooKeeperContestant extends AutoCloseable {

    /** Stands for an election; returns before it is known who leads. */
    Standing stand(String election);

    @Override
    void close();

    /** One candidate. */
    interface Standing {
        boolean leads();

        void close();
    }

    /** How to make them. */
    interface Kind {
        String name();

        ZooKeeperContestant connect(String addresses, Duration session);
    }

    /** Ours. */
    Kind BELLWETHER = new Kind() {
        @Override
        public String name() {
            return "Bellwether";
        }

        @Override
        public ZooKeeperContestant connect(String addresses, Duration session) {
            return new Bellwether(Elections.connect("zk://" + addresses + "/ours?tickTime=PT0.1S"), session);
        }
    };

    /** Curator's. */
    Kind LATCH = new Kind() {
        @Override
        public String name() {
            return "LeaderLatch";
        }

        @Override
        public ZooKeeperContestant connect(String addresses, Duration session) {
            var client = CuratorFrameworkFactory.newClient(
                    addresses,
                    (int) session.toMillis(),
                    (int) session.toMillis(),
                    new ExponentialBackoffRetry(100, 20));
            client.start();
            return new Latch(client);
        }
    };

    /** Of ours. */
    record Bellwether(Elections elections, Duration session) implements ZooKeeperContestant {
        @Override
        public Standing stand(String election) {
            return new Stood(elections.stand(election, CandidacyConfig.ofLease(session)));
        }

        @Override
        public void close() {
            elections.close();
        }
    }

    /** One of ours. */
    record Stood(Candidacy candidacy) implements Standing {
        @Override
        public boolean leads() {
            return candidacy.isLeader();
        }

        @Override
        public void close() {
            candidacy.close();
        }
    }

    /** Of Curator's. */
    record Latch(CuratorFramework client) implements ZooKeeperContestant {
        @Override
        public Standing stand(String election) {
            var latch = new LeaderLatch(client, "/latch/" + election);
            try {
                latch.start();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            return new Latched(latch);
        }

        @Override
        public void close() {
            client.close();
        }
    }

    /** One of Curator's. */
    record Latched(LeaderLatch latch) implements Standing {
        @Override
        public boolean leads() {
            return latch.hasLeadership();
        }

        @Override
        public void close() {
            try {
                latch.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
