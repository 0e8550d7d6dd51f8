package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.View;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.nats.NatsServer;
import io.nats.client.JetStreamApiException;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The verbs themselves, between two stores that watch nothing, so that each knows only what it asked for. */
class NatsLeasesTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @SuppressWarnings("NullAway.Init")
    private static NatsServer server;

    private final String election = "store-" + UUID.randomUUID();

    @SuppressWarnings("NullAway.Init")
    private LeaseStore one;

    @SuppressWarnings("NullAway.Init")
    private LeaseStore other;

    @SuppressWarnings("NullAway.Init")
    private Admin admin;

    @BeforeAll
    static void startServer() {
        server = NatsServers.alone();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void open() {
        admin = Admin.of(server.port());
        one = store();
        other = store();
    }

    @AfterEach
    void close() {
        one.close();
        other.close();
        admin.close();
    }

    @Test
    void ofRacingClaimsExactlyOneIsGranted() {
        for (var round = 0; round < 100; round++) {
            var first = one.acquire(claim(election + round, "a-1", LONG));
            var second = other.acquire(claim(election + round, "b-1", LONG));
            assertThat(List.of(get(first).granted(), get(second).granted()))
                    .as("round " + round)
                    .containsOnlyOnce(true);
        }
    }

    @Test
    void aRenewalAfterTheLeaseHasRunOutIsRefusedThoughNobodyTookTheSeat() {
        var claim = claim(election, "a-1", SHORT);
        var granted = get(one.acquire(claim));
        var token = granted.view().token();
        assertThat(get(one.renew(List.of(new Lease(claim, token, SHORT))).get(0))
                        .granted())
                .isTrue();
        Eventually.eventually(
                "the lease has run out",
                PATIENCE,
                () -> get(one.read(election)).holder().isEmpty());
        assertThat(get(one.renew(List.of(new Lease(claim, token, SHORT))).get(0))
                        .granted())
                .isFalse();
    }

    @Test
    void anOrderInTheRecordIsNoLossAndKeepsTheToken() {
        var claim = claim(election, "a-1", LONG);
        var token = get(one.acquire(claim)).view().token();
        assertThat(get(other.order(election, Order.STAND_DOWN))).isTrue();
        var renewed = get(one.renew(List.of(new Lease(claim, token, LONG))).get(0));
        assertThat(renewed.granted()).isTrue();
        assertThat(renewed.view().standDown()).isTrue();
        assertThat(renewed.view().token()).isEqualTo(token);
    }

    @Test
    void aKeyThatVanishedIsLeftAloneForALease() {
        assertThat(get(one.acquire(claim(election, "a-1", LONG))).granted()).isTrue();
        assertThat(get(other.acquire(claim(election, "b-1", LONG))).granted()).isFalse();
        admin.ask(connection -> connection
                .jetStreamManagement()
                .purgeStream("KV_store", io.nats.client.PurgeOptions.subject("$KV.store." + election)));
        View vanished = get(other.read(election));
        assertThat(vanished.holder()).isEmpty();
        assertThat(get(other.acquire(claim(election, "b-2", LONG))).granted()).isFalse();
    }

    @Test
    void whoLostASeatDoesNotTakeItBackAtOnceWhenAnOperatorDeletesItFromAnother() throws Exception {
        assertThat(get(one.acquire(claim(election, "a-1", SHORT))).granted()).isTrue();
        Eventually.eventually(
                "another takes it",
                PATIENCE,
                () -> get(other.acquire(claim(election, "b-" + System.nanoTime(), LONG)))
                        .granted());
        admin.connection().keyValue("store").delete(election); // and the other, cut off, does not know
        assertThat(get(one.read(election)).holder()).isEmpty();
        assertThat(get(one.acquire(claim(election, "a-2", LONG))).granted()).isFalse();
    }

    @Test
    void whoseRunningLeaseWasDeletedWaitsLikeEverybodyElse() throws Exception {
        assertThat(get(one.acquire(claim(election, "a-1", LONG))).granted()).isTrue();
        admin.connection().keyValue("store").delete(election);
        assertThat(get(one.read(election)).holder()).isEmpty();
        assertThat(get(one.acquire(claim(election, "a-2", LONG))).granted()).isFalse();
    }

    @Test
    void aReleaseOfWhatAnotherHoldsIsRefused() {
        assertThat(get(one.acquire(claim(election, "a-1", LONG))).granted()).isTrue();
        assertThat(get(other.release(claim(election, "b-1", LONG))).granted()).isFalse();
        assertThat(get(one.read(election)).heldUnder("a-1")).isTrue();
    }

    @Test
    void aStandbySignsAgainBeforeTheServerDropsItsKey() {
        try (var brief = store(
                NatsConfig.builder().bucket("brief").ttl(Duration.ofSeconds(8)).build())) {
            assertThat(get(brief.acquire(claim(election, "a-1", SHORT))).granted())
                    .as("the server may have dropped a leader's key")
                    .isFalse();
            assertThat(get(brief.acquire(claim(election, "b-1", SHORT))).granted())
                    .isFalse();
            var first = Eventually.eventually("it signs", PATIENCE, this::signed);
            Eventually.eventually("it signs again", PATIENCE, () -> {
                var unused = get(brief.acquire(claim(election, "b-2", SHORT))); // as a standby does
                return signed().filter(again -> again > first).isPresent();
            });
        }
    }

    /** Returns at which revision the second candidate is listed. */
    private Optional<Long> signed() {
        var subject = "$KV.brief." + Keys.of(RecordKey.standby(election, 0, "b").parts());
        try {
            return Optional.of(admin.connection()
                    .jetStreamManagement()
                    .getLastMessage("KV_brief", subject)
                    .getSeq());
        } catch (IOException | JetStreamApiException e) {
            return Optional.empty();
        }
    }

    private LeaseStore store() {
        return store(NatsConfig.builder().bucket("store").build());
    }

    private static LeaseStore store(NatsConfig config) {
        return LeaseStore.over(NatsRecordStore.open(
                BucketClient.owning(Admin.of(server.port()).connection(), "nats://test", config), config));
    }

    private static Claim claim(String election, String nonce, Duration lease) {
        return new Claim(election, nonce.substring(0, 1), nonce, lease, LONG, 0, Map.of());
    }

    private static <T> T get(CompletionStage<T> stage) {
        return stage.toCompletableFuture().join();
    }
}
