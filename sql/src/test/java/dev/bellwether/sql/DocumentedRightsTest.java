package dev.bellwether.sql;

import static dev.bellwether.fixtures.Sql.execute;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The statements under "Rights" in {@code docs/sql.md}, run as they are printed: each user has no right but these. */
class DocumentedRightsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String PASSWORD = "geheim";
    private static final Pattern SECTION = Pattern.compile("(?s)\\n## Rights\\n(.*?)\\n## ");
    private static final Pattern BLOCK = Pattern.compile("(?s)```sql\\n(.*?)```");

    /** On what, and which of the blocks of SQL is for it. */
    enum Database {
        POSTGRESQL(0),
        MARIADB(1),
        MYSQL(1);

        private final int block;

        Database(int block) {
            this.block = block;
        }

        String uri() {
            return switch (this) {
                case POSTGRESQL -> PostgresServer.shared().uri();
                case MARIADB -> MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri();
                case MYSQL -> MysqlFamilyServer.shared(Kind.MYSQL).uri();
            };
        }

        /** Returns where the tables are: one schema for each test, since the rights to make tables are on it. */
        String uri(String schema) {
            return this == POSTGRESQL
                    ? uri() + "&currentSchema=" + schema
                    : uri().replace("/bellwether?", "/" + schema + "?");
        }

        String uri(String schema, String user) {
            return this == POSTGRESQL
                    ? uri(schema).replace("user=postgres", "user=" + user)
                    // without TLS, MySQL takes a password under its public key only
                    : uri(schema).replace("user=root", "user=" + user + "&password=" + PASSWORD)
                            + "&allowPublicKeyRetrieval=true";
        }
    }

    private final String id = UUID.randomUUID().toString().replace("-", "").substring(0, 12);
    private final String schema = "s" + id;

    @ParameterizedTest
    @EnumSource(Database.class)
    void theFirstCandidateMayMakeTheTablesAndStand(Database database) throws Exception {
        var user = prepared(database, "installer");
        try (var elections = Elections.connect(database.uri(schema, user));
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void aCandidateLeadsHandsOverAndIsOrderedButMakesNoTables(Database database) throws Exception {
        var user = prepared(database, "candidate");
        assertThatThrownBy(() -> Elections.connect(database.uri(schema, user)))
                .isInstanceOf(AccessRefusedException.class);
        Elections.connect(database.uri(schema)).close();
        grant(database, "candidate", user);
        try (var elections = Elections.connect(database.uri(schema, user))) {
            try (var leader = elections.stand("billing")) {
                assertThat(leader.await(PATIENCE)).isPresent();
                try (var other = elections.stand("billing")) {
                    leader.standDown();
                    assertThat(other.await(PATIENCE)).isPresent();
                }
            }
            elections.election("billing").end();
            elections.election("billing").delete();
        }
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void anObserverLooksAndDoesNotStand(Database database) throws Exception {
        var user = prepared(database, "observer");
        try (var elections = Elections.connect(database.uri(schema));
                var leader = elections.stand("billing")) {
            var token = leader.await(PATIENCE).orElseThrow().token();
            grant(database, "observer", user);
            try (var looking = Elections.connect(database.uri(schema, user))) {
                assertThat(looking.list()).hasSize(1);
                assertThat(looking.election("billing").leader().orElseThrow().token())
                        .isEqualTo(token);
                assertThrows(AccessRefusedException.class, () -> looking.stand("billing"));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void aGuardedTransactionNeedsNoRightToTheSeat(Database database) throws Exception {
        var user = prepared(database, "settler");
        try (var elections = Elections.connect(database.uri(schema));
                var leader = elections.stand("billing")) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            grant(database, "settler", user);
            execute(database.uri(schema), "CREATE TABLE ledger (amount bigint)");
            execute(database.uri(schema), "INSERT INTO ledger VALUES (0)");
            execute(
                    database.uri(schema),
                    "GRANT SELECT, UPDATE ON ledger TO " + user + (database == Database.POSTGRESQL ? "" : "@'%'"));
            try (var connection = DriverManager.getConnection(database.uri(schema, user))) {
                connection.setAutoCommit(false);
                SqlGuard.defaults().check(connection, mandate);
                assertThat(settled(connection, mandate)).isEqualTo(1);
                connection.commit();
                for (var sql : List.of(
                        "UPDATE bellwether_election SET token = token + 1",
                        "UPDATE bellwether_election SET expires_at = 0",
                        "DELETE FROM bellwether_election")) {
                    assertThatThrownBy(() -> execute(database.uri(schema, user), sql))
                            .isInstanceOf(SQLException.class);
                }
            }
        }
    }

    private static int settled(Connection connection, Mandate mandate) throws SQLException {
        var guard = SqlGuard.defaults();
        try (var statement = connection.prepareStatement(
                "UPDATE ledger SET amount = amount + 1 WHERE " + guard.condition(connection))) {
            guard.bind(statement, 1, mandate);
            return statement.executeUpdate();
        }
    }

    /** Returns a user for this part. One that is there before the tables has what the page gives it then. */
    private String prepared(Database database, String part) throws Exception {
        var user = part.charAt(0) + id;
        execute(database.uri(), (database == Database.POSTGRESQL ? "CREATE SCHEMA " : "CREATE DATABASE ") + schema);
        execute(
                database.uri(),
                database == Database.POSTGRESQL
                        ? "CREATE ROLE " + user + " LOGIN"
                        : "CREATE USER " + user + "@'%' IDENTIFIED BY '" + PASSWORD + "'");
        if (database == Database.POSTGRESQL) {
            execute(database.uri(), "GRANT USAGE ON SCHEMA " + schema + " TO " + user);
        }
        if (part.equals("installer")) {
            grant(database, part, user);
        }
        return user;
    }

    /** Does what the page says for this part. */
    private void grant(Database database, String part, String user) throws Exception {
        var statements = statements(database.block).stream()
                .filter(sql -> sql.endsWith(" TO " + part))
                .toList();
        assertThat(statements).as("what docs/sql.md grants a %s", part).isNotEmpty();
        for (var sql : statements) {
            execute(
                    database.uri(schema),
                    sql.replace(" app.", " " + schema + ".")
                            .replace("SCHEMA app ", "SCHEMA " + schema + " ")
                            .replaceFirst(" TO " + part + "$", " TO " + user));
        }
    }

    private static List<String> statements(int block) throws IOException {
        var section = SECTION.matcher(Files.readString(Path.of("..", "docs", "sql.md")));
        assertThat(section.find()).isTrue();
        var sql = BLOCK.matcher(section.group(1)).results().toList().get(block).group(1);
        return List.of(
                sql.replaceAll("--.*", "").strip().replaceAll("\\s+", " ").split("; ?", -1));
    }
}
