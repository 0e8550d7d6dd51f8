package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.Metrics;
import dev.bellwether.NotLeaderException;
import dev.bellwether.spi.Fields;
import dev.bellwether.testkit.Actor;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.OutageCount;
import dev.bellwether.testkit.Stage;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What happens to the group, and to the topic, while somebody leads. The stage fails each fact in which two lead at
 * once.
 */
class GroupFaultsTest {
    private static final Duration UNHURRIED = Duration.ofSeconds(10);

    private final KafkaInfrastructure kafka = new KafkaInfrastructure(SharedBroker.get());
    private final Stage stage = new Stage(kafka, "group-faults");
    private final Admin admin =
            Admin.create(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()));

    @AfterEach
    void close() {
        admin.close();
        stage.close();
    }

    private String group() {
        return "bellwether." + stage.election();
    }

    /** Waits until it is a member of the group: it knows whom to follow before. */
    private void awaitJoined(Actor actor) {
        var observed = stage.observe(stage.client());
        stage.eventually(
                actor + " is listed",
                () -> observed.candidates().stream().anyMatch(one -> one.id().equals(actor.id())));
    }

    /** Stands with a lease that a busy machine does not cost it. */
    private Actor standUnhurried() {
        return stage.stand(stage.client(), new EventLog(), settings -> settings.lease(UNHURRIED));
    }

    private void removeAllMembers() throws InterruptedException, ExecutionException {
        admin.removeMembersFromConsumerGroup(group(), new RemoveMembersFromConsumerGroupOptions())
                .all()
                .get();
    }

    @Test
    void tenCandidatesJoiningAndLeavingDoNotMoveTheSeat() {
        var leader = standUnhurried();
        var mandate = leader.awaitLeads();
        var client = stage.client();
        var standing = new ArrayList<Actor>();
        for (var round = 0; round < 10; round++) {
            var joining = stage.stand(client);
            awaitJoined(joining);
            standing.add(joining);
            if (round % 3 == 2) {
                standing.remove(0).candidacy().close();
            }
        }
        standing.forEach(actor -> actor.candidacy().close());
        assertThat(leader.candidacy().mandate()).contains(mandate);
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
    }

    @Test
    void candidatesThatCameOneAfterAnotherAndLeaveInThatOrderAreEachLedByTheNext() {
        var standing = new ArrayList<Actor>();
        for (var i = 0; i < 4; i++) {
            standing.add(standUnhurried());
            awaitJoined(standing.get(i));
        }
        var token = 0L;
        for (var leader : standing) {
            var mandate = leader.awaitLeads();
            assertThat(mandate.token()).isGreaterThan(token);
            token = mandate.token();
            assertThat(standing.stream().filter(Actor::isLeader)).containsExactly(leader);
            leader.candidacy().close();
            assertThat(leader.events().turns()).containsExactly("Acquired " + token, "Revoked " + token + " RESIGNED");
        }
    }

    @Test
    void anOutageIsToldThoughTheLoopHeardOfTheLastAnswerLate() {
        var outages = new OutageCount();
        var metrics = new Metrics() {
            @Override
            public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                if (attempt == Attempt.RENEWED) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100)); // as on a busy machine
                }
            }

            @Override
            public void outageBegan(String what) {
                outages.outageBegan(what);
            }
        };
        var linked =
                stage.linkedClient(ElectionsConfig.builder().metrics(metrics).build());
        var lease = stage.lease().multipliedBy(3);
        stage.stand(linked.elections(), new EventLog(), settings -> settings.lease(lease))
                .awaitLeads();
        Eventually.throughout("it is answered", lease, () -> !outages.isOut());
        linked.link().cut();
        stage.eventually("the outage is told", outages::isOut);
    }

    @Test
    void aStandbyThatDiesWhileAnotherJoinsDoesNotCostTheLeaderItsMandate() {
        var lease = stage.lease().multipliedBy(2);
        var leader = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(lease));
        var mandate = leader.awaitLeads();
        var dying = stage.linkedClient();
        var longSession = lease.multipliedBy(3);
        awaitJoined(stage.stand(dying.elections(), new EventLog(), settings -> settings.lease(longSession)));
        dying.link().cut();
        stage.stand(stage.client()).awaitFollows(leader); // its rebalance waits for the dead one, for that long session
        Eventually.throughout("it leads on", longSession.plus(stage.lease()), mandate::isValid);
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
    }

    @Test
    void anOwnerWhoIsThrownOutIsFencedNotRevokedAndItsSuccessorWaitsForItsLease() throws Exception {
        var first = standUnhurried(); // it is told so long before its lease is over
        var mandate = first.awaitLeads();
        var second = standUnhurried();
        second.awaitFollows(first);
        removeAllMembers();
        first.awaitHears(LeadershipEvent.Fenced.class);
        assertThat(first.candidacy().status().lastCause()).get().isIn(Cause.EXPIRED, Cause.REPLACED);
        var next = Eventually.eventually(
                "one leads",
                stage.patience(),
                () -> Stream.of(first, second)
                        .flatMap(actor -> actor.candidacy().mandate().stream())
                        .findFirst());
        assertThat(next.token()).isGreaterThan(mandate.token());
        assertThat(first.events().count(LeadershipEvent.Revoked.class)).isZero();
    }

    @Test
    void aSuccessorWaitsForTheLeaseOfAnOwnerWhoWasThrownOutAndCannotBeReached() throws Exception {
        var linked = stage.linkedClient();
        var first = stage.stand(linked.elections());
        first.awaitLeads();
        var second = stage.stand(stage.client());
        second.awaitFollows(first);
        linked.link().cut(); // it does not hear of it
        removeAllMembers(); // the group gives the partition away at once
        second.awaitLeads(); // and the stage looks whether both lead
        assertThat(first.isLeader()).isFalse();
    }

    @Test
    void aForeignClaimInTheJournalEndsTheMandateAtOnceWhateverTheGroupSays() throws Exception {
        var leader = standUnhurried();
        var mandate = leader.awaitLeads();
        var forged = Fields.with("candidate", "intruder")
                .and("instance", "intruder")
                .and("nonce", "intruder-1")
                .and("lease", stage.lease().toNanos())
                .and("base", mandate.token())
                .build();
        var claim = new Entry(Entry.What.CLAIM, stage.election(), forged);
        var settings =
                Settings.of(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()));
        try (var writer = settings.writer("intruder")) {
            writer.send(new ProducerRecord<>("bellwether", 0, claim.key(), claim.value()))
                    .get();
        }
        leader.awaitLoses(Cause.REPLACED);
        leader.awaitHears(LeadershipEvent.Fenced.class);
        var next = Eventually.eventually(
                "it leads again, under a token of its own",
                stage.patience(),
                () -> leader.candidacy().mandate().filter(held -> held.token() != mandate.token()));
        assertThat(next.token()).isGreaterThan(2 * mandate.token());
    }

    @Test
    void theTokenRisesThoughTheGroupWasDeleted() throws Exception {
        var first = stage.stand(stage.client());
        var token = first.awaitLeads().token();
        first.candidacy().close();
        admin.deleteConsumerGroups(List.of(group())).all().get();
        assertThat(stage.stand(stage.client()).awaitLeads().token()).isGreaterThan(token);
    }

    @Test
    void theTokenRisesThoughTheTopicIsDeletedUnderALeader() throws Exception {
        var leader = stage.stand(stage.client());
        var before = leader.awaitLeads();
        admin.deleteTopics(List.of("bellwether")).all().get();
        var after = Eventually.eventually(
                "it leads again: " + leader,
                Duration.ofSeconds(60),
                () -> leader.candidacy().mandate().filter(mandate -> mandate.token() != before.token()));
        assertThat(after.token()).isGreaterThan(before.token());
        leader.awaitHears(LeadershipEvent.Fenced.class);
        leader.awaitProven();
        assertThat(leader.candidacy().mandate()).as("and goes on").contains(after);
    }

    @Test
    void aPartitionThatIsRevokedIsHandedOverOnlyWhenTheListenerHasReturned() throws Exception {
        var returned = new CountDownLatch(1);
        var log = new EventLog(event -> {
            if (event instanceof LeadershipEvent.Revoked) {
                awaitQuietly(returned);
            }
        });
        var first = stage.stand(
                stage.client(), log, settings -> settings.lease(UNHURRIED).standDownBudget(UNHURRIED.dividedBy(2)));
        first.awaitLeads();
        var second = stage.stand(stage.client());
        second.awaitFollows(first);
        stage.observe(stage.client()).standDown();
        first.awaitHears(LeadershipEvent.Revoked.class);
        Eventually.throughout("the successor waits", Duration.ofMillis(300), () -> !second.isLeader());
        returned.countDown();
        second.awaitLeads();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void garbageOnTheTopicHarmsNobody() {
        var leader = standUnhurried();
        var mandate = leader.awaitLeads();
        var standby = standUnhurried();
        standby.awaitFollows(leader);
        var settings =
                Settings.of(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()));
        try (var writer = settings.writer("garbage")) {
            for (var i = 0; i < 5_000; i++) {
                var key = ("seat:" + stage.election()).getBytes(StandardCharsets.UTF_8);
                var values = List.of("what=BEAT&token=" + Long.MAX_VALUE / 2, "", "what=CLAIM", "what=RELEASE&token=x");
                var value = values.get(i % 4).getBytes(StandardCharsets.UTF_8);
                if (i % 4 != 0 && i % 4 != 2) { // those two would be claims: who may write to the topic may lead
                    var sent = writer.send(new ProducerRecord<>("bellwether", 0, key, value));
                    assertThat(sent.isCancelled()).isFalse();
                }
            }
        }
        leader.awaitProven(); // by a beat behind all that
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
        assertThat(standby.events().turns()).isEmpty();
    }

    @Test
    void aGroupWithStockAssignorsIsRolledOverWithoutAFlagDay() throws Exception {
        var name = stage.election();
        try (var plain = new PlainMember(SharedBroker.get().bootstrap(), group(), "bellwether")) {
            stage.eventually("the plain member owns the partition", plain::owns);
            var elections = Elections.connect(SharedBroker.uri() + "?assignors=range");
            stage.onClose(elections::close);
            var ours = elections.stand(name, kafka.settings(stage.lease()).build());
            stage.onClose(ours::close);
            Eventually.throughout(
                    "at most one of them owns it", stage.lease(), () -> !(plain.owns() && ours.isLeader()));
            plain.leave();
            assertThat(ours.await(stage.patience())).isPresent();
        }
    }

    @Test
    void aRebalanceThatTakesThePartitionIsToldAsRevokedAndWaitsForTheListener() throws Exception {
        var returned = new CountDownLatch(1);
        var log = new EventLog(event -> {
            if (event instanceof LeadershipEvent.Revoked) {
                awaitQuietly(returned);
            }
        });
        var elections = Elections.connect(SharedBroker.uri() + "?assignors=range"); // eager: each rebalance takes all
        stage.onClose(elections::close);
        var ours = stage.stand(
                elections, log, settings -> settings.lease(UNHURRIED).standDownBudget(UNHURRIED.dividedBy(2)));
        var mandate = ours.awaitLeads();
        try (var plain = new PlainMember(SharedBroker.get().bootstrap(), group(), "bellwether")) {
            ours.awaitHears(LeadershipEvent.Revoked.class);
            assertThat(ours.isLeader()).isFalse();
            Eventually.throughout("the rebalance waits", Duration.ofMillis(200), () -> !plain.owns());
            returned.countDown();
            stage.eventually("one of them owns the partition", () -> plain.owns() || ours.isLeader());
            assertThat(ours.candidacy().status().lastCause()).contains(Cause.MOVED);
        }
        assertThat(ours.awaitLeads().token()).isGreaterThan(mandate.token());
        assertThat(log.count(LeadershipEvent.Fenced.class)).isZero();
    }

    @Test
    void aProducerThatIsStillBeingMadeWhenTheMandateEndsIsRefused() throws Exception {
        var leader = stage.stand(stage.client());
        var mandate = leader.awaitLeads();
        var brokers = SharedBroker.get();
        var number = KafkaInfrastructure.LINKS - 1; // the stage uses the first
        var properties = Map.<String, Object>of("bootstrap.servers", brokers.bootstrap(number));
        brokers.link(number).cut();
        var refusal = new CompletableFuture<Throwable>();
        var making = new Thread(() -> {
            try {
                var strings = new StringSerializer();
                KafkaElections.fencedProducer(mandate, properties, strings, strings)
                        .close();
                refusal.complete(new AssertionError("it was made"));
            } catch (RuntimeException e) {
                refusal.complete(e);
            }
        });
        making.start();
        stage.eventually(
                "it asks to fence its predecessors",
                () -> Stream.of(making.getStackTrace())
                        .anyMatch(frame -> frame.getMethodName().equals("initTransactions")));
        leader.candidacy().close();
        brokers.link(number).heal();
        assertThat(refusal.get(60, TimeUnit.SECONDS)).isInstanceOf(NotLeaderException.class);
    }

    /** It stayed open, with its thread and its connections. */
    @Test
    void aProducerThatAnErrorKeepsFromBeingMadeIsClosed() {
        var asked = new AtomicInteger();
        var mandate = (Mandate) Proxy.newProxyInstance(
                Mandate.class.getClassLoader(), new Class<?>[] {Mandate.class}, (self, method, arguments) -> {
                    if (method.getName().equals("ensure") && asked.incrementAndGet() > 1) {
                        throw new NoClassDefFoundError("planted");
                    }
                    return method.getReturnType() == String.class ? "erroneous" : null;
                });
        var isClosed = new AtomicBoolean();
        var strings = new StringSerializer() {
            @Override
            public void close() {
                isClosed.set(true);
            }
        };
        Map<String, Object> properties =
                Map.of("bootstrap.servers", SharedBroker.get().bootstrap());
        assertThatThrownBy(() -> KafkaElections.fencedProducer(mandate, properties, strings, strings))
                .isInstanceOf(NoClassDefFoundError.class);
        assertThat(asked).hasValue(2);
        assertThat(isClosed).isTrue();
    }
}
