package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.fixtures.ValkeyServers;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The commands against a real Valkey. */
class RedisCommandsTest extends StoreCommandsFacts {
    @SuppressWarnings("NullAway.Init")
    private static ValkeyServer server;

    @BeforeAll
    static void startServer() {
        server = ValkeyServers.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Override
    String uri() {
        return server.uri("?prefix=cli");
    }

    @Override
    String uriWithoutSense() {
        return server.uri("?bucket=x");
    }

    @Test
    void theDoctorTellsWhetherTheServerKeepsWhatItAcknowledges() {
        var doctor = spoken("doctor", "--lease", "10s");
        assertThat(doctor.code()).as(doctor.all()).isZero();
        assertThat(doctor.out())
                .contains("is on the disk of one server", "an answer takes", "no server's clock decides")
                .doesNotContain("Exception");
        try (var forgetful = ValkeyServers.start("--appendfsync", "everysec")) {
            var refused = Spoken.of(Map.of("BELLWETHER_ON", forgetful.uri("")), "doctor");
            assertThat(refused.code()).as(refused.all()).isEqualTo(ExitCode.FAILED);
            assertThat(refused.out()).contains("appendfsync is everysec", "durability=accepted");
            var run = Spoken.of(Map.of("BELLWETHER_ON", forgetful.uri("")), "run", "fresh", "--", "true");
            assertThat(run.code()).as(run.all()).isNotZero();
            assertThat(run.err()).contains("set appendfsync always").doesNotContain("Exception");
        }
    }
}
