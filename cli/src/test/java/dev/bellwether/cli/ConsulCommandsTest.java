package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.ConsulServers;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The commands against a real Consul. */
class ConsulCommandsTest extends StoreCommandsFacts {
    @SuppressWarnings("NullAway.Init")
    private static ConsulServers servers;

    @BeforeAll
    static void startServer() {
        servers = ConsulServers.start(1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @Override
    String uri() {
        return servers.uri("/cli");
    }

    @Override
    String uriWithoutSense() {
        return "consul://" + servers.hosts() + "/cli?bucket=x";
    }

    @Test
    void theDoctorTellsOfItsServersAndWhatMustBeFixed() {
        var doctor = spoken("doctor", "--lease", "10s");
        assertThat(doctor.code()).as(doctor.all()).isZero();
        assertThat(doctor.out())
                .contains("1 server; elections go on while 1 runs", "have three servers, or five", "an answer takes")
                .contains("no server's clock decides")
                .doesNotContain("Exception");
    }
}
