package dev.bellwether.benchmarks.sql;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.benchmarks.SpringCandidate;
import dev.bellwether.testkit.faults.Contestant;
import java.util.UUID;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.jdbc.support.JdbcTransactionManager;

/**
 * Spring Integration's leader election over its JDBC lock registry, for the fault bench: with its defaults but for the
 * lease.
 */
public final class SpringInAProcess implements Contestant.Maker {
    private static final int POOL = 4;

    /** For the process that stands. */
    public SpringInAProcess() {}

    @Override
    public Contestant stand(Contestant.Orders orders) {
        var config = new HikariConfig();
        config.setJdbcUrl(orders.uri());
        config.setMaximumPoolSize(POOL);
        var pool = new HikariDataSource(config);
        var repository = new DefaultLockRepository(pool, UUID.randomUUID().toString());
        repository.setTransactionManager(new JdbcTransactionManager(pool));
        repository.setCheckDatabaseOnStart(false);
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        repository.start();
        var candidate = new SpringCandidate(orders);
        var initiator = new LockRegistryLeaderInitiator(new JdbcLockRegistry(repository, orders.lease()), candidate);
        initiator.start();
        return candidate.contestant(() -> initiator.getContext().isLeader(), () -> {
            initiator.stop();
            repository.stop();
            pool.close();
        });
    }
}
