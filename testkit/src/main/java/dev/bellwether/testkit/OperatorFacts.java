package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidate;
import dev.bellwether.Cause;
import dev.bellwether.Election;
import dev.bellwether.Leader;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.Infrastructure.Capability;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** What observers see, and what operators can order. */
abstract class OperatorFacts extends OutageFacts {

    @Test
    void anObserverKnowsTheLeaderByItsIdAndToken() {
        var observed = stage.observe(stage.client());
        assertThat(observed.leader()).as("before anybody stood").isEmpty();
        var leader = stage.standFirm(stage.client());
        var mandate = leader.awaitLeads();
        var seen = observed.leader().orElseThrow();
        assertThat(seen.candidate()).isEqualTo(leader.id());
        assertThat(seen.token()).isEqualTo(mandate.token());
        Eventually.throughout(
                "renewals do not show", stage.lease(), () -> observed.leader().equals(Optional.of(seen)));
        leader.candidacy().close();
        stage.eventually("the seat is seen vacant", () -> observed.leader().isEmpty());
    }

    @Test
    void anObserverSeesEachChangeAndTheVacancyToo() {
        var seen = new CopyOnWriteArrayList<Optional<Leader>>();
        stage.onClose(stage.observe(stage.client()).watch(seen::add)::close);
        stage.eventually(
                "the vacancy at the beginning",
                () -> seen.size() == 1 && seen.get(0).isEmpty());
        for (var term = 0; term < 3; term++) {
            var actor = stage.stand(stage.client());
            var token = actor.awaitLeads().token();
            stage.eventually(actor + " is seen to lead", () -> sees(seen, actor, token));
            actor.candidacy().close();
            stage.eventually(
                    "a vacancy is seen", () -> seen.get(seen.size() - 1).isEmpty());
        }
        var killed = stage.linkedClient();
        var victim = stage.stand(killed.elections());
        var token = victim.awaitLeads().token();
        stage.eventually("the last is seen to lead", () -> sees(seen, victim, token));
        killed.link().cut();
        stage.eventually(
                "a lease that ran out is seen", () -> seen.get(seen.size() - 1).isEmpty());
        var tokens = seen.stream().flatMap(Optional::stream).map(Leader::token).toList();
        assertThat(tokens).as("the tokens seen").isSorted().doesNotHaveDuplicates();
    }

    private static boolean sees(List<Optional<Leader>> seen, Actor actor, long token) {
        var last = seen.get(seen.size() - 1);
        return last.isPresent()
                && last.get().candidate().equals(actor.id())
                && last.get().token() == token;
    }

    @Test
    void aWatchBeginsWithWhatIsTheCaseAndTellsNoMoreWhenClosed() {
        var first = stage.standFirm(stage.client());
        var token = first.awaitLeads().token();
        var closed = new CopyOnWriteArrayList<Optional<Leader>>();
        var open = new CopyOnWriteArrayList<Optional<Leader>>();
        var observed = stage.observe(stage.client());
        var watch = observed.watch(closed::add);
        stage.eventually("the leader is told", () -> !closed.isEmpty() && sees(closed, first, token));
        watch.close();
        watch.close();
        var told = closed.size();
        stage.onClose(observed.watch(open::add)::close);
        stage.eventually("the leader is told", () -> !open.isEmpty() && sees(open, first, token));
        first.candidacy().close();
        stage.eventually("the vacancy is told", () -> open.get(open.size() - 1).isEmpty());
        assertThat(closed).hasSize(told);
    }

    @Test
    void metadataReachesObservers() {
        var observed = stage.observe(stage.client());
        var leader = stage.stand(stage.client(), new EventLog(), settings -> settings.metadata(UnusualNames.METADATA));
        leader.awaitLeads();
        stage.eventually(
                "the leader's is read",
                () -> observed.leader()
                        .filter(candidate -> candidate.metadata().equals(UnusualNames.METADATA))
                        .isPresent());
        stage.eventually(
                "the list of candidates has it too",
                () -> observed.candidates().stream()
                        .anyMatch(candidate -> candidate.leads()
                                && candidate.id().equals(leader.id())
                                && candidate.metadata().equals(UnusualNames.METADATA)));
    }

