package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.Actor;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Stage;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What the original, go-leaderelection, tests, or would have liked to: here of ours. */
class RecipeTest {
    /**
     * The times of go-leaderelection's own tests: for one to leave or to lead, to hear of an end, to lead after a
     * resignation, for all to end.
     */
    private static final Duration TURN = Duration.ofSeconds(1);

    private static final Duration NEWS = Duration.ofSeconds(2);
    private static final Duration SUCCESSION = Duration.ofSeconds(10);
    private static final Duration ALL_END = Duration.ofSeconds(12);

    private final Stage stage = new Stage(new ZooKeeperInfrastructure(SharedServer.get()), "recipe");
    private final String election = stage.election();
    private final Hands hands = new Hands(SharedServer.get());

    @AfterEach
    void close() {
        stage.close();
        hands.close();
    }

    @Test
    void aLoneCandidateHasAnEphemeralNodeInAPersistentOne() throws Exception {
        var lone = stage.standFirm(stage.client());
        var mandate = lone.awaitLeads();
        var queue = hands.queue(election);
        assertThat(queue).singleElement().asString().matches("le_\\d{10}");
        var node = Objects.requireNonNull(hands.stat(election, queue.get(0)));
        assertThat(node.getEphemeralOwner()).isNotZero();
        assertThat(mandate.token()).as("the token").isEqualTo(node.getCzxid());
        var parent = Objects.requireNonNull(hands.stat(election, null));
        assertThat(parent.getEphemeralOwner()).isZero();
        stage.eventually("it is told", () -> !lone.events().entries().isEmpty());
        Eventually.throughout(
                "nothing more is told",
                Duration.ofSeconds(1),
                () -> lone.events().entries().size() == 1);
        lone.candidacy().close();
        assertThat(hands.children(election)).isEmpty();
        hands.delete(election); // which only an empty one allows
    }

    @Test
    void aCandidatesNodeHoldsItsIdAndNothingElse() throws Exception {
        var client = stage.client();
        stage.stand(client, new EventLog(), settings -> settings.candidate("host-1.example"))
                .awaitLeads();
        var follower = stage.stand(client, new EventLog(), settings -> settings.candidate("foobar"));
        stage.eventually(
                "it follows", () -> follower.candidacy().status().following().isPresent());
        var queue = hands.queue(election);
        assertThat(hands.data(election, queue.get(0))).isEqualTo("host-1.example");
        assertThat(hands.data(election, queue.get(1))).isEqualTo("foobar");
    }

