package dev.bellwether.sql;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.faults.BellwetherContestant;
import dev.bellwether.testkit.faults.Contestant;
import java.util.concurrent.TimeUnit;

/** Our candidates over a pool of the application's, of which we know nothing but that it lends connections. */
final class Pooled implements Contestant.Maker {
    private static final long RETRY_MILLIS = 100;

    private Pooled() {}

    @Override
    public Contestant stand(Contestant.Orders orders) throws InterruptedException {
        var config = new HikariConfig();
        config.setJdbcUrl(orders.uri());
        config.setMaximumPoolSize(3);
        config.setInitializationFailTimeout(-1);
        // else Hikari asks the first connection, and if that breaks, gives out none any more
        config.setTransactionIsolation("TRANSACTION_REPEATABLE_READ");
        config.setConnectionTimeout(1_000);
        var pool = new HikariDataSource(config);
        while (true) {
            try {
                return BellwetherContestant.stand(SqlElections.using(pool), orders);
            } catch (UnavailableException e) {
                TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
            }
        }
    }
}
