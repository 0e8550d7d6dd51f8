package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.PostgresServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.UUID;
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
