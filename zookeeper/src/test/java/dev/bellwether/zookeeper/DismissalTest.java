package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Cause;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.testkit.Actor;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Stage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Deleting all candidates of an election, and not the election. */
class DismissalTest {
    private final Stage stage = new Stage(new ZooKeeperInfrastructure(SharedServer.get()), "dismissal");
    private final String election = stage.election();
    private final Hands hands = new Hands(SharedServer.get());
    private final CuratorFramework client = Hands.client(SharedServer.get().addresses(), 10_000);

    @AfterEach
    void close() {
        stage.close();
        hands.close();
        client.close();
    }

    private void deleteCandidates() {
        ZooKeeperElections.deleteCandidates(client, ZooKeeperConfig.defaults(), election);
    }

    @Test
    void allWhoStandAreToldTheElectionsNodeStaysAndOthersJoin() throws Exception {
        hands.make(election, "of-the-administrator"); // and the election's node above it
        var made = Objects.requireNonNull(hands.stat(election, null)).getCzxid();
        var leader = stage.standLong(stage.client());
        var mandate = leader.awaitLeads();
        var others = new ArrayList<Actor>();
        for (var i = 0; i < 5; i++) {
            others.add(stage.standLong(stage.client()));
        }
        others.forEach(other -> other.awaitFollows(leader));
        deleteCandidates();
        leader.awaitClosed();
        others.forEach(Actor::awaitClosed);
        assertThat(leader.events().turns())
                .containsExactly(
                        "Acquired " + mandate.token(), "Revoked " + mandate.token() + " " + Cause.ENDED, "Ended");
        assertThat(others)
                .allSatisfy(other -> assertThat(other.events().turns()).containsExactly("Ended"));

        var newcomer = stage.standLong(stage.client());
        assertThat(newcomer.awaitLeads().token()).isGreaterThan(mandate.token());
        assertThat(hands.children(election)).doesNotContain("DONE").contains("of-the-administrator");
        assertThat(Objects.requireNonNull(hands.stat(election, null)).getCzxid())
                .as("the same node")
                .isEqualTo(made);
        deleteCandidates();
        deleteCandidates();
        newcomer.awaitClosed();
        Eventually.eventually("nothing of it is left", stage.patience(), () -> isClear());
    }

    private boolean isClear() {
        try {
            return hands.children(election).size() == 1;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void theLeaderKeepsItsSeatUntilItsWorkHasEnded() {
        var goOn = new CompletableFuture<Void>();
        stage.onClose(() -> goOn.complete(null));
        var log = new EventLog(event -> {
            if (event instanceof LeadershipEvent.Revoked) {
                goOn.join();
            }
        });
        var leader = stage.standLong(stage.client(), log, settings -> settings);
        leader.awaitLeads();
        deleteCandidates();
        leader.awaitHears(LeadershipEvent.Revoked.class);
        var newcomer = stage.standLong(stage.client());
        Eventually.throughout("the newcomer waits", Duration.ofSeconds(1), () -> !newcomer.isLeader());
        goOn.complete(null);
        leader.awaitClosed();
        newcomer.awaitLeadsWithin(stage.longLease().dividedBy(2));
    }

    @Test
    void anElectionThatHasEndedRemainsSoAndOneThatIsNotThereIsNotMade() throws Exception {
        deleteCandidates();
        assertThat(hands.exists(election)).isFalse();
        var observed = stage.observe(stage.client());
        observed.end();
        deleteCandidates();
        assertThat(observed.state().ended()).isTrue();
        var late = stage.stand(stage.client());
        late.awaitClosed();
        assertThat(late.events().turns()).containsExactly("Ended");
    }
}
