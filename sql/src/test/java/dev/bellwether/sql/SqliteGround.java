package dev.bellwether.sql;

import dev.bellwether.testkit.faults.BenchEnvironment;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteErrorCode;

/** A file, which somebody else may keep locked for a while: that is all that can become of this server. */
final class SqliteGround implements BenchEnvironment, BenchEnvironment.Server {
    private final Path file;
    private @Nullable Connection locking;

    SqliteGround(Path file) {
        this.file = file;
    }

    @Override
    public String describe() {
        return "SQLite";
    }

    @Override
    public int places() {
        return 3;
    }

    @Override
    public String uri(int place) {
        return operatorsUri();
    }

    @Override
    public String operatorsUri() {
        return "jdbc:sqlite:" + file;
    }

    @Override
    public List<Server> servers() {
        return List.of(this);
    }

    /** Leases run by the wall clock of the machine, which all share. */
    @Override
    public boolean clocksMayStep() {
        return false;
    }

    @Override
    public boolean frozenMayBlockAll() {
        return true;
    }

    @Override
    public String name() {
        return "the file (locked)";
    }

    @Override
    public boolean isMortal() {
        return false;
    }

    @Override
    public void pause() {
        try {
            var connection = DriverManager.getConnection(operatorsUri());
            try (var statement = connection.createStatement()) {
                statement.execute("PRAGMA busy_timeout = 2000");
                statement.execute("BEGIN IMMEDIATE");
                locking = connection;
            } catch (SQLException e) {
                connection.close();
                if (e.getErrorCode() != SQLiteErrorCode.SQLITE_BUSY.code) {
                    throw e;
                } // else a candidate that is frozen keeps it locked, and is thawed only if we go on
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void resume() {
        var locked = locking;
        locking = null;
        if (locked != null) {
            try {
                locked.close(); // which rolls back
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    @Override
    public void kill() {
        throw new UnsupportedOperationException("a file does not die");
    }

    @Override
    public void start() {
        throw new UnsupportedOperationException("a file does not die");
    }
}
