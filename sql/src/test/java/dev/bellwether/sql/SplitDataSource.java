package dev.bellwether.sql;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.logging.Logger;
import javax.sql.DataSource;

/** Lends the connection that listens by another way than those for statements. */
final class SplitDataSource implements DataSource {
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

    @Override
    public Connection getConnection(String username, String password) throws SQLException {
        return getConnection();
    }

    @Override
    public PrintWriter getLogWriter() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void setLogWriter(PrintWriter out) {}

    @Override
    public void setLoginTimeout(int seconds) {}

    @Override
    public int getLoginTimeout() {
        return 0;
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getGlobal();
    }

    @Override
    public <T> T unwrap(Class<T> face) throws SQLException {
        throw new SQLException("it wraps nothing");
    }

    @Override
    public boolean isWrapperFor(Class<?> face) {
        return false;
    }
}