    @Test
    void theListOfCandidatesHoldsTheLeaderAndTheStandbys() {
        var observed = stage.observe(stage.client());
        assertThat(observed.candidates()).as("before anybody stood").isEmpty();
        var leader = stage.standFirm(stage.client()); // one that is late for its lease is listed no more, rightly
        leader.awaitLeads();
        var client = stage.client();
        var second = stage.stand(
                client,
                new EventLog(),
                settings -> settings.lease(stage.firmLease()).priority(7));
        var third = stage.standFirm(client);
        second.awaitFollows(leader);
        third.awaitFollows(leader);
        stage.eventually(
                "the leader is listed as the only one who leads",
                () -> observed.candidates().stream()
                        .filter(Candidate::leads)
                        .map(Candidate::id)
                        .toList()
                        .equals(List.of(leader.id())));
        if (lacks(Capability.STANDBYS).isEmpty()) {
            var all = Eventually.eventually(
                    "all three are listed",
                    stage.patience(),
                    () -> Optional.of(observed.candidates())
                            .filter(listed -> listed.stream()
                                    .map(Candidate::id)
                                    .sorted()
                                    .toList()
                                    .equals(List.of(leader.id(), second.id(), third.id()))));
            assertThat(all)
                    .filteredOn(candidate -> candidate.id().equals(second.id()))
                    .allMatch(candidate -> candidate.priority() == 7 && !candidate.leads());
            Eventually.throughout(
                    "they stay listed while they stand",
                    stage.firmLease().multipliedBy(2),
                    () -> listed(observed).filter(count -> count != 3).isEmpty());
            stage.eventually(
                    "they are listed at the end",
                    () -> listed(observed).filter(count -> count == 3).isPresent());
        }
    }

    /** Returns how many candidates are listed; empty if there is no answer, which says nothing of them. */
    private static Optional<Integer> listed(Election observed) {
        try {
            return Optional.of(observed.candidates().size());
        } catch (UnavailableException e) {
            return Optional.empty();
        }
    }

    @Test
    void anOperatorsStandDownMovesTheSeat() {
        var orders = stage.observe(stage.client());
        assertThat(orders.standDown()).as("an order to nobody").isFalse();
        var first = stage.standLong(stage.client());
        var before = first.awaitLeads();
        var second = stage.standLong(stage.client());
        second.awaitFollows(first);
        assertThat(orders.standDown()).as("an order to the leader").isTrue();
        var after = second.awaitLeadsWithin(stage.longLease().dividedBy(2));
        assertThat(after.token()).isGreaterThan(before.token());
        assertThat(before.isValid())
                .as("the mandate of the one who was ordered")
                .isFalse();
        assertThat(first.events().turns())
                .containsExactly(
                        "Acquired " + before.token(), "Revoked " + before.token() + " " + Cause.REVOKED_BY_OPERATOR);
        Eventually.throughout("the seat stays where it went", stage.lease(), after::isValid);
    }

    @Test
    void aLeaderThatStandsDownLeavesTheSeatToOthers() {
        var first = stage.standLong(stage.client());
        var before = first.awaitLeads();
        var second = stage.standLong(stage.client());
        second.awaitFollows(first);
        second.candidacy().standDown(); // it does not lead
        Eventually.throughout("the seat stays where it is", stage.lease(), before::isValid);
        first.candidacy().standDown();
        var after = second.awaitLeadsWithin(stage.longLease().dividedBy(2));
        assertThat(after.token()).isGreaterThan(before.token());
        assertThat(first.events().turns()).endsWith("Revoked " + before.token() + " " + Cause.STOOD_DOWN);
        Eventually.throughout("the seat stays where it went", stage.lease(), after::isValid);
        stage.eventually("it stands by", () -> first.candidacy().status().phase() == Phase.STANDING_BY);
    }

    @Test
    void aLeaderThatStandsAsideLeavesTheSeatToOthersUntilItStandsAgain() {
        var first = stage.stand(stage.client());
        var before = first.awaitLeads();
        var second = stage.stand(stage.client());
        second.awaitFollows(first);
        first.candidacy().standAside();
        var after = second.awaitLeads();
        assertThat(after.token()).isGreaterThan(before.token());
        assertThat(before.isValid())
                .as("the mandate of the one who stands aside")
                .isFalse();
        second.candidacy().close();
        Eventually.throughout("the seat stays vacant", stage.lease().multipliedBy(3), () -> !first.isLeader());
        first.candidacy().standAgain();
        assertThat(first.awaitLeads().token()).isGreaterThan(after.token());
    }

    @Test
    void aStandbyThatIsToldToStandAsideDoesNotTakeTheSeatUntilItStandsAgain() {
        var first = stage.standFirm(stage.client());
        var before = first.awaitLeads();
        var second = stage.stand(stage.client());
        second.awaitFollows(first);
        second.candidacy().standAside();
        Eventually.throughout("the leader does not care", stage.lease(), before::isValid);
        first.candidacy().close();
        Eventually.throughout("the seat stays vacant", stage.lease().multipliedBy(3), () -> !second.isLeader());
        second.candidacy().standAgain();
        assertThat(second.awaitLeads().token()).isGreaterThan(before.token());
    }

