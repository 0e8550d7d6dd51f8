package dev.bellwether.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Metrics;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import io.lettuce.core.RedisClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers that may lose what they have acknowledged: who stands on them, and what becomes of a leader when they do. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a server of its own
@Timeout(240)
class DurabilityTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(2));
    private static final Duration SOON = Duration.ofSeconds(20);
    private static final CandidacyConfig MEDIUM = CandidacyConfig.ofLease(Duration.ofSeconds(6));
    private static final CandidacyConfig SLOW = CandidacyConfig.ofLease(Duration.ofSeconds(12));
    private static final CandidacyConfig LONG = CandidacyConfig.ofLease(Duration.ofSeconds(40));

    @Test
    void whatVoidsThePromiseIsRefusedUnlessTheUriAcceptsIt() throws Exception {
        try (var server = ValkeyServers.start()) {
            var settings = Map.of(
                    "appendonly", "no",
                    "appendfsync", "everysec",
                    "no-appendfsync-on-rewrite", "yes",
                    "maxmemory-policy", "allkeys-lru");
            for (var setting : settings.entrySet()) {
                var right = server.ask("CONFIG", "GET", setting.getKey())
                        .lines()
                        .skip(1)
                        .findFirst()
                        .orElseThrow();
                set(server, setting.getKey(), setting.getValue());
                refuses(server, setting.getKey());
                set(server, setting.getKey(), right);
            }
            set(server, "maxmemory-policy", "volatile-ttl"); // drops what is displayed, and no more
            leads(server.uri(""));
            assertThat(findings(server, "")).allMatch(finding -> finding.level() == Finding.Level.OK);
        }
    }

    /** Until then nothing of it is on disk, though the setting says so. */
    @Test
    void aServerWhoseFileIsBeingWrittenForTheFirstTimeIsRefusedUnlessTheUriAcceptsIt() throws Exception {
        try (var server = ValkeyServers.start("--appendonly", "no")) {
            assertThat(server.ask("SET", "x", "y")).isEqualTo("OK");
            set(server, "rdb-key-save-delay", "60000000"); // a minute for each key
            assertThat(server.ask("CONFIG", "SET", "appendonly", "yes")).isEqualTo("OK");
            try {
                refuses(server, "its file is being written for the first time");
            } finally {
                set(server, "appendonly", "no"); // which ends what writes it
            }
            set(server, "rdb-key-save-delay", "0");
            set(server, "appendonly", "yes");
            leads(server.uri(""));
        }
    }

    @Test
    void replicasAndSentinelsAreRefusedUnlessTheUriAcceptsThem() throws Exception {
        try (var server = ValkeyServers.start();
                var replica = ValkeyServers.start("--replicaof", "127.0.0.1 " + server.port())) {
            Eventually.eventually(
                    "it has a replica",
                    PATIENCE,
                    () -> server.ask("INFO", "replication").contains("connected_slaves:1"));
            refuses(server, "it has 1 replica");
            assertThatThrownBy(() -> Elections.connect(replica.uri("")))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("is a replica of 127.0.0.1:" + server.port() + ": name the primary");
        }
        try (var server = ValkeyServers.start();
                var sentinel = new Client();
                var connection = sentinel.client.connectPubSub(
                        RedisSettings.of(ConnectUri.parse(server.uri(""))).server())) {
            connection.sync().subscribe("__sentinel__:hello");
            refuses(server, "a Sentinel watches it");
        }
    }

    private static void refuses(ValkeyServer server, String what) throws Exception {
        try (var elections = Elections.connect(server.uri(""))) {
            assertThatThrownBy(() -> elections.stand("refused", CONFIG))
                    .as(what)
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining(what)
                    .hasMessageContaining("durability=accepted");
            assertThat(elections.election("refused").leader()).as("who looks").isEmpty();
        }
        assertThat(findings(server, ""))
                .anyMatch(finding ->
                        finding.level() == Finding.Level.ERROR && finding.says().contains(what));
        assertThat(findings(server, "?durability=accepted"))
                .noneMatch(finding -> finding.level() == Finding.Level.ERROR)
                .anyMatch(finding -> finding.level() == Finding.Level.WARNING
                        && finding.says().contains(what));
        leads(server.uri("?durability=accepted"));
    }

    @Test
    void whereKeysMayBeLostNothingIsNotFreeAtOnceAndNobodyLeadsBesideALeaderThatIsForgotten() throws Exception {
        try (var server = ValkeyServers.start("--appendonly", "no");
                var auditor = new LeadershipAuditor();
                var one = Elections.connect(server.uri("?durability=accepted"));
                var first = one.stand("forgotten", CONFIG)) {
            auditor.audit(first);
            var token = first.await(PATIENCE).orElseThrow().token();
            server.pause();
            server.kill();
            server.start(); // all keys are gone
            try (var two = Elections.connect(server.uri("?durability=accepted"));
                    var second = two.stand("forgotten", CONFIG)) { // it has seen nothing of the first
                auditor.audit(second);
                var later = Eventually.eventually(
                        "one leads under a higher token",
                        PATIENCE,
                        () -> first.mandate().or(second::mandate).filter(mandate -> mandate.token() > token));
                assertThat(later.token()).isGreaterThan(token);
            }
        }
    }

    /** What was lost is not added to revisions that are times: who comes after the next loss has only those. */
    @Test
    void tokensRiseWhenAllIsLostUnderACandidateAndThenOnceMoreWhenNobodyIsLeft() throws Exception {
        try (var server = ValkeyServers.start("--appendonly", "no")) {
            long second;
            try (var one = Elections.connect(server.uri("?durability=accepted"));
                    var candidacy = one.stand("twice", CONFIG)) {
                var first = candidacy.await(PATIENCE).orElseThrow().token();
                server.kill();
                server.start(); // all keys are gone
                second = Eventually.eventually(
                                "it leads again",
                                PATIENCE,
                                () -> candidacy.mandate().filter(mandate -> mandate.token() > first))
                        .token();
            }
            server.kill();
            server.start();
            try (var two = Elections.connect(server.uri("?durability=accepted"));
                    var candidacy = two.stand("twice", CONFIG)) {
                assertThat(candidacy.await(PATIENCE).orElseThrow().token()).isGreaterThan(second);
            }
        }
    }

    @Test
    void whenAllKeysAreFlushedUnderALeaderAndAStandbyNobodyLeadsBesideAndTokensRise() throws Exception {
        try (var server = ValkeyServers.start();
                var auditor = new LeadershipAuditor();
                var one = Elections.connect(server.uri(""));
                var two = Elections.connect(server.uri(""));
                var first = one.stand("flushed", CONFIG)) {
            auditor.audit(first);
            var token = first.await(PATIENCE).orElseThrow().token();
            try (var second = two.stand("flushed", CONFIG)) {
                auditor.audit(second);
                Eventually.eventually(
                        "it has seen the leader",
                        PATIENCE,
                        () -> two.election("flushed").leader().isPresent());
                assertThat(server.ask("FLUSHALL")).isEqualTo("OK");
                var later = Eventually.eventually(
                        "one leads under a higher token",
                        PATIENCE,
                        () -> first.mandate().or(second::mandate).filter(mandate -> mandate.token() > token));
                assertThat(later.token()).isGreaterThan(token);
            }
        }
    }

    @Test
    void aServerThatHasChangedSinceItWasConnectedToIsRefusedAndIsStoodOnAgainWhenItIsRight() throws Exception {
        try (var server = ValkeyServers.start();
                var elections = Elections.connect(server.uri(""))) {
            set(server, "appendonly", "no");
            Eventually.eventually(
                    "who stands from now on is refused",
                    SOON,
                    () -> refusal(elections, "changed").filter(message -> message.contains("appendonly is off")));
            set(server, "appendonly", "yes");
            Eventually.eventually(
                    "who stands from now on is not",
                    SOON,
                    () -> refusal(elections, "changed").isEmpty());
        }
    }

    private static Optional<String> refusal(Elections elections, String election) {
        try {
            elections.stand(election, CONFIG).close();
            return Optional.empty();
        } catch (ElectionException e) {
            return Optional.ofNullable(e.getMessage());
        }
    }

    @Test
    void whoWasConnectedBeforeTheServerLostAllIsRefusedThereAndDoesNotLeadBesideALeader() throws Exception {
        var unanswered = new AtomicInteger();
        try (var server = losing();
                var auditor = new LeadershipAuditor();
                var one = Elections.connect(server.uri(""));
                var two = Elections.connect(server.uri(""), counting(unanswered));
                var first = one.stand("lost", LONG)) {
            auditor.audit(first);
            assertThat(first.await(PATIENCE)).isPresent();
            server.kill();
            try (var second = two.stand("lost", CONFIG)) { // for the first time: it has seen nothing of the first
                auditor.audit(second);
                server.start(); // all keys are gone
                awaitRefusal(two);
                var before = unanswered.get();
                Eventually.eventually("it is refused again and again", PATIENCE, () -> unanswered.get() > before + 1);
                assertThat(second.failure()).as("what passes ends no candidacy").isEmpty();
                assertThat(second.mandate()).isEmpty();
            }
        }
    }

    @Test
    void whoWasRefusedThereGoesOnWhenTheServerIsRightAndDoesNotLeadBesideALeaderEither() throws Exception {
        try (var server = losing();
                var link = FaultProxy.to("127.0.0.1", server.port());
                var auditor = new LeadershipAuditor();
                var one = Elections.connect("redis://127.0.0.1:" + link.port());
                var two = Elections.connect(server.uri(""));
                var first = one.stand("found", MEDIUM)) {
            auditor.audit(first);
            var token = first.await(PATIENCE).orElseThrow().token();
            link.cut(); // it hears nothing of what follows, and leads until its lease is over
            server.kill();
            try (var second = two.stand("found", MEDIUM)) {
                auditor.audit(second);
                server.start(); // all keys are gone
                awaitRefusal(two);
                set(server, "appendonly", "yes");
                assertThat(second.await(PATIENCE).orElseThrow().token()).isGreaterThan(token);
            }
        }
    }

    /** Its claim was not sent; who gives it up keeps it away from the seat, in case it was. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whoGivesUpThereLeavesNoSeatThatOthersTakeBesideALeader(boolean isRightBefore) throws Exception {
        var unanswered = new AtomicInteger();
        try (var server = losing();
                var link = FaultProxy.to("127.0.0.1", server.port());
                var auditor = new LeadershipAuditor();
                var one = Elections.connect("redis://127.0.0.1:" + link.port());
                var two = Elections.connect(server.uri(""), counting(unanswered));
                var three = Elections.connect(server.uri(""));
                var first = one.stand("given up", SLOW)) {
            auditor.audit(first);
            var token = first.await(PATIENCE).orElseThrow().token();
            link.cut(); // it hears nothing of what follows, and leads until its lease is over
            server.kill();
            var second = two.stand("given up", SLOW);
            try (var third = three.stand("given up", SLOW)) {
                auditor.audit(third);
                server.start(); // all keys are gone
                awaitRefusal(two);
                var before = unanswered.get();
                Eventually.eventually("it claims in vain", PATIENCE, () -> unanswered.get() > before + 1);
                assertThat(first.isLeader()).as("the first leads on").isTrue();
                if (isRightBefore) {
                    set(server, "appendonly", "yes");
                }
                second.close();
                set(server, "appendonly", "yes");
                assertThat(third.await(PATIENCE).orElseThrow().token()).isGreaterThan(token);
            } finally {
                second.close();
            }
        }
    }

    @Test
    void whoConnectsWhenTheServerIsRightAgainDoesNotLeadBesideALeaderEither() throws Exception {
        try (var server = losing();
                var link = FaultProxy.to("127.0.0.1", server.port());
                var auditor = new LeadershipAuditor();
                var one = Elections.connect("redis://127.0.0.1:" + link.port());
                var first = one.stand("late", MEDIUM)) {
            auditor.audit(first);
            var token = first.await(PATIENCE).orElseThrow().token();
            link.cut(); // it hears nothing of what follows, and leads until its lease is over
            server.kill();
            server.start(); // all keys are gone
            set(server, "appendonly", "yes");
            try (var two = Elections.connect(server.uri(""));
                    var second = two.stand("late", MEDIUM)) {
                auditor.audit(second);
                assertThat(second.await(PATIENCE).orElseThrow().token()).isGreaterThan(token);
            }
        }
    }

    /** It would leave a seat that is free at once. */
    @Test
    void anOrderThereConcernsNoSeatThatHasNoRecordUntilALeaderOfItCannotLeadAnyMore() throws Exception {
        try (var server = losing();
                var one = Elections.connect(server.uri(""))) {
            assertThat(one.election("ordered").leader()).isEmpty();
            server.kill();
            server.start(); // all keys are gone
            awaitRefusal(one);
            refusesOrders(one, "appendonly is off");
            set(server, "appendonly", "yes");
            Eventually.eventually(
                    "who stands from now on is not refused",
                    PATIENCE,
                    () -> refusal(one, "another").isEmpty());
            refusesOrders(one, "may have lost seats");
            try (var two = Elections.connect(server.uri(""))) {
                refusesOrders(two, "may have lost seats");
            }
        }
    }

    private static void refusesOrders(Elections elections, String why) {
        assertThatThrownBy(elections.election("ordered")::end)
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining(why);
        assertThatThrownBy(elections.election("ordered")::delete)
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining(why);
    }

    private static ElectionsConfig counting(AtomicInteger unanswered) {
        return ElectionsConfig.builder()
                .metrics(new Metrics() {
                    @Override
                    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                        unanswered.addAndGet(attempt == Attempt.UNANSWERED ? 1 : 0);
                    }
                })
                .build();
    }

    /** Starts a server that keeps all until it is started again: then it has lost all, and keeps nothing any more. */
    private static ValkeyServer losing() {
        var server = ValkeyServers.start("--appendonly", "no");
        set(server, "appendonly", "yes"); // not in its file of settings
        return server;
    }

    private static void awaitRefusal(Elections elections) {
        Eventually.eventually(
                "who stands from now on is refused",
                PATIENCE,
                () -> refusal(elections, "another").filter(message -> message.contains("appendonly is off")));
    }

    @Test
    void whoStandsOnAServerThatIsSilentDoesNotWaitForIt() throws Exception {
        try (var server = ValkeyServers.start();
                var elections = Elections.connect(server.uri(""))) {
            server.pause();
            var longest = Duration.ZERO;
            var since = System.nanoTime();
            while (System.nanoTime() - since < TimeUnit.SECONDS.toNanos(3)) { // until no look is new enough any more
                var begun = System.nanoTime();
                assertThat(elections.lock("silent")).isNotNull();
                var took = Duration.ofNanos(System.nanoTime() - begun);
                longest = longest.compareTo(took) < 0 ? took : longest;
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            }
            assertThat(longest).isLessThan(Duration.ofSeconds(1));

            Thread.currentThread().interrupt();
            var candidacy = elections.stand("silent", CONFIG);
            assertThat(Thread.interrupted()).as("who called is told").isTrue();
            server.resume();
            assertThat(candidacy.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void whoStandsOverAClientThatTheApplicationHasShutDownIsNotRefusedForThat() {
        var client = RedisClient.create();
        try (var server = ValkeyServers.start();
                var elections = RedisElections.using(client, server.uri(""))) {
            client.shutdown();
            try (var candidacy = elections.stand("late", CONFIG)) {
                assertThat(candidacy.failure()).isEmpty();
            }
        } finally {
            client.shutdown();
        }
    }

    @Test
    void whereALossIsAcceptedNobodyLeadsBesideALeaderWhoseKeysAreFlushedAlthoughTheServerWasDurable() throws Exception {
        try (var server = ValkeyServers.start();
                var link = FaultProxy.to("127.0.0.1", server.port());
                var auditor = new LeadershipAuditor();
                var one = Elections.connect("redis://127.0.0.1:" + link.port() + "?durability=accepted");
                var two = Elections.connect(server.uri("?durability=accepted"));
                var first = one.stand("emptied", MEDIUM)) {
            auditor.audit(first);
            var token = first.await(PATIENCE).orElseThrow().token();
            link.cut(); // it hears nothing of what follows, and leads until its lease is over
            assertThat(server.ask("FLUSHALL")).isEqualTo("OK");
            try (var second = two.stand("emptied", MEDIUM)) { // it has seen nothing of the first
                auditor.audit(second);
                assertThat(second.await(PATIENCE).orElseThrow().token()).isGreaterThan(token);
            }
        }
    }

    @Test
    void aPrimaryThatHasBecomeAReplicaIsNotReadAndGoesOnWhenItIsOneAgain() throws Exception {
        try (var other = ValkeyServers.start();
                var server = ValkeyServers.start();
                var elections = Elections.connect(server.uri(""));
                var leader = elections.stand("demoted", LONG)) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            assertThat(server.ask("REPLICAOF", "127.0.0.1", Integer.toString(other.port())))
                    .isEqualTo("OK");
            // the connection may break as the server changes; what is refused on the next one says why
            Eventually.eventually(
                    "it is told to name the primary",
                    PATIENCE,
                    () -> refusal(elections).filter(message -> message.contains("name the primary")));
            assertThat(server.ask("REPLICAOF", "NO", "ONE")).isEqualTo("OK");
            // the replica has taken over that the other has no record: a seat without one is free a lease later
            Eventually.eventually(
                    "one leads under a higher token",
                    PATIENCE.plus(LONG.lease().multipliedBy(2)),
                    () -> leader.mandate().filter(next -> next.token() >= mandate.token()));
        }
    }

    private static Optional<String> refusal(Elections elections) {
        try {
            elections.election("demoted").leader();
            return Optional.empty();
        } catch (UnavailableException e) {
            return Optional.ofNullable(e.getMessage());
        }
    }

    @Test
    void aServerThatIsFullRefusesNoSeat() throws Exception {
        try (var server = ValkeyServers.start();
                var elections = Elections.connect(server.uri(""));
                var leader = elections.stand("full", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            set(server, "maxmemory", "1");
            assertThat(server.ask("SET", "x", "y")).startsWith("OOM");
            leader.resign();
            leads(server.uri(""));
            assertThat(findings(server, "")).anyMatch(finding -> finding.about().equals("memory"));
        }
    }

    @Test
    void whoMayNotLookAtTheSettingsDoesNotStandUnlessTheUriAcceptsThat() throws Exception {
        try (var server = ValkeyServers.start("--rename-command", "CONFIG", "")) {
            try (var elections = Elections.connect(server.uri(""))) {
                assertThatThrownBy(() -> elections.stand("hidden", CONFIG))
                        .isInstanceOf(ElectionException.class)
                        .hasMessageContaining("cannot be known");
            }
            leads(server.uri("?durability=accepted"));
        }
    }

    private static void set(ValkeyServer server, String name, String value) {
        assertThat(server.ask("CONFIG", "SET", name, value)).as(name).isEqualTo("OK");
        Eventually.eventually(
                "the file is written, if one is",
                PATIENCE,
                () -> server.ask("INFO", "persistence").contains("aof_rewrite_in_progress:0"));
    }

    private static void leads(String uri) throws Exception {
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("leads", CONFIG)) {
            assertThat(leader.await(PATIENCE)).as(uri).isPresent();
        }
    }

    private static List<Finding> findings(ValkeyServer server, String rest) {
        return Doctor.find(server.uri(rest), CONFIG);
    }

    /** A client of the application's. */
    private static final class Client implements AutoCloseable {
        private final RedisClient client = RedisClient.create();

        @Override
        public void close() {
            client.shutdown();
        }
    }
}
