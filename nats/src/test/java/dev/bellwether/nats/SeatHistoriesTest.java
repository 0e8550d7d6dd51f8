package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.ChildProcess;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.nats.NatsServer;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a store that forgets, drops or is written to by hand does to an election, on a real server. The same is drawn by
 * the simulation of seats, in core.
 */
class SeatHistoriesTest {
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String BUCKET = "bucket=histories";

    private final String election = "history-" + UUID.randomUUID();

    @Test
    void aServerThatForgotItsLastWritesHasALeaderAgainUnderAHigherToken() throws Exception {
        try (var server = NatsServers.alone();
                var auditor = new LeadershipAuditor();
                var one = Elections.connect(server.uri(BUCKET));
                var other = Elections.connect(server.uri(BUCKET))) {
            var first = one.stand(election, CandidacyConfig.ofLease(LEASE));
            auditor.audit(first);
            assertThat(first.await(PATIENCE)).isPresent();
            server.save();
            var second = other.stand(election, CandidacyConfig.ofLease(LEASE));
            auditor.audit(second);
            var both = List.of(first, second);
            Eventually.eventually("one leads", PATIENCE, () -> leads(both));
            try (var operators = Elections.connect(server.uri(BUCKET))) {
                operators.election(election).standDown(); // so that more than renewals is forgotten
            }
            var before = second.await(PATIENCE).orElseThrow().token();
            server.restore();
            var restored = System.nanoTime();
            Eventually.eventually(
                    "one leads under a higher token",
                    PATIENCE,
                    () -> both.stream()
                            .anyMatch(candidacy -> candidacy
                                    .mandate()
                                    .filter(mandate -> mandate.token() > before)
                                    .isPresent()));
            assertThat(System.nanoTime() - restored)
                    .as("nobody waits for a fresh process to come")
                    .isLessThan(LEASE.multipliedBy(10).toNanos());
        }
    }

