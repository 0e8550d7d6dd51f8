package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.ConnectUri;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mariadb.jdbc.MariaDbDataSource;

/** What can never work is no outage: it is told, and not tried without an end. */
class UnusableTest {
    @TempDir
    private static Path folder;

    static Stream<String> reservedNames() {
        var name = "bellwether.table=order";
        return Stream.of(
                PostgresServer.shared().uri() + "&" + name,
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri() + "&" + name,
                MysqlFamilyServer.shared(Kind.MYSQL).uri() + "&" + name,
                "jdbc:h2:mem:unusable;DB_CLOSE_DELAY=-1?" + name,
                "jdbc:sqlite:" + folder.resolve("reserved.db") + "?" + name);
    }

    @ParameterizedTest
    @MethodSource("reservedNames")
    void aTableWithAReservedNameIsNamedAtOnce(String uri) {
        requireUnusable(uri, "order");
    }

    static Stream<String> missingSchemas() {
        var name = "bellwether.table=ops.election";
        return Stream.of(
                "jdbc:h2:mem:unusable;DB_CLOSE_DELAY=-1?" + name,
                "jdbc:sqlite:" + folder.resolve("schema.db") + "?" + name);
    }

    @ParameterizedTest
    @MethodSource("missingSchemas")
    void aMissingSchemaIsNamedAtOnce(String uri) {
        requireUnusable(uri, "ops.election");
    }

    private static void requireUnusable(String uri, String table) {
        assertThatThrownBy(() -> Elections.connect(uri))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("cannot be used with the table " + table)
                .hasMessageContaining("MariaDB 10.6, MySQL 8");
    }

    /** As on a server that is too old for SKIP LOCKED, which the first claim needs. */
    @Test
    void inOperationItIsToleratedForAWhileOnly() {
        var uri = ConnectUri.parse("jdbc:h2:mem:unusable");
        var faults = new SqlErrors(Source.of(uri), SqlConfig.defaults());
        assertThat(faults.inOperation(syntaxError()))
                .isInstanceOf(AccessRefusedException.class)
                .hasMessageContaining("MariaDB 10.6, MySQL 8");
    }

    /** The first claim needs it, and a candidate would learn only then that it can never lead. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void aServerThatIsTooOldForSkipLockedIsRefusedAtTheStart(Kind kind) {
        var uri = MysqlFamilyServer.shared(kind).uri();
        assertThatThrownBy(() -> SqlElections.using(tooOld(DataSource.class, new MariaDbDataSource(uri))))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("the database is older than PostgreSQL 13, MariaDB 10.6, MySQL 8")
                .hasMessageContaining("near 'SKIP LOCKED'");
    }

    /** Shows a server as one before MariaDB 10.6 or MySQL 8, which does not understand that. */
    private static <T> T tooOld(Class<T> face, T real) {
        return face.cast(Proxy.newProxyInstance(
                UnusableTest.class.getClassLoader(), new Class<?>[] {face}, (proxy, method, arguments) -> {
                    if (arguments != null && String.valueOf(arguments[0]).contains("SKIP LOCKED")) {
                        throw syntaxError();
                    }
                    try {
                        var made = method.invoke(real, arguments);
                        return made instanceof Connection connection
                                ? tooOld(Connection.class, connection)
                                : made instanceof Statement statement && method.getReturnType() == Statement.class
                                        ? tooOld(Statement.class, statement)
                                        : made;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    private static SQLException syntaxError() {
        return new SQLException("You have an error in your SQL syntax; ... near 'SKIP LOCKED'", "42000", 1064);
    }

    /** Too many connections of a user: MySQL gives that the state of a statement that it does not understand. */
    @ParameterizedTest
    @CsvSource({"1203", "1226"})
    void whatPassesIsAnOutage(int code) {
        assertThat(SqlErrors.kindOf(new SQLException("max_user_connections", "42000", code)))
                .isEqualTo(SqlErrors.Kind.NO_ANSWER);
    }

    /** Each connection would have a database of its own. */
    @ParameterizedTest
    @ValueSource(strings = {"jdbc:sqlite::memory:", "jdbc:sqlite:", "jdbc:sqlite:file::memory:"})
    void sqliteInTheMemoryOfAConnectionIsRefused(String uri) {
        assertThatThrownBy(() -> Elections.connect(uri))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("in the memory of one connection");
    }
}