    @Test
    void connectingToNobodyFailsAndLeavesNoThread() {
        assertThatThrownBy(() -> Elections.connect("zk://127.0.0.1:1"))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("127.0.0.1:1");
        stage.eventually(
                "no thread of a client is left",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().contains("127.0.0.1:1)")));
    }

    @Test
    void whoStandsWhileTheServerIsDownLeadsWhenItIsUp() {
        try (var servers = ZooKeeperServers.start(1, 0);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            servers.servers().get(0).kill();
            try (var candidacy = elections.stand("patience", CandidacyConfig.ofLease(Duration.ofSeconds(2)))) {
                Eventually.throughout(
                        "it stands by",
                        Duration.ofMillis(500),
                        () -> candidacy.status().phase() == Phase.STANDING_BY);
                servers.servers().get(0).start();
                Eventually.eventually("it leads", Duration.ofSeconds(30), candidacy::isLeader);
            }
        }
    }

    @Test
    void whenTheServerStopsTheLeaderEndsByItselfAndTheFollowerCanLeave() {
        try (var servers = ZooKeeperServers.start(1, 0);
                var one = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()));
                var other = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            var lease = CandidacyConfig.ofLease(Duration.ofSeconds(2));
            try (var leader = one.stand("stop", lease)) {
                Eventually.eventually("it leads", Duration.ofSeconds(30), leader::isLeader);
                var follower = other.stand("stop", lease);
                Eventually.eventually(
                        "it follows",
                        Duration.ofSeconds(30),
                        () -> follower.status().following().isPresent());
                servers.servers().get(0).kill();
                Eventually.eventually("it leads no more", Duration.ofSeconds(30), () -> !leader.isLeader());
                Eventually.eventually(
                        "it knows why",
                        Duration.ofSeconds(30),
                        () -> leader.status().lastCause().isPresent());
                var closing = CompletableFuture.runAsync(follower::close, task -> new Thread(task).start());
                Eventually.eventually("close returns", NEWS, closing::isDone);
            }
        }
    }

    @Test
    void eachFollowsTheOneBeforeItAndIsToldWhomItFollowedBefore() {
        var leader = stage.standFirm(stage.client());
        leader.awaitLeads();
        var first = stage.standFirm(stage.client());
        awaitFollowing(first, leader);
        var second = stage.standFirm(stage.client());
        awaitFollowing(second, first);

        first.candidacy().resign();
        first.awaitClosed();
        awaitFollowing(second, leader);
        assertThat(second.candidacy().status().followed()).contains(first.id());
        assertThat(leader.events().entries()).as("what the leader heard").hasSize(1);

        var newcomer = stage.standFirm(stage.client());
        awaitFollowing(newcomer, second);
        leader.candidacy().resign();
        second.awaitLeadsWithin(SUCCESSION);
        assertThat(second.candidacy().status().following()).isEmpty();
        assertThat(second.candidacy().status().followed()).contains(leader.id());
        assertThat(newcomer.candidacy().status().following()).contains(second.id());
    }

    @Test
    void whenTheLeaderResignsTheNextLeadsWithinASecondAndANewcomerFollowsIt() {
        var leader = stage.standLong(stage.client());
        leader.awaitLeads();
        var follower = stage.standLong(stage.client());
        awaitFollowing(follower, leader);
        leader.candidacy().resign();
        follower.awaitLeadsWithin(TURN);
        Eventually.eventually(
                "it is over", TURN, () -> leader.candidacy().status().phase() == Phase.CLOSED);
        assertThat(follower.candidacy().status().following()).isEmpty();
        var newcomer = stage.standLong(stage.client());
        awaitFollowing(newcomer, follower);
    }

    private void awaitFollowing(Actor follower, Actor followed) {
        stage.eventually(
                follower + " follows " + followed.id(),
                () -> follower.candidacy().status().following().equals(Optional.of(followed.id())));
    }

    @Test
    void deletingWhatIsNotThereIsNoError() throws Exception {
        var observed = stage.observe(stage.client());
        observed.delete();
        observed.delete();
        assertThat(hands.exists(election)).isFalse();
    }

    /**
     * Not on the stage: who deletes nodes by hand gives the seat away under its leader, for as long as the news takes.
     */
    @Test
    void whenTheElectionIsDeletedByHandAllHearThatItHasEnded() throws Exception {
        try (var one = Elections.connect(SharedServer.uri());
                var other = Elections.connect(SharedServer.uri())) {
            var leadersLog = new EventLog();
            var followersLog = new EventLog();
            var leader = stand(one, leadersLog);
            stage.eventually("it leads", leader::isLeader);
            var follower = stand(other, followersLog);
            stage.eventually("it follows", () -> follower.status().following().isPresent());
            hands.deleteAll(election);
            Eventually.eventually(
                    "both are told",
                    NEWS,
                    () -> Stream.of(leadersLog, followersLog)
                            .allMatch(
                                    log -> log.last(LeadershipEvent.Ended.class).isPresent()));
            leader.awaitClose();
            follower.awaitClose();
            assertThat(leadersLog.last(LeadershipEvent.Ended.class)).isPresent();
            assertThat(followersLog.last(LeadershipEvent.Ended.class)).isPresent();
            assertThat(hands.exists(election)).as("nobody makes it again").isFalse();
        }
    }

    @Test
    void whoseNodeIsDeletedByHandJoinsAgainBehindTheOthers() throws Exception {
        try (var one = Elections.connect(SharedServer.uri());
                var other = Elections.connect(SharedServer.uri())) {
            var leader = stand(one, new EventLog());
            stage.eventually("it leads", leader::isLeader);
            var last = stand(other, new EventLog());
            stage.eventually("it follows", () -> last.status().following().isPresent());
            var node = hands.queue(election).get(1);
            hands.delete(election, node);
            stage.eventually("it is back", () -> queueOf(2) && !queue().contains(node));
            assertThat(leader.isLeader()).isTrue();
            hands.delete(election, hands.queue(election).get(0)); // the leader's
            stage.eventually("it hears of it", () -> leader.status().lastCause().equals(Optional.of(Cause.REPLACED)));
            stage.eventually("the other leads", last::isLeader);
            stage.eventually("the former leader queues again", () -> queueOf(2));
        }
    }

    private Candidacy stand(Elections client, EventLog log) {
        return client.stand(
                election,
                CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(10))
                        .listener(log)
                        .build());
    }

    private boolean queueOf(int length) {
        return queue().size() == length;
    }

    private List<String> queue() {
        try {
            return hands.queue(election);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void anElectionThatMustBeMadeByOthersIsNotMadeByUs() throws Exception {
        try (var elections = Elections.connect(SharedServer.uri() + "&createElections=false")) {
            var log = new EventLog();
            var candidacy = elections.stand(
                    election, CandidacyConfig.builder().listener(log).build());
            assertThatThrownBy(candidacy::awaitClose)
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("createElections");
            assertThat(log.last(LeadershipEvent.Failed.class)).isPresent();
            assertThat(((LeadershipEvent.Failed) log.last(LeadershipEvent.Failed.class)
                                    .orElseThrow()
                                    .event())
                            .error())
                    .hasMessageContaining(election)
                    .hasMessageContaining("createElections");
            hands.make(election, "stand_down");
            var again = elections.stand(election, CandidacyConfig.defaults());
            Eventually.eventually("it leads", stage.patience(), again::isLeader);
        }
    }

    @Test
    void whileFiveHundredStandAndFiveHundredJoinDeleteEndsClean() throws Exception {
        var clients = clients();
        var logs = new ArrayList<EventLog>();
        var standing = fiveHundredStand(clients, logs);
        var joining = fiveHundredJoinWhileOthersResign(clients, logs, standing);
        var began = System.nanoTime();
        stage.observe(clients.get(0)).delete();
        awaitClosed(standing, began);
        // who comes after the deletion begins afresh: let them go, too
        var late = joining.join();
        late.forEach(Candidacy::resign);
        awaitClosed(late, began);
        stage.observe(clients.get(0)).delete();
        stage.eventually("the election is gone", () -> {
            try {
                return !hands.exists(election);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        nobodyFailed(logs);
    }

    @Test
    void whileFiveHundredStandAndFiveHundredJoinEndEndsClean() throws Exception {
        var clients = clients();
        var logs = new ArrayList<EventLog>();
        var standing = fiveHundredStand(clients, logs);
        var joining = fiveHundredJoinWhileOthersResign(clients, logs, standing);
        var began = System.nanoTime();
        stage.observe(clients.get(0)).end();
        stage.observe(clients.get(1)).end();
        awaitClosed(standing, began);
        awaitClosed(joining.join(), began); // without being asked to
        assertThat(hands.children(election)).containsExactly("DONE");
        nobodyFailed(logs);
        var late = logs.size();
        awaitClosed(List.of(stand(clients.get(0), logs)), System.nanoTime());
        assertThat(logs.get(late).turns()).containsExactly("Ended");
    }

    private List<Elections> clients() {
        return List.of(stage.client(), stage.client(), stage.client(), stage.client());
    }

    private List<Candidacy> fiveHundredStand(List<Elections> clients, List<EventLog> logs) {
        var standing = new ArrayList<Candidacy>();
        for (var i = 0; i < 500; i++) {
            standing.add(stand(clients.get(i % 4), logs));
        }
        stage.eventually("all have joined", () -> queueOf(500));
        return standing;
    }

    /** Returns those who join, when all have; this returns when some have. */
    private CompletableFuture<List<Candidacy>> fiveHundredJoinWhileOthersResign(
            List<Elections> clients, List<EventLog> logs, List<Candidacy> standing) {
        var joining = CompletableFuture.<List<Candidacy>>supplyAsync(
                () -> {
                    var joined = new ArrayList<Candidacy>();
                    for (var i = 0; i < 500; i++) {
                        joined.add(stand(clients.get(i % 4), logs));
                        if (i % 3 == 0) {
                            standing.get(i).resign();
                        }
                    }
                    return joined;
                },
                task -> new Thread(task).start());
        stage.eventually("some of the others have come", () -> count(logs) > 550);
        return joining;
    }

    private static int count(List<EventLog> logs) {
        synchronized (logs) {
            return logs.size();
        }
    }

    /** So long after the order at most, as in the test of the original. */
    private static void awaitClosed(List<Candidacy> candidacies, long sinceNanos) {
        Eventually.eventually(
                "all are over",
                Duration.ofNanos(sinceNanos + ALL_END.toNanos() - System.nanoTime()),
                () -> candidacies.stream()
                        .allMatch(candidacy -> candidacy.status().phase() == Phase.CLOSED));
    }

    private static void nobodyFailed(List<EventLog> logs) {
        assertThat(logs)
                .allSatisfy(log ->
                        assertThat(log.last(LeadershipEvent.Failed.class)).isEmpty());
    }

    private Candidacy stand(Elections client, List<EventLog> logs) {
        var log = new EventLog();
        synchronized (logs) {
            logs.add(log);
        }
        return client.stand(
                election,
                CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(20))
                        .listener(log)
                        .build());
    }
}
