package dev.bellwether.outbox;

import static dev.bellwether.fixtures.Sql.execute;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import java.sql.SQLException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Why a writer that prepares its transaction must have modified the row that stands for its key: what it has only
 * locked is free when the server was started again, and the next writer of the key overtakes it.
 */
class PreparedLocksTest {
    private static final int LOCK_WAIT_TIMEOUT = 1205;

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void aPreparedTransactionKeepsTheRowsThatItHasModified(Kind kind) throws Exception {
        try (var server = MysqlFamilyServer.start(kind)) {
            try (var one = server.connect()) {
                execute(one, "CREATE TABLE orders (id integer PRIMARY KEY, n integer NOT NULL)");
                execute(one, "INSERT INTO orders VALUES (1, 0), (2, 0)");
                execute(one, "CREATE TABLE other (id integer AUTO_INCREMENT PRIMARY KEY)");
                execute(one, "XA START 'x'");
                execute(one, "SELECT n FROM orders WHERE id = 1 FOR UPDATE");
                execute(one, "UPDATE orders SET n = n + 1 WHERE id = 2");
                execute(one, "INSERT INTO other VALUES (NULL)");
                assertThat(isFree(server, 1)).as("locked, while it is open").isFalse();
                execute(one, "XA END 'x'");
                execute(one, "XA PREPARE 'x'");

                assertThat(isFree(server, 2)).as("modified, prepared").isFalse();
            }
            server.crashAndRestart();
            assertThat(isFree(server, 2)).as("modified, after a restart").isFalse();
            assertThat(isFree(server, 1)).as("only locked, after a restart").isTrue();
        }
    }

    private static boolean isFree(MysqlFamilyServer server, int order) throws SQLException {
        try (var connection = server.connect()) {
            connection.setAutoCommit(false);
            execute(connection, "SET SESSION innodb_lock_wait_timeout = 1");
            execute(connection, "SELECT n FROM orders WHERE id = " + order + " FOR UPDATE");
            return true;
        } catch (SQLException e) {
            if (e.getErrorCode() != LOCK_WAIT_TIMEOUT) {
                throw e;
            }
            return false;
        }
    }
}