    @Test
    void aKeyThatTheServerDroppedIsNotTakenWhileTheOldLeaderMayLead() throws Exception {
        var config = NatsConfig.builder()
                .bucket("dropping")
                .ttl(Duration.ofMinutes(1))
                .build();
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port());
                var proxy = FaultProxy.to("127.0.0.1", server.port());
                var auditor = new LeadershipAuditor();
                var cutOff = Elections.over(
                        LeaseStore.over(NatsRecordStore.open(
                                BucketClient.owning(Admin.of(proxy.port()).connection(), "nats://proxied", config),
                                config)),
                        ElectionsConfig.defaults());
                var others = Elections.connect(server.uri("bucket=dropping"))) {
            var victim = cutOff.stand(election, CandidacyConfig.ofLease(LEASE));
            auditor.audit(victim);
            var before = victim.await(PATIENCE).orElseThrow();
            proxy.cut();
            admin.ask(connection -> connection.jetStreamManagement().purgeStream("KV_dropping"));
            var late = others.stand(election, CandidacyConfig.ofLease(LEASE)); // which never saw the record
            auditor.audit(late);
            assertThat(late.await(PATIENCE).orElseThrow().token()).isGreaterThan(before.token());
        }
    }

    /** There is no record that could carry the order. The leader finds out at its next renewal. */
    @Test
    void anOrderFindsNobodyWhereTheKeyIsGone() throws Exception {
        var uri = "bucket=ordering";
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port());
                var candidates = Elections.connect(server.uri(uri));
                var operators = Elections.connect(server.uri(uri))) {
            var leader = candidates.stand(election, CandidacyConfig.ofLease(PATIENCE));
            assertThat(leader.await(PATIENCE)).isPresent();
            admin.ask(connection -> connection.jetStreamManagement().purgeStream("KV_ordering"));
            assertThat(operators.election(election).standDown()).isFalse();
            assertThat(leader.isLeader()).isTrue();
        }
    }

    @Test
    void ordersToADeadLeaderMakeNobodyWaitAgain() throws Exception {
        try (var server = NatsServers.alone();
                var others = Elections.connect(server.uri(BUCKET));
                var operators = Elections.connect(server.uri(BUCKET))) {
            Candidacy standby;
            try (var child = ChildProcess.start(ChildMain.class, server.uri(BUCKET), election, LEASE.toString())) {
                var token = Long.parseLong(child.await("leads "));
                standby = others.stand(election, CandidacyConfig.ofLease(LEASE));
                Eventually.eventually(
                        "it follows",
                        PATIENCE,
                        () -> standby.status().following().isPresent());
                child.kill();
                var died = System.nanoTime();
                var orders = 0;
                var last = died - LEASE.toNanos();
                while (!standby.isLeader() && System.nanoTime() - died < PATIENCE.toNanos()) {
                    if (System.nanoTime() - last > LEASE.dividedBy(2).toNanos()) {
                        last = System.nanoTime();
                        operators.election(election).standDown();
                        orders++;
                    }
                    assertThat(standby.await(Duration.ofMillis(50))).satisfies(mandate -> {});
                }
                assertThat(standby.status().token()).isGreaterThan(token);
                assertThat(orders).as("orders until somebody led").isLessThanOrEqualTo(6);
            }
        }
    }

    @Test
    void ordersAtTheSameTimeEndOneMandate() throws Exception {
        try (var server = NatsServers.alone();
                var one = Elections.connect(server.uri(BUCKET));
                var other = Elections.connect(server.uri(BUCKET));
                var store = store(server);
                var store2 = store(server)) {
            var first = one.stand(election, CandidacyConfig.ofLease(LEASE));
            assertThat(first.await(PATIENCE)).isPresent();
            var second = other.stand(election, CandidacyConfig.ofLease(LEASE));
            Eventually.eventually(
                    "it follows", PATIENCE, () -> second.status().following().isPresent());
            var orders = List.of(
                    store.order(election, dev.bellwether.spi.Order.STAND_DOWN),
                    store2.order(election, dev.bellwether.spi.Order.STAND_DOWN),
                    store.order(election, dev.bellwether.spi.Order.STAND_DOWN));
            var mandate = second.await(PATIENCE).orElseThrow();
            assertThat(orders)
                    .allSatisfy(order ->
                            assertThat(order.toCompletableFuture().join()).isTrue());
            Eventually.throughout("the next is not meant", LEASE, mandate::isValid);
        }
    }

    @Test
    void aRightThatIsTakenAwayAndGivenBackEndsNoCandidacy() throws Exception {
        var all = "authorization { users: [ { user: app, password: app } ] }";
        var none =
                "authorization { users: [ { user: app, password: app, permissions: { publish: { deny: [\"$KV.>\"] } } } ] }";
        try (var server = NatsServers.alone(all);
                var elections = Elections.connect("nats://app:app@127.0.0.1:" + server.port() + "?" + BUCKET)) {
            var candidacy = elections.stand(election, CandidacyConfig.ofLease(LEASE));
            var before = candidacy.await(PATIENCE).orElseThrow();
            server.reload(none);
            Eventually.eventually("it leads no more", PATIENCE, () -> !before.isValid());
            server.reload(all);
            Eventually.eventually(
                    "it leads again",
                    PATIENCE,
                    () -> candidacy
                            .mandate()
                            .filter(mandate -> mandate.token() > before.token())
                            .isPresent());
            assertThat(candidacy.failure()).isEmpty();
        }
    }

    @Test
    void aRightToWatchThatComesLaterIsUsed() throws Exception {
        var all = "authorization { users: [ { user: app, password: app }, { user: admin, password: admin } ] }";
        var deaf = all.replace(
                "password: app ", "password: app, permissions: { publish: { deny: [\"$JS.API.CONSUMER.>\"] } } ");
        var lease = CandidacyConfig.ofLease(Duration.ofSeconds(60));
        try (var server = NatsServers.alone(deaf);
                var elections = Elections.connect("nats://app:app@127.0.0.1:" + server.port() + "?" + BUCKET);
                var admin = Admin.of(BucketClient.ourOptions()
                        .server("nats://admin:admin@127.0.0.1:" + server.port())
                        .build())) {
            var leader = elections.stand(election, lease);
            assertThat(leader.await(PATIENCE)).isPresent();
            var standby = elections.stand(
                    election, lease.toBuilder().candidate("standby").build());
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            Eventually.throughout("nobody may watch", Duration.ofSeconds(4), () -> consumers(admin) == 0);
            server.reload(all);
            Eventually.eventually("both are watched", PATIENCE, () -> isWatched(admin));
            leader.resign();
            assertThat(standby.await(lease.lease().dividedBy(4))).isPresent();
        }
    }

    @Test
    void closingLeavesNothingOnAConnectionOfTheApplicationsThoughNobodyMayWatch() throws Exception {
        var deaf = "authorization { users: [ { user: app, password: app,"
                + " permissions: { publish: { deny: [\"$JS.API.CONSUMER.>\"] } } } ] }";
        var threads = new ThreadPoolExecutor(0, 100, 1, TimeUnit.MINUTES, new SynchronousQueue<>());
        try (var server = NatsServers.alone(deaf);
                var app = Admin.of(BucketClient.ourOptions()
                        .server("nats://app:app@127.0.0.1:" + server.port())
                        .executor(threads)
                        .build())) {
            app.ask(connection -> connection.jetStreamManagement().getStreamNames()); // its thread for answers
            var before = threads.getActiveCount();
            try (var elections = NatsElections.using(
                    app.connection(), NatsConfig.builder().bucket("histories").build(), ElectionsConfig.defaults())) {
                for (var i = 0; i < 5; i++) {
                    var candidacy = elections.stand(election + i, CandidacyConfig.defaults());
                    assertThat(candidacy.await(PATIENCE)).isPresent();
                }
                assertThat(threads.getActiveCount()).isGreaterThan(before);
            }
            Eventually.eventually("no thread is left", PATIENCE, () -> threads.getActiveCount() == before);
        } finally {
            threads.shutdownNow();
        }
    }

    /** The server sends a megabyte or two, and then waits for a word that needs a right of its own. */
    @ParameterizedTest
    @ValueSource(strings = {"", ", \"$JS.FC.KV_histories.>\""})
    void whatIsWatchedIsHeardForLongWithAndWithoutTheRightToSaySo(String more) throws Exception {
        var rights = "\"$JS.API.STREAM.INFO.KV_histories\", \"$JS.API.STREAM.MSG.GET.KV_histories\","
                + " \"$JS.API.CONSUMER.CREATE.KV_histories.>\", \"$KV.histories.>\"" + more;
        var users =
                "authorization { users: [ { user: admin, password: admin }, { user: app, password: app, permissions:"
                        + " { publish: { allow: [ " + rights + " ] }, subscribe: { allow: [ \"_INBOX.>\" ] } } } ] }";
        try (var server = NatsServers.alone(users);
                var admin = Admin.of(BucketClient.ourOptions()
                        .server("nats://admin:admin@127.0.0.1:" + server.port())
                        .build())) {
            Elections.connect("nats://admin:admin@127.0.0.1:" + server.port() + "?" + BUCKET)
                    .close(); // the bucket is the administrator's to make
            try (var elections = Elections.connect("nats://app:app@127.0.0.1:" + server.port() + "?" + BUCKET);
                    var watch = elections.election(election).watch(who -> {})) {
                assertThat(watch).isNotNull();
                Eventually.eventually("it is watched", PATIENCE, () -> consumers(admin) == 1);
                admin.overwrite("histories", election);
                Eventually.eventually("all is heard", PATIENCE, () -> admin.isAllTold("KV_histories"));
            }
        }
    }

    private static boolean isWatched(Admin admin) {
        try {
            return consumers(admin) > 0;
        } catch (IllegalStateException e) {
            return false; // the server does not answer while it takes over its new configuration
        }
    }

    private static int consumers(Admin admin) {
        return admin.ask(connection -> connection
                .jetStreamManagement()
                .getConsumerNames("KV_histories")
                .size());
    }

    @Test
    void aRecordOfAnotherFormatIsNotTaken() throws Exception {
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port());
                var store = store(server)) {
            var bucket = admin.ask(connection -> connection.keyValue("histories"));
            bucket.put(election, "bellwether=99&state=vacant");
            bucket.put("early", "{\"bellwether\": 2, \"state\": \"vacant\"}");
            bucket.put("garbage", "[".repeat(100_000));
            bucket.put("negative", "bellwether=4&state=held&lease_nanos=-5");
            for (var strange : List.of(election, "early")) {
                assertThatThrownBy(
                                () -> store.read(strange).toCompletableFuture().join())
                        .cause()
                        .isInstanceOf(ElectionException.class)
                        .isNotInstanceOf(UnavailableException.class)
                        .hasMessageContaining("format that this version of Bellwether does not know");
            }
            assertThat(store.list().toCompletableFuture().join()).contains(election, "early", "garbage", "negative");
        }
    }

    private static boolean leads(List<Candidacy> candidacies) {
        return candidacies.stream().anyMatch(Candidacy::isLeader);
    }

    private static LeaseStore store(NatsServer server) {
        var config = NatsConfig.builder().bucket("histories").build();
        return LeaseStore.over(NatsRecordStore.open(
                BucketClient.owning(Admin.of(server.port()).connection(), "nats://test", config), config));
    }
}
