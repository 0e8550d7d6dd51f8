package dev.bellwether.benchmarks.outbox;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** Writes rows by a statement that takes a key and a value, as text. */
final class InsertPen implements OutboxContestant.Pen {
    private final Connection connection;
    private final PreparedStatement insert;

    InsertPen(OutboxServers stand, String sql) throws SQLException {
        connection = stand.connect();
        insert = connection.prepareStatement(sql);
    }

    @Override
    public void write(String key, String value) throws SQLException {
        insert.setString(1, key);
        insert.setString(2, value);
        insert.executeUpdate();
    }

    @Override
    public void close() throws SQLException {
        insert.close();
        connection.close();
    }
}
