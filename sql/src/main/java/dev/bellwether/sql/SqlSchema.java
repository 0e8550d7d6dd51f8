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
     * Asks a server what kind of database it is, and opens no file; changes nothing.
     */
    public static String ddl(ConnectUri uri) {
        var source = Source.of(uri);
        var config = SqlProvider.config(uri);
        return Dialect.ofFile(Source.jdbc(uri.expanded()))
                .map(dialect -> ddl(dialect, config))
                .orElseGet(() -> ddl(source, config));
    }

    /** Returns the statements, each ended by a semicolon, that create the tables on this kind of database. */
    public static String ddl(DataSource dataSource, SqlConfig config) {
        return ddl(Source.of(dataSource), config);
    }

    private static String ddl(Source source, SqlConfig config) {
        var session = new SqlConnection(source);
        try {
            return ddl(session.use(source.startPatience(), Dialect::of), config);
        } catch (SQLException e) {
            throw new SqlErrors(source, config).atStart(e);
        } finally {
            session.close();
        }
    }

    private static String ddl(Dialect dialect, SqlConfig config) {
        return dialect.ddl().stream()
                .map(sql -> dialect.fill(sql, config) + ";\n")
                .collect(Collectors.joining());
    }
}
