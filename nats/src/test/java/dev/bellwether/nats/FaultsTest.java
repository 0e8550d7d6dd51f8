package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.ChildProcess;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Proofs;
import dev.bellwether.testkit.nats.NatsServer;
import io.nats.client.Nats;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * What the contract cannot ask of every backend: a server killed in time, a leader frozen, a connection that is dead
 * without a word.
 */
class FaultsTest {
    private static final Duration LEASE = Duration.ofSeconds(1);
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    @SuppressWarnings("NullAway.Init")
    private static NatsServer server;

    private final String election = "fault-" + UUID.randomUUID();

    @BeforeAll
    static void startServer() {
        server = NatsServers.alone();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Test
    void aServerThatIsKilledAndComesBackBeforeTheDeadlineCostsNothing() throws Exception {
        try (var elections = Elections.connect(server.uri("bucket=faults"));
                var leader = elections.stand(election, CandidacyConfig.ofLease(LONG));
                var standbys = Elections.connect(server.uri("bucket=faults"))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = standbys.stand(election, CandidacyConfig.ofLease(LONG));
            server.crashAndRestart();
            var restarted = System.nanoTime();
            Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, restarted));
            assertThat(leader.mandate()).contains(mandate);
            assertThat(standby.isLeader()).isFalse();
            leader.resign(); // and what is watched is heard again
            assertThat(standby.await(LONG.dividedBy(4)).orElseThrow().token()).isGreaterThan(mandate.token());
        }
    }

    @Test
    void aLeaderFrozenForTwoLeasesHasLostWhenItWakes() {
        try (var child = ChildProcess.start(ChildMain.class, server.uri("bucket=faults"), election, LEASE.toString());
                var elections = Elections.connect(server.uri("bucket=faults"))) {
            var before = Long.parseLong(child.await("leads "));
            try (var standby = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
                child.freeze();
                var frozen = System.nanoTime();
                var mandate = Eventually.eventually("the standby leads", PATIENCE, standby::mandate);
                assertThat(mandate.token()).isGreaterThan(before);
                Eventually.eventually(
                        "two leases have passed",
                        PATIENCE,
                        () -> System.nanoTime() - frozen > LEASE.multipliedBy(2).toNanos());
                child.thaw();
                assertThat(child.await("frozen, then leads ")).isEqualTo("false");
                Eventually.throughout("its old renewals do no harm", LEASE.multipliedBy(2), mandate::isValid);
            }
        }
    }

    /** Each reconnection begins all of them again; what cannot begin was tried once more often after each. */
    @Test
    void aWatchThatCannotBeginIsTriedOnceAtATime() throws Exception {
        var thread = new ScheduledThreadPoolExecutor(1);
        thread.setRemoveOnCancelPolicy(true);
        try (var client = BucketClient.owning(
                        Nats.connect("nats://127.0.0.1:" + server.port()),
                        "nats://here",
                        NatsConfig.builder().bucket("missing").build());
                var watches = new Watches(client, "seat.>", thread, message -> {})) {
            watches.add("seat.a");
            for (var i = 0; i < 5; i++) {
                watches.renew();
            }
            assertThat(thread.submit(() -> thread.getQueue().size()).get()).isEqualTo(1);
        } finally {
            thread.shutdownNow();
        }
    }

    @Test
    void aConnectionThatDiedSilentlyIsMadeAgainBeforeTheLeaseIsOver() throws Exception {
        try (var proxy = FaultProxy.to("127.0.0.1", server.port());
                var client = BucketClient.owning(
                        Nats.connect(BucketClient.ourOptions()
                                .servers(new String[] {
                                    "nats://127.0.0.1:" + proxy.port(), "nats://127.0.0.1:" + server.port()
                                })
                                .noRandomize()
                                .pingInterval(Duration.ofMinutes(2)) // so that the client itself does not notice
                                .build()),
                        "nats://proxied",
                        NatsConfig.builder().bucket("faults").build());
                var auditor = new LeadershipAuditor();
                var elections = Elections.over(
                        LeaseStore.over(NatsRecordStore.open(
                                client, NatsConfig.builder().bucket("faults").build())),
                        ElectionsConfig.defaults());
                var leader = elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(30)))) {
            auditor.audit(leader);
            var mandate = leader.await(PATIENCE).orElseThrow();
            proxy.cut();
            var cut = System.nanoTime();
            for (var i = 0; i < 40; i++) { // each is begun on this connection, and waits for an answer
                elections.election(election + i).watch(who -> {});
            }
            Eventually.eventually(
                    "the lease is extended by another way",
                    PATIENCE,
                    () -> Proofs.isProvenSince(
                            leader, cut + Duration.ofSeconds(3).toNanos()));
            assertThat(leader.mandate()).contains(mandate);
        }
    }

    /** The client forgets that it was to connect again when there is no thread to read with. */
    @Test
    void aConnectionThatFindsNoThreadForAMomentIsMadeAgainBeforeTheLeaseIsOver() throws Exception {
        var starves = new AtomicBoolean();
        var starved = new CountDownLatch(3); // once by the client, then twice by us
        var readers = new ThreadPoolExecutor(0, Integer.MAX_VALUE, 1, TimeUnit.SECONDS, new SynchronousQueue<>()) {
            @Override
            public void execute(Runnable task) {
                if (starves.get()) {
                    starved.countDown();
                    throw new OutOfMemoryError("unable to create native thread");
                }
                super.execute(task);
            }
        };
        var config = NatsConfig.builder().bucket("faults").build();
        try (var log = new LogSaid();
                var alone = NatsServers.alone();
                var client = BucketClient.owning(
                        Nats.connect(BucketClient.ourOptions()
                                .server("nats://127.0.0.1:" + alone.port())
                                .readerExecutor(readers)
                                .build()),
                        "nats://starved",
                        config);
                var elections = Elections.over(
                        LeaseStore.over(NatsRecordStore.open(client, config)), ElectionsConfig.defaults());
                var leader = elections.stand(election, CandidacyConfig.ofLease(LONG))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            starves.set(true);
            alone.crashAndRestart();
            assertThat(starved.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            starves.set(false);
            var fed = System.nanoTime();
            Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, fed));
            assertThat(leader.mandate()).contains(mandate);
            assertThat(log.warnings("nats://starved", "cannot be connected again"))
                    .hasSize(1);
        } finally {
            readers.shutdownNow();
        }
    }

    @Test
    void aSuccessorComesALeaseAfterABlackHoledLeaderAndNotBefore() throws Exception {
        try (var proxy = FaultProxy.to("127.0.0.1", server.port());
                var auditor = new LeadershipAuditor();
                var cutOff = Elections.over(
                        LeaseStore.over(NatsRecordStore.open(
                                BucketClient.owning(
                                        Admin.of(proxy.port()).connection(),
                                        "nats://proxied",
                                        NatsConfig.builder().bucket("faults").build()),
                                NatsConfig.builder().bucket("faults").build())),
                        ElectionsConfig.defaults());
                var others = Elections.connect(server.uri("bucket=faults"))) {
            var victim = cutOff.stand(election, CandidacyConfig.ofLease(LEASE));
            auditor.audit(victim);
            var before = victim.await(PATIENCE).orElseThrow();
            var standby = others.stand(election, CandidacyConfig.ofLease(LEASE));
            auditor.audit(standby);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            proxy.cut();
            var after = standby.await(PATIENCE).orElseThrow();
            assertThat(after.token()).isGreaterThan(before.token());
            assertThat(victim.isLeader()).isFalse();
            Eventually.eventually(
                    "it knows why",
                    PATIENCE,
                    () -> victim.status()
                            .lastCause()
                            .filter(Cause.UNREACHABLE::equals)
                            .isPresent());
            proxy.heal();
            Eventually.throughout("what arrives late does no harm", LEASE.multipliedBy(2), after::isValid);
        }
    }
}
