package dev.bellwether.sql;

import dev.bellwether.fixtures.LendingDataSource;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import javax.sql.DataSource;

/** Lends the connection that listens by another way than those for statements. */
final class SplitDataSource extends LendingDataSource {
    private final Opening statements;
    private final String listening;

    /** Gives one connection. */
    private interface Opening {
        Connection open() throws SQLException;
    }

    SplitDataSource(String statements, String listening) {
        this.statements = () -> DriverManager.getConnection(statements);
        this.listening = listening;
    }

    SplitDataSource(DataSource statements, String listening) {
        this.statements = statements::getConnection;
        this.listening = listening;
    }

    @Override
    public Connection getConnection() throws SQLException {
        return Thread.currentThread().getName().startsWith("bellwether-sql-listen")
                ? DriverManager.getConnection(listening)
                : statements.open();
    }
}
