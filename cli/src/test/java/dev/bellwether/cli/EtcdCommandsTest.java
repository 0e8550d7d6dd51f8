package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.EtcdServers;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The commands against a real etcd. */
class EtcdCommandsTest extends StoreCommandsFacts {
    @SuppressWarnings("NullAway.Init")
    private static EtcdServers servers;

    @BeforeAll
    static void startServer() {
        servers = EtcdServers.start(1);
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
        return "etcd://" + servers.hosts() + "/cli?bucket=x";
    }

    @Test
    void theDoctorTellsOfItsMembersAndWhatMustBeFixed() {
        var doctor = spoken("doctor", "--lease", "10s");
        assertThat(doctor.code()).as(doctor.all()).isZero();
        assertThat(doctor.out())
                .contains("1 member votes", "have three members, or five", "an answer takes")
                .contains("no server's clock decides")
                .doesNotContain("Exception");
    }
}
