package dev.bellwether.benchmarks.sql;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.benchmarks.Costs;
import java.time.Duration;

/** Who elects leaders in a PostgreSQL. */
interface SqlContestant {
    String name();

    /** Connects to a PostgreSQL at this port: one process's worth of candidates. */
    Costs.Client connect(int port, Duration lease);

    /** Returns a pool for those who bring none. */
    static HikariDataSource pool(int port, int size) {
        var config = new HikariConfig();
        config.setJdbcUrl(uri(port));
        config.setMaximumPoolSize(size);
        config.setMinimumIdle(1);
        return new HikariDataSource(config);
    }

    static String uri(int port) {
        return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres&connectTimeout=3&socketTimeout=5";
    }
}
