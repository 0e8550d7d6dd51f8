package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.KubernetesServers;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The commands against a real API server. */
@Tag("kubernetes")
class KubernetesCommandsTest extends StoreCommandsFacts {
    @SuppressWarnings("NullAway.Init")
    private static KubernetesServers servers;

    @BeforeAll
    static void startServer() {
        servers = KubernetesServers.start(1, 1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @Override
    String uri() {
        return servers.uri("cli", "");
    }

    @Override
    String uriWithoutSense() {
        return "k8s:cli?bucket=x";
    }

    @Test
    void theDoctorTellsOfItsServersAndWhatMustBeFixed() {
        var doctor = spoken("doctor", "--lease", "10s");
        assertThat(doctor.code()).as(doctor.all()).isZero();
        assertThat(doctor.out())
                .contains(
                        "Leases of namespace cli at 127.0.0.1:",
                        "a higher resourceVersion is a later one",
                        "an answer takes")
                .contains("no server's clock decides")
                .doesNotContain("Exception");
    }
}
