package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.testkit.Infrastructure.Capability;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Who gets the seat, who gets it next, and under which token. */
abstract class SeatFacts extends ContractStage {

    @Test
    void exactlyOneOfTenCandidatesLeads() {
        var actors = new ArrayList<Actor>();
        for (var i = 0; i < 10; i++) {
            actors.add(stage.standFirm(stage.client()));
        }
        stage.eventually("one leads", () -> actors.stream().anyMatch(Actor::isLeader));
        var leader = actors.stream().filter(Actor::isLeader).findAny().orElseThrow();
        actors.stream().filter(actor -> actor != leader).forEach(actor -> actor.awaitFollows(leader));
        Eventually.throughout("one leads", stage.lease(), leader::isLeader);
        assertThat(actors.stream().mapToLong(actor -> actor.events().count(LeadershipEvent.Acquired.class)))
                .as("mandates of the ten")
                .containsOnlyOnce(1L)
                .containsOnly(0L, 1L);
    }

    @Test
    void aLoneCandidateLeadsAtOnce() {
        var lone = stage.standLong(stage.client());
        lone.awaitLeadsWithin(stage.longLease().dividedBy(2));
        assertThat(lone.candidacy().status().phase()).isEqualTo(Phase.LEADING);
    }

    @Test
    void resignHandsOverAndTheSuccessorsTokenIsHigher() {
        var first = stage.standLong(stage.client());
        var before = first.awaitLeads();
        var second = stage.standLong(stage.client());
        second.awaitFollows(first);
        first.candidacy().resign();
        var mandate = second.awaitLeadsWithin(stage.longLease().dividedBy(2));
        assertThat(mandate.token()).isGreaterThan(before.token());
        assertThat(before.isValid()).as("the mandate of the one who resigned").isFalse();
        first.awaitClosed();
        assertThat(first.candidacy().status().lastCause()).contains(Cause.RESIGNED);
        assertThat(second.isLeader()).isTrue();
    }

    @Test
    void aClosedLeadersSuccessorLeadsWithoutWaitingForTheLease() {
        var client = stage.client();
        var first = stage.standLong(client);
        first.awaitLeads();
        var second = stage.standLong(stage.client());
        second.awaitFollows(first);
        client.close();
        assertThat(first.isLeader()).isFalse();
        second.awaitLeadsWithin(stage.longLease().dividedBy(2));
    }

    @Test
    void whoComesAfterAClosedLeaderLeadsWithoutWaitingForTheLease() {
        var first = stage.standLong(stage.client());
        var token = first.awaitLeads().token();
        first.candidacy().close();
        var second = stage.standLong(stage.client());
        assertThat(second.awaitLeadsWithin(stage.longLease().dividedBy(2)).token())
                .isGreaterThan(token);
    }

    @Test
    @AloneOnServer
    void closeWhileStandingByLeavesNoTrace() {
        var observed = stage.observe(stage.client());
        var leader = stage.standLong(stage.client());
        var mandate = leader.awaitLeads();
        var client = stage.client();
        var standby = stage.standLong(client);
        standby.awaitFollows(leader);
        var stayed = stage.standLong(client); // so that the client itself counts before and after
        stayed.awaitFollows(leader);
        if (lacks(Capability.STANDBYS).isEmpty()) { // who follows may not be listed yet, and would be more than before
            stage.eventually("all are listed", () -> observed.candidates().size() == 3);
        }
        var before = Leftovers.of(stage);
        var passing = stage.standLong(client);
        passing.awaitFollows(leader);
        passing.candidacy().close();
        passing.awaitClosed();
        before.requireSame();
        standby.candidacy().close();
        stage.eventually(
                "those who closed are no longer listed",
                () -> observed.candidates().stream()
                        .noneMatch(
                                candidate -> List.of(standby.id(), passing.id()).contains(candidate.id())));
        assertThat(leader.candidacy().mandate()).as("the leader's mandate").contains(mandate);
        assertThat(passing.events().turns()).isEmpty();
    }

