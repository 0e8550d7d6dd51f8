package dev.bellwether.nats;

import static dev.bellwether.fixtures.Leading.leads;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.NatsServers;
import io.nats.client.AuthHandler;
import io.nats.client.NKey;
import io.nats.client.Options;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers that want to know who comes: by user and password, by token, by a file of credentials. */
class CredentialsTest {
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(10));
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    @TempDir
    Path folder;

    @Test
    void userAndPasswordLetInAndAnotherPasswordDoesNot() throws Exception {
        try (var server = NatsServers.alone("authorization { user: \"app\", password: \"s3cret/with@signs\" }")) {
            leads("nats://app:s3cret%2Fwith%40signs@127.0.0.1:" + server.port());
            refused("nats://app:wr0ng-one@127.0.0.1:" + server.port(), "wr0ng-one");
            refused("nats://127.0.0.1:" + server.port(), "s3cret");
        }
    }

    @Test
    void aTokenLetsInAndAnotherDoesNot() throws Exception {
        try (var server = NatsServers.alone("authorization { token: \"t0ken-of-ours\" }")) {
            leads("nats://t0ken-of-ours@127.0.0.1:" + server.port());
            refused("nats://t0ken-of-theirs@127.0.0.1:" + server.port(), "t0ken-of-theirs");
        }
    }

    @Test
    void aFileOfCredentialsLetsInAndOneOfAnotherAccountDoesNot() throws Exception {
        var operator = new Operator();
        try (var server = NatsServers.alone(operator.configuration())) {
            var ours = Files.writeString(folder.resolve("ours.creds"), operator.credentials());
            leads("nats://127.0.0.1:" + server.port() + "?credentials=" + ours);
            var theirs = Files.writeString(folder.resolve("theirs.creds"), new Operator().credentials());
            refused("nats://127.0.0.1:" + server.port() + "?credentials=" + theirs, "theirs.creds");
            assertThatThrownBy(() -> Elections.connect(
                            "nats://127.0.0.1:" + server.port() + "?credentials=" + folder.resolve("absent.creds")))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("the file that credentials names cannot be read");
        }
    }

    @Test
    void aConnectionThatTheApplicationMadeWithItsKeyIsUsedAsItIs() throws Exception {
        var key = NKey.createUser(new SecureRandom());
        try (var server = NatsServers.alone(
                        "authorization { users: [ { nkey: " + new String(key.getPublicKey()) + " } ] }");
                var admin = Admin.of(Options.builder()
                        .server("nats://127.0.0.1:" + server.port())
                        .authHandler(new Signing(key))
                        .build());
                var elections = NatsElections.using(admin.connection());
                var leader = elections.stand("known", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    /** Knows a key, and no JWT. */
    private record Signing(NKey key) implements AuthHandler {
        @Override
        public byte[] sign(byte[] nonce) {
            try {
                return key.sign(nonce);
            } catch (GeneralSecurityException | IOException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public char[] getID() {
            try {
                return key.getPublicKey();
            } catch (GeneralSecurityException | IOException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public char @Nullable [] getJWT() {
            return null;
        }
    }

    private static void refused(String uri, String secret) {
        assertThatThrownBy(() -> Elections.connect(uri))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("authentication failed")
                .hasMessageNotContaining(secret);
    }
}
