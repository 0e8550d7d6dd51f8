package dev.bellwether.benchmarks.sql;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;

/** One process's worth of candidates, of whatever make. */
interface Contestant extends AutoCloseable {

    /** Lets one candidate stand. */
    Seat stand(String election);

    /** Ends what is left. */
    @Override
    void close();

    /** One candidate. */
    interface Seat {
        /** Returns whether it believes to lead. */
        boolean leads();

        /** Gives the seat up in order, if it has it, and stands no more. */
        void leave();
    }

    /** Makes contestants. */
    interface Make {
        String name();

        /** Connects to a PostgreSQL at this port. */
        Contestant connect(int port, Duration lease);
    }

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