    @Test
    void anOrderToStandDownIsForThePresentLeaderOnly() {
        var orders = stage.observe(stage.client());
        var first = stage.standFirm(stage.client());
        first.awaitLeads();
        var second = stage.standFirm(stage.client());
        second.awaitFollows(first);
        orders.standDown();
        var after = second.awaitLeads();
        first.awaitFollows(second);
        Eventually.throughout("the successor is not ordered", stage.lease().multipliedBy(2), after::isValid);
        second.candidacy().close();
        first.awaitLeads(); // it has held back long enough
    }

    @Test
    void whoWasOrderedToStandDownHoldsBackThoughNobodyElseStands() {
        var orders = stage.observe(stage.client());
        var lone = stage.standLong(stage.client());
        lone.awaitLeads();
        orders.standDown();
        lone.awaitLoses(Cause.REVOKED_BY_OPERATOR);
        Eventually.throughout("it holds back", stage.lease(), () -> !lone.isLeader());
    }

    @Test
    void endTellsAllAndLetsNoneJoin() {
        var client = stage.client();
        var orders = stage.observe(client);
        var leader = stage.standFirm(stage.client());
        var mandate = leader.awaitLeads();
        var standby = stage.stand(stage.client());
        standby.awaitFollows(leader);
        assertThat(orders.state().ended()).as("ended, before it has").isFalse();
        orders.end();
        orders.end();
        leader.awaitClosed();
        standby.awaitClosed();
        leader.awaitHears(LeadershipEvent.Ended.class);
        standby.awaitHears(LeadershipEvent.Ended.class);
        assertThat(leader.events().turns())
                .containsExactly(
                        "Acquired " + mandate.token(), "Revoked " + mandate.token() + " " + Cause.ENDED, "Ended");
        assertThat(standby.events().turns()).containsExactly("Ended");
        var late = stage.stand(stage.client());
        late.awaitHears(LeadershipEvent.Ended.class);
        late.awaitClosed();
        assertThat(late.events().turns()).containsExactly("Ended");
        assertThat(orders.leader()).isEmpty();
        assertThat(orders.state().ended()).as("ended, to an observer").isTrue();
        orders.delete();
        assertThat(orders.state().ended()).as("ended, when deleted").isFalse();
    }

    @Test
    void anElectionThatHasEndedIsListedAndReopenLetsOthersLeadUnderAHigherToken() {
        var client = stage.client();
        var orders = stage.observe(client);
        assertThat(orders.reopen()).as("reopened, where there is none").isFalse();
        orders.end();
        assertThat(client.list()).as("ended before anybody stood").contains(stage.election());
        assertThat(orders.reopen()).as("reopened").isTrue();
        assertThat(orders.reopen()).as("reopened once more").isFalse();
        var first = stage.stand(stage.client());
        var before = first.awaitLeads();
        assertThat(orders.reopen()).as("reopened while somebody leads").isFalse();
        var standby = stage.stand(stage.client());
        standby.awaitFollows(first);
        orders.end();
        assertThat(orders.reopen()).as("reopened at once").isTrue();
        first.awaitHears(LeadershipEvent.Ended.class);
        standby.awaitHears(LeadershipEvent.Ended.class);
        first.awaitClosed();
        standby.awaitClosed();
        stage.eventually("it stands open", () -> !orders.state().ended());
        assertThat(client.list()).as("reopened").contains(stage.election());
        var after = stage.stand(stage.client()).awaitLeads();
        assertThat(after.token()).isGreaterThan(before.token());
    }

    @Test
    void deleteAndStandingAgainNeverLowersAToken() {
        var client = stage.client();
        var orders = stage.observe(client);
        var last = 0L;
        for (var era = 0; era < 3; era++) {
            var leader = stage.stand(stage.client());
            var token = leader.awaitLeads().token();
            assertThat(token).as("the token in era " + era).isGreaterThan(last);
            last = token;
            assertThat(client.list()).contains(stage.election());
            if (era == 1) {
                orders.end(); // delete must undo this too
            }
            orders.delete();
            leader.awaitClosed();
            leader.awaitHears(LeadershipEvent.Ended.class);
            stage.eventually("the election is not listed", () -> !client.list().contains(stage.election()));
        }
        orders.delete();
        var after = stage.stand(stage.client()).awaitLeads();
        assertThat(after.token()).isGreaterThan(last);
        assertThat(client.list()).contains(stage.election());
    }

    @Test
    void deleteTellsAStandbyToo() {
        var leader = stage.standFirm(stage.client());
        leader.awaitLeads();
        var standby = stage.stand(stage.client());
        standby.awaitFollows(leader);
        stage.observe(stage.client()).delete();
        leader.awaitClosed();
        standby.awaitClosed();
        assertThat(standby.events().turns()).containsExactly("Ended");
    }
}
