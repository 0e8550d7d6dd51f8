package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link.Way;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Why a candidate that is started again waits for its own lease: {@code docs/design.md} has the argument. */
class ResumingTest {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final String election = "resuming-" + UUID.randomUUID();

    /** A secret proves who somebody is, and not that the former one is dead. */
    @Test
    void whoIsLetInForItsSecretLeadsBesideTheFormerOneThatIsAlive() throws InterruptedException {
        try (var link = FaultProxy.to("127.0.0.1", PostgresServer.shared().port());
                var former = Elections.connect(PostgresServer.uri(link.port()));
                var store = connect();
                var again = Elections.connect(PostgresServer.shared().uri())) {
            var config = CandidacyConfig.builder().candidate("billing-1").lease(LEASE);
            var leader = former.stand(election, config.build());
            assertThat(leader.await(PATIENCE)).isPresent();
            var secret = store.read(election)
                    .toCompletableFuture()
                    .join()
                    .holder()
                    .orElseThrow()
                    .nonce();
            link.cut(Way.BOTH); // or its process is frozen, or its node: somebody starts it again elsewhere

            assertThat(store.release(claim(secret)).toCompletableFuture().join().granted())
                    .as("the seat is given up to who has the secret")
                    .isTrue();
            var next = again.stand(election, config.build());
            assertThat(next.await(PATIENCE)).isPresent();

            assertThat(leader.isLeader()).as("the former one").isTrue();
            assertThat(next.isLeader()).as("the one that was started again").isTrue();
            link.heal();
        }
    }

    /** So a process must not be copied while it leads. */
    @Test
    void aLeaderAndACopyOfItBothRenew() {
        try (var one = connect();
                var copy = connect()) {
            var claim = claim(UUID.randomUUID().toString());
            var token = one.acquire(claim).toCompletableFuture().join().view().token();
            var lease = List.of(new Lease(claim, token, LEASE));
            for (var round = 0; round < 3; round++) {
                for (var store : List.of(one, copy)) {
                    assertThat(store.renew(lease)
                                    .get(0)
                                    .toCompletableFuture()
                                    .join()
                                    .granted())
                            .isTrue();
                }
            }
            assertThat(one.release(claim).toCompletableFuture().join().granted())
                    .isTrue();
        }
    }

    @Test
    void theSystemFreesTheLockOfAProcessThatIsDeadAndNotOfOneThatIsFrozen(@TempDir Path folder) throws IOException {
        var file = folder.resolve("lock");
        try (var child = LockHolderMain.lock(file)) {
            assertThat(isFree(file)).isFalse();
            child.freeze();
            assertThat(isFree(file)).isFalse();
            child.kill();
            assertThat(isFree(file)).isTrue();
        }
    }

    /** POSIX has it so; Java's own look at the lock does not notice. */
    @Test
    void aProcessThatReadsTheFileThatItHasLockedLosesTheLockAndLivesOn(@TempDir Path folder) throws IOException {
        var file = folder.resolve("lock");
        try (var child = LockHolderMain.lock(file)) {
            assertThat(isFree(file)).isFalse();
            child.tell("read it");
            assertThat(child.await("read")).isEqualTo("0, valid true");
            assertThat(isFree(file)).isTrue();
            assertThat(child.isAlive()).isTrue();
        }
    }

    private static boolean isFree(Path file) throws IOException {
        try (var channel = FileChannel.open(file, StandardOpenOption.WRITE);
                var lock = channel.tryLock()) {
            return lock != null;
        }
    }

    private static LeaseStore connect() {
        return (LeaseStore) ConnectUri.parse(PostgresServer.shared().uri()).connect();
    }

    private Claim claim(String nonce) {
        return new Claim(election, "billing-1", nonce, LEASE, LEASE, 0, Map.of());
    }
}
