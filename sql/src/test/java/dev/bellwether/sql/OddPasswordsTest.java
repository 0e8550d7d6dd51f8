package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.ConnectUri;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a driver takes for a host or a port, of a password that was not encoded, is not shown. */
@Timeout(60)
class OddPasswordsTest {

    /** As the documents say of placeholders: the value is taken as it is. */
    @Test
    void aPasswordFromAFileIsNotTakenApartByTheDriver(@TempDir Path folder) throws Exception {
        var password = "a+b&c=%zz";
        var file = Files.writeString(folder.resolve("password"), password + "\n");
        var server = PostgresServer.shared();
        var role = "odd_" + UUID.randomUUID().toString().replace('-', '_');
        try (var connection = DriverManager.getConnection(server.uri());
                var statement = connection.createStatement()) {
            statement.execute("CREATE ROLE " + role + " SUPERUSER LOGIN PASSWORD '" + password + "'");
        }
        var uri = server.uri().replaceFirst("user=[^&]*", "user=" + role) + "&password=${file:" + file + "}";
        try (var elections = Elections.connect(uri)) {
            assertThat(elections.list()).isNotNull();
        }
    }

    /** As other clients of PostgreSQL write it, or without the slash: its driver warned of that, password and all. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "//app:pa55@127.0.0.1:1/app",
                "//app:pa55@127.0.0.1/app?sslmode=disable",
                "//app:pa5/5@127.0.0.1/app",
                "//127.0.0.1:1?user=app&password=pa55",
                "//127.0.0.1:1/app/more?user=app&password=pa55",
                "/app?user=app&password=pa55"
            })
    void anAddressThatIsNoneForPostgresqlIsRefusedAndLoggedByNobody(String address) {
        var logged = new CopyOnWriteArrayList<String>();
        var logger = Logger.getLogger("org.postgresql");
        var heard = new Handler() {
            @Override
            public void publish(LogRecord line) {
                logged.add(line.getMessage() + " " + Arrays.toString(line.getParameters()));
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        logger.addHandler(heard);
        try {
            assertThatThrownBy(() -> Elections.connect("jdbc:postgresql:" + address))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("Write jdbc:postgresql://host:port/database")
                    .hasMessageNotContaining("pa5");
        } finally {
            logger.removeHandler(heard);
        }
        assertThat(logged).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "app",
                "",
                "?user=app&password=a/b@c?d",
                "//",
                "///",
                "///app",
                "//127.0.0.1/",
                "//[::1]:5433,b:1/app?user=app&password=//a/b@c:d"
            })
    void whatPostgresqlsDriverTakesForAnAddressIsOneHereToo(String address) {
        ConnectUri.parse("jdbc:postgresql:" + address).check();
    }

    @ParameterizedTest
    @ValueSource(strings = {"pa55/w0rd", "pa55#w0rd", "pa55,w0rd"})
    void connectorJRepeatsAPartAndIsNotQuoted(String password) {
        assertThatThrownBy(() -> Elections.connect("jdbc:mysql://app:" + password + "@127.0.0.1:1/app"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("jdbc:mysql://app:***@127.0.0.1:1/app")
                .hasMessageNotContainingAny("pa55", "w0rd");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "(host=127.0.0.1,port=1,user=u,password=pa55)",
                "[127.0.0.1:1,(host=127.0.0.1,port=1,password=pa55)]",
                "address=(host=127.0.0.1)(port=x)(password=pa55)"
            })
    void aPasswordInParenthesesIsNotShown(String hosts) {
        assertThatThrownBy(() -> Elections.connect("jdbc:mysql://" + hosts + "/app"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("password=***)")
                .hasMessageNotContaining("pa55");
    }
}