    @Test
    void tokensRiseFromTermToTerm() {
        var client = stage.client();
        var last = 0L;
        for (var term = 0; term < 5; term++) {
            var actor = stage.stand(client);
            var token = actor.awaitLeads().token();
            assertThat(token).isGreaterThan(last);
            last = token;
            actor.candidacy().close();
        }
    }

    @Test
    void whoComesFromElsewhereGoesOnAboveTheTokensThere() {
        var elsewhere = new MemoryLeaseStore(Clock.system());
        var token = 1L << 61;
        var lease = stage.lease();
        var former = new Claim(
                stage.election(), "former", "n", lease, lease, 0, Map.of(), Claim.ANY_ERA, token); // as high as any
        elsewhere.acquire(former).toCompletableFuture().join();
        elsewhere.release(former).toCompletableFuture().join();
        var config = ElectionsConfig.defaults();
        var refuses = lacks(Capability.JOINT).isPresent();
        Actor joint;
        try {
            var client = stage.infrastructure().connect(config);
            stage.onClose(client::close); // should it be refused
            var both = Elections.jointly(Elections.over(elsewhere, config), client, config);
            stage.onClose(both::close);
            joint = stage.stand(both);
        } catch (ElectionException refused) {
            assertThat(refused).hasMessageContainingAll("jointly");
            assertThat(refuses).as("it should say so by lacks(): " + refused).isTrue();
            return;
        }
        assertThat(refuses).as("it lacks joint elections, and holds one").isFalse();
        var last = joint.awaitLeads().token();
        assertThat(last)
                .as("the token that both seats were granted under")
                .isGreaterThan(token)
                .isEqualTo(elsewhere
                        .read(stage.election())
                        .toCompletableFuture()
                        .join()
                        .token());
        joint.candidacy().close();
        for (var term = 0; term < 3; term++) {
            var next = stage.stand(stage.client());
            var its = next.awaitLeads().token();
            assertThat(its).isGreaterThan(last);
            last = its;
            next.candidacy().close();
        }
    }

    @Test
    void twoElectionsOnOneConnectionDoNotDisturbEachOther() {
        var client = stage.client();
        var other = stage.election() + "-other";
        // leases so long that no stall of a busy machine ends one: then it was the other election
        var here = stage.standLong(client);
        var there = stage.standLong(client, other, new EventLog());
        var tokenHere = here.awaitLeads().token();
        var mandateThere = there.awaitLeads();
        var standby = stage.standLong(stage.client());
        standby.awaitFollows(here);
        here.candidacy().close();
        var mandate = standby.awaitLeads();
        assertThat(mandate.token()).isGreaterThan(tokenHere);
        there.awaitProven();
        assertThat(mandateThere.isValid())
                .as("the other election is undisturbed")
                .isTrue();
        var observer = stage.client();
        assertThat(observer.election(other).leader().orElseThrow().candidate()).isEqualTo(there.id());
        assertThat(stage.observe(observer).leader().orElseThrow().candidate()).isEqualTo(standby.id());
        there.candidacy().close();
        standby.awaitProven();
        assertThat(mandate.isValid()).as("nor is this one").isTrue();
    }

