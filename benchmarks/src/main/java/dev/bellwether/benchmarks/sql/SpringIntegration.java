package dev.bellwether.benchmarks.sql;

import dev.bellwether.benchmarks.Costs;
import java.time.Duration;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** Spring Integration's leader election over its JDBC lock registry, with its defaults but for the lease. */
final class SpringIntegration implements SqlContestant {
    private static final int POOL = 10;

    @Override
    public String name() {
        return "Spring Integration";
    }

    @Override
    public Costs.Client connect(int port, Duration lease) {
        var pool = SqlContestant.pool(port, POOL);
        return new Costs.Client() {
            private final Queue<Costs.Seat> seats = new ConcurrentLinkedQueue<>();

            @Override
            public Costs.Seat stand(String election) {
                // a repository is what tells one candidate from another
                var repository =
                        new DefaultLockRepository(pool, UUID.randomUUID().toString());
                repository.setTransactionManager(new JdbcTransactionManager(pool));
                repository.setCheckDatabaseOnStart(false);
                repository.afterPropertiesSet();
                repository.afterSingletonsInstantiated();
                repository.start();
                var initiator = new LockRegistryLeaderInitiator(
                        new JdbcLockRegistry(repository, lease),
                        new DefaultCandidate(UUID.randomUUID().toString(), election));
                initiator.start();
                var seat = new Costs.Seat() {
                    @Override
                    public boolean leads() {
                        return initiator.getContext().isLeader();
                    }

                    @Override
                    public void leave() {
                        seats.remove(this);
                        initiator.stop();
                        repository.stop();
                    }
                };
                seats.add(seat);
                return seat;
            }

            @Override
            public void close() {
                seats.forEach(Costs.Seat::leave);
                pool.close();
            }
        };
    }
}
