package dev.bellwether.cli.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.UnavailableException;
import java.sql.SQLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

/** What is said of a database that does not let us in. */
class JdbcSourceTest {
    private final JdbcSource database = JdbcSource.of("jdbc:postgresql://127.0.0.1:1/shop");

    /** A look at its port would show that it accepts connections, and not what to do. */
    @Test
    void whatAServerHasAnsweredIsTold() {
        for (var answer : new SQLException[] {
            new SQLException("The server does not support SSL.", "08004"),
            new SQLException("Too many connections", "08004", 1040),
            new SQLException("SSL error: no path", "08006", new SSLHandshakeException("no path"))
        }) {
            assertThat(database.failed(answer))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessage("cannot reach jdbc:postgresql://127.0.0.1:1/shop: " + answer.getMessage());
        }
    }

    @Test
    void ofAServerThatHasNotAnsweredIsToldWhatIsWrongWithItsPort() {
        assertThat(database.failed(new SQLException("an I/O error", "08006")))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("connection to 127.0.0.1:1 refused");
    }
}
