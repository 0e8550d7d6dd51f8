package dev.bellwether.sql;

import dev.bellwether.spi.ConnectUri;
import java.sql.SQLException;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/** The tables that elections need, for those who create them by their own means. */
public final class SqlSchema {
    private SqlSchema() {}

    /**
     * Returns the statements, each ended by a semicolon, that create the tables which this URI's settings name.
     * Connects to find out what kind of database it is; changes nothing.
     */
    public static String ddl(ConnectUri uri) {
        return ddl(Source.of(uri), SqlProvider.config(uri));
    }

    /** Returns the statements, each ended by a semicolon, that create the tables on this kind of database. */
    public static String ddl(DataSource dataSource, SqlConfig config) {
        return ddl(Source.of(dataSource), config);
    }

    private static String ddl(Source source, SqlConfig config) {
        var session = new SqlConnection(source);
        try {
            var dialect = session.use(source.startPatience(), Dialect::of);
            return dialect.ddl().stream()
                    .map(sql -> dialect.fill(sql, config) + ";\n")
                    .collect(Collectors.joining());
        } catch (SQLException e) {
            throw new SqlErrors(source, config).atStart(e);
        } finally {
            session.close();
        }
    }
}
