package dev.bellwether.sql;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import javax.sql.DataSource;

/**
 * Elections on an SQL database that the application has already: PostgreSQL, MariaDB, MySQL, H2 or SQLite.
 *
 * <p>What {@link Elections#connect(String)} does with a {@code jdbc:} URI, this does with a {@link DataSource}. At most
 * two connections are used at a time, however many elections there are: one for statements, borrowed for each and given
 * back, and on PostgreSQL one that listens, kept until the elections are closed. A pool that is exhausted for longer
 * than the lease costs the leadership: let it have two to spare.
 */
public final class SqlElections {
    private SqlElections() {}

    /** Holds elections on a database, with default settings. */
    public static Elections using(DataSource dataSource) {
        return using(dataSource, SqlConfig.defaults(), ElectionsConfig.defaults());
    }

    /**
     * Holds elections on a database. The data source stays open when the elections are closed.
     *
     * @throws dev.bellwether.ElectionException if the database is of an unknown kind, or its tables are not as they
     *     should be
     * @throws dev.bellwether.UnavailableException if it does not answer
     */
    public static Elections using(DataSource dataSource, SqlConfig config, ElectionsConfig electionsConfig) {
        return Elections.over(
                "the database of the given " + dataSource.getClass().getSimpleName(),
                () -> SqlLeaseStore.open(Source.of(dataSource), config),
                electionsConfig);
    }
}
