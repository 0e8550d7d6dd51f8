package dev.bellwether.nats;

import static dev.bellwether.fixtures.Leading.leads;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Proofs;
import dev.bellwether.testkit.nats.NatsServer;
import io.nats.client.AuthHandler;
import io.nats.client.Connection;
import io.nats.client.NKey;
import io.nats.client.Options;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers that want to know who comes: by user and password, by token, by a file of credentials. */
class CredentialsTest {
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(10));
    private static final CandidacyConfig LONG = CandidacyConfig.ofLease(Duration.ofSeconds(30));
    private static final Duration PATIENCE = Duration.ofSeconds(40);
    private static final String ADMITTED = "authorization { user: app, password: right }";
    private static final String REFUSED = "authorization { user: app, password: other }";

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

    /** The client gives a connection up when a server refuses the same user twice, which takes it 150 ms. */
    @Test
    void aUserWhoIsRefusedForAMomentCostsNothingAndWhatIsWatchedIsHeardAgain() throws Exception {
        try (var server = NatsServers.alone(ADMITTED);
                var client = client(server);
                var other = client(server);
                var elections = elections(client);
                var others = elections(other)) {
            var leader = elections.stand("known", LONG);
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = others.stand("known", LONG);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            var given = List.of(client.connection(), other.connection());
            server.reload(REFUSED);
            Eventually.eventually(
                    "the client gives both up",
                    PATIENCE,
                    () -> given.stream().allMatch(connection -> connection.getStatus() == Connection.Status.CLOSED));
            server.reload(ADMITTED);
            var admitted = System.nanoTime();
            Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, admitted));
            assertThat(leader.mandate()).contains(mandate);
            leader.resign();
            assertThat(standby.await(LONG.lease().dividedBy(4)).orElseThrow().token())
                    .isGreaterThan(mandate.token());
        }
    }

    @Test
    void aUserWhoIsRefusedForLongerThanThePatienceIsToldSo() throws Exception {
        var log = new EventLog();
        try (var server = NatsServers.alone(ADMITTED);
                var client = client(server);
                var elections = elections(client);
                var leader = elections.stand(
                        "known",
                        CandidacyConfig.builder()
                                .lease(Duration.ofSeconds(2))
                                .accessPatience(Duration.ofSeconds(2))
                                .listener(log)
                                .build())) {
            assertThat(leader.await(PATIENCE)).isPresent();
            server.reload(REFUSED);
            var failed = (LeadershipEvent.Failed)
                    Eventually.eventually("it fails", PATIENCE, () -> log.last(LeadershipEvent.Failed.class))
                            .event();
            assertThat(failed.error()).hasMessageContaining("authentication failed, and is tried again every 2 s");
        }
    }

    @Test
    @SuppressWarnings("try") // it is closed early
    void whatIsClosedWhileItsUserIsRefusedIsNotConnectedAgain() {
        try (var server = NatsServers.alone(ADMITTED);
                var client = client(server)) {
            var given = client.connection();
            server.reload(REFUSED);
            Eventually.eventually(
                    "the client gives it up", PATIENCE, () -> given.getStatus() == Connection.Status.CLOSED);
            client.close();
            server.reload(ADMITTED);
            Eventually.eventually("the user is admitted again", PATIENCE, () -> {
                try (var admin = Admin.of(options(server))) {
                    return admin.connection().getStatus() == Connection.Status.CONNECTED;
                } catch (UncheckedIOException e) {
                    return false;
                }
            });
            client.signs().reconnectIfDead();
            assertThat(client.connection()).isSameAs(given);
        }
    }

    private static Options options(NatsServer server) {
        return BucketClient.ourOptions()
                .server("nats://127.0.0.1:" + server.port())
                .userInfo("app", "right")
                .build();
    }

    private static BucketClient client(NatsServer server) {
        return BucketClient.owning(Admin.of(options(server)).connection(), "nats://known", NatsConfig.defaults());
    }

    private static Elections elections(BucketClient client) {
        return Elections.over(
                LeaseStore.over(NatsRecordStore.open(client, NatsConfig.defaults())), ElectionsConfig.defaults());
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