    @Test
    void theSameIdTwiceIsRefusedOrToldApart() {
        var client = stage.client();
        var first = stage.stand(
                client, new EventLog(), settings -> stage.firm(settings).candidate("twin"));
        first.awaitLeads();
        assertThatThrownBy(() -> stage.stand(client, new EventLog(), settings -> settings.candidate("twin")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("twin");
        var second = standOrBeRefused("twin");
        Eventually.throughout(
                "the first twin alone leads",
                stage.firmLease().plus(stage.lease()),
                () -> first.isLeader() && !second.map(Actor::isLeader).orElse(false));
        first.candidacy().close();
        second.filter(actor -> actor.candidacy().status().phase() != Phase.CLOSED)
                .ifPresent(Actor::awaitLeads);
    }

    private Optional<Actor> standOrBeRefused(String id) {
        try {
            return Optional.of(stage.stand(stage.client(), new EventLog(), settings -> settings.candidate(id)));
        } catch (ElectionException refused) {
            assertThat(refused).hasMessageContaining(id);
            return Optional.empty();
        }
    }

    static List<String> unusualNames() {
        return UnusualNames.ALL;
    }

    @ParameterizedTest
    @MethodSource("unusualNames")
    void unusualNamesWorkOrAreRefusedWithAClearError(String unusual) {
        var name = UnusualNames.unique(unusual);
        var client = stage.client();
        var refusal = stage.infrastructure().refusal(name);
        if (refusal.isPresent()) {
            assertThatThrownBy(() -> stage.stand(client, name, new EventLog(), settings -> settings))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(refusal.get());
            return;
        }
        // a leader that lost its seat in a stall of a busy machine would follow the second, and not be followed
        var first = stage.standLong(client, name, new EventLog());
        first.awaitLeads();
        var other = stage.client();
        assertThat(other.election(name).leader().orElseThrow().candidate()).isEqualTo(first.id());
        assertThat(other.list()).contains(name);
        var second = stage.standLong(other, name, new EventLog());
        second.awaitFollows(first);
        first.candidacy().close();
        second.awaitLeads();
        second.candidacy().close();
        other.election(name).delete();
    }

    @Test
    void unusualIdsAndMetadataComeBackAsTheyWere() {
        var id = "κριός/🐏 'x' \"y\" %_.\\";
        var observed = stage.observe(stage.client());
        var actor = stage.stand(
                stage.client(),
                new EventLog(),
                settings -> stage.firm(settings).candidate(id).metadata(UnusualNames.METADATA));
        actor.awaitLeads();
        var leader = observed.leader().orElseThrow();
        assertThat(leader.candidate()).isEqualTo(id);
        assertThat(leader.metadata()).isEqualTo(UnusualNames.METADATA);
    }

    @Test
    void namesThatDifferALittleAreDifferentElections() {
        var client = stage.client();
        var serial = stage.election().substring(stage.election().length() - 8);
        for (var pair : UnusualNames.PAIRS) {
            for (var name : pair) {
                var unique = name + serial;
                if (stage.infrastructure().refusal(unique).isEmpty()) {
                    var actor = stage.stand(client, unique, new EventLog(), settings -> settings);
                    actor.awaitLeads(); // one election for both names would have one leader
                }
            }
        }
    }

    @Test
    @AloneOnServer
    void whatTheInfrastructureLacksIsPrinted() {
        for (var capability : Capability.values()) {
            var before = printed().size();
            var reason = lacks(capability);
            var now = printed().subList(before, printed().size());
            if (reason.isEmpty()) {
                assertThat(now).as(capability + " is offered").isEmpty();
                continue;
            }
            assertThat(reason.get()).as(capability + ": the reason").containsPattern("\\w+ \\w+");
            assertThat(now)
                    .as(capability + ": what is printed")
                    .singleElement()
                    .asString()
                    .contains(
                            capability.name(),
                            reason.get(),
                            stage.infrastructure().describe());
            assertThat(offers(capability)).as(capability + ": is lacking").isFalse();
        }
    }

    /** Whether the infrastructure does what it says that it cannot do. */
    private boolean offers(Capability capability) {
        var infrastructure = stage.infrastructure();
        try {
            switch (capability) {
                case RESTART -> infrastructure.restartServer();
                case PAUSE -> {
                    infrastructure.pauseServer();
                    infrastructure.resumeServer();
                }
                case STANDBYS, HAND_OVER, PROCLAIM, JOINT -> {
                    return false; // the facts that need them see that
                }
            }
            return true;
        } catch (UnsupportedOperationException e) {
            return false;
        }
    }
}
