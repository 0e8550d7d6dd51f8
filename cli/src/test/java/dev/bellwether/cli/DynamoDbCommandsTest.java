package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.fixtures.DynamoDbServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The commands against AWS's local server of DynamoDB. */
class DynamoDbCommandsTest extends StoreCommandsFacts {
    @SuppressWarnings("NullAway.Init")
    private static DynamoDbServer server;

    @BeforeAll
    static void startServer() {
        server = DynamoDbServer.launch();
        Elections.connect(server.uri("cli", "&create=true")).close();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Override
    String uri() {
        return server.uri("cli", "");
    }

    @Override
    String uriWithoutSense() {
        return server.uri("cli", "&bucket=x");
    }

    @Test
    void theDoctorTellsOfTheTableAndWhatItCosts() {
        var doctor = spoken("doctor", "--lease", "10s");
        assertThat(doctor.code()).as(doctor.all()).isZero();
        assertThat(doctor.out())
                .contains(
                        "on demand", "a process that lists standbys removes", "an answer takes", "write units an hour")
                .contains("no server's clock decides")
                .doesNotContain("Exception");
    }
}
