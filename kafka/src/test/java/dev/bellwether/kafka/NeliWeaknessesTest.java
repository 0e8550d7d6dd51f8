package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Stage;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What goNELI gets wrong, and ours does not.
 *
 * <p>Some of it has its fact elsewhere: that stale and foreign messages count for nothing, and time-stamps decide
 * nothing, in {@link JournalRulesTest}; that partitions lost are told as fenced, that joins and leaves do not move the
 * seat, and that steady traffic harms nobody, in {@link GroupFaultsTest}; that beats which do not arrive cost the
 * mandate, in {@link ClusterFaultsTest}.
 */
class NeliWeaknessesTest {
    private final Stage stage = new Stage(new KafkaInfrastructure(SharedBroker.get()), "neli");

    @AfterEach
    void close() {
        stage.close();
    }

    @Test
    void aTaskThatTakesLongerThanTheSessionCostsNeitherMembershipNorMandate() throws Exception {
        var lease = Duration.ofSeconds(3);
        var leader = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(lease));
        var mandate = leader.awaitLeads();
        var began = new CountDownLatch(1);
        var end = new CountDownLatch(1);
        leader.candidacy().whileLeading(held -> {
            began.countDown();
            assertThat(end.await(30, TimeUnit.SECONDS)).isTrue();
        });
        assertThat(began.await(10, TimeUnit.SECONDS)).isTrue();
        var standby = stage.stand(stage.client());
        standby.awaitFollows(leader);
        Eventually.throughout("it leads on", lease.multipliedBy(3).dividedBy(2), mandate::isValid);
        leader.awaitProven();
        end.countDown();
    }

    @Test
    void aStandbyThatIsPulsedWithoutEndGrowsByNoThreadAndKeepsNoHeap() throws Exception {
        var leader = stage.standFirm(stage.client()); // collections of this heap stop it for long on busy processors
        leader.awaitLeads();
        var standby = stage.standFirm(stage.client());
        standby.awaitFollows(leader);
        pulse(standby.candidacy(), 1_000);
        var threads = ManagementFactory.getThreadMXBean().getThreadCount();
        var heap = heap();
        pulse(standby.candidacy(), 200_000);
        assertThat(ManagementFactory.getThreadMXBean().getThreadCount()).isLessThanOrEqualTo(threads + 2);
        // one object kept by each of them would be 3,200,000 at least; what the clients buffer differs by far less
        assertThat(heap() - heap).as("bytes kept by 200,000 pulses").isLessThan(3_200_000);
    }

    private static void pulse(dev.bellwether.Candidacy candidacy, int times) throws InterruptedException {
        for (var i = 0; i < times; i++) {
            assertThat(candidacy.pulse(Duration.ZERO)).isFalse();
        }
    }

    private static long heap() {
        for (var i = 0; i < 3; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    @Test
    void closingFromTheListenerDoesNotDeadlock() {
        var candidacy = new AtomicReference<@Nullable Runnable>(() -> {});
        var log = new EventLog(event -> {
            if (event instanceof LeadershipEvent.Acquired) {
                Objects.requireNonNull(candidacy.get()).run();
            }
        });
        var client = stage.client();
        var leader = stage.stand(client);
        leader.awaitLeads();
        var closing = stage.stand(client, log, settings -> settings);
        candidacy.set(closing.candidacy()::close);
        leader.candidacy().close();
        closing.awaitClosed();
        assertThat(log.turns()).hasSize(2);
    }

    @Test
    void aClosedLeaderHasHeardThatItLeadsNoMoreAndSaysSo() {
        var leader = stage.stand(stage.client());
        var mandate = leader.awaitLeads();
        leader.candidacy().close();
        assertThat(leader.isLeader()).isFalse();
        assertThat(mandate.isValid()).isFalse();
        assertThat(leader.candidacy().status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(leader.events().turns())
                .containsExactly("Acquired " + mandate.token(), "Revoked " + mandate.token() + " RESIGNED");
    }

    @Test
    void aLeaderThatIsNotPulsedMakesRoomAndComesBackWhenItIs() throws Exception {
        var first = stage.stand(
                stage.client(), new EventLog(), settings -> settings.maxPulseInterval(Duration.ofSeconds(1)));
        Eventually.eventually(
                "it leads", stage.patience(), () -> first.candidacy().mandate());
        var second = stage.stand(stage.client());
        second.awaitLeads();
        assertThat(first.isLeader()).isFalse();
        assertThat(first.candidacy().pulse(Duration.ZERO)).isFalse();
        first.awaitFollows(second);
    }
}
