package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Phase;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/**
 * The contract: what every backend has to pass, each fact a test.
 *
 * <p>Extend it and supply an {@link Infrastructure}. During every fact a {@link LeadershipAuditor} looks whether two
 * candidacies ever lead at once; that fails the test, whatever else it says. Nothing here sleeps; what must happen is
 * waited for, with a bound, and what must not is looked for all the time. {@code -Dbellwether.cycles=1000
 * -Dbellwether.minutes=60} makes a soak test of the leak check: so many cycles again and again until the time is over.
 */
public abstract class ElectionsContract extends HandOverFacts {
    private static final String CYCLES = "bellwether.cycles";
    private static final String MINUTES = "bellwether.minutes";
    private static final int WARM_UP = 20;
    private static final int FEWEST_CLIENTS = 5;
    private static final int CYCLES_TO_A_CLIENT = 100;

    /** For backends. */
    protected ElectionsContract() {}

    @Test
    @AloneOnServer
    void cyclesOfStandAndCloseLeaveNothingBehind() {
        var cycles = Integer.getInteger(CYCLES, stage.infrastructure().cycles());
        var leader = stage.stand(
                stage.client(),
                new EventLog(),
                builder -> stage.infrastructure()
                        .settings(stage.longLease()) // a busy machine must not cost its mandate
                        .candidate("leader"));
        var mandate = leader.awaitLeads();
        var client = stage.client();
        var own = stage.election() + "-own";
        cycle(client, own, WARM_UP);
        var before = Leftovers.of(stage);
        var footprint = Footprint.take();
        var began = System.nanoTime();
        var done = 0;
        do {
            cycle(client, own, cycles);
            done += cycles;
        } while (System.nanoTime() - began
                < Duration.ofMinutes(Integer.getInteger(MINUTES, 0)).toNanos());
        var took = Duration.ofNanos(System.nanoTime() - began);
        before.requireSame();
        footprint.requireSame(stage.patience());
        assertThat(leader.awaitLeads().token())
                .as("the leader beside it led on")
                .isEqualTo(mandate.token());
        System.out.printf(
                "%s: %,d stand/close cycles in %d ms, nothing left behind%n",
                stage.infrastructure().describe(), done, took.toMillis());
    }

    /** Half of them lead and close, half stand by and close. */
    private void cycle(Elections client, String own, int times) {
        for (var i = 0; i < times; i++) {
            var leads = i % 2 == 0;
            var candidacy = client.stand(
                    leads ? own : stage.election(),
                    stage.infrastructure()
                            .settings(stage.lease())
                            .candidate("passing")
                            .build());
            if (leads) {
                Eventually.eventually("cycle " + i + " leads", stage.patience(), candidacy::mandate);
            }
            candidacy.close();
            Eventually.eventually(
                    "cycle " + i + " ends", // close() may give up waiting where the machine stands still for a second
                    stage.patience(),
                    () -> candidacy.status().phase() == Phase.CLOSED);
        }
    }

    @Test
    @AloneOnServer
    void aClosedClientLeavesNoThreadAndNoConnection() {
        connectStandClose();
        var before = Leftovers.of(stage);
        var footprint = Footprint.take();
        var clients = Math.max(FEWEST_CLIENTS, stage.infrastructure().cycles() / CYCLES_TO_A_CLIENT);
        for (var i = 0; i < clients; i++) {
            connectStandClose();
        }
        before.requireSame();
        footprint.requireSame(stage.patience(), clients - 1); // one file of each would be a leak
    }

    private void connectStandClose() {
        try (var client = stage.infrastructure().connect(ElectionsConfig.defaults())) {
            stage.stand(client).awaitLeads();
        }
    }
}
