package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Phase;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * The contract: what every backend has to pass, each fact a test.
 *
 * <p>Extend it and supply an {@link Infrastructure}. During every fact a {@link LeadershipAuditor} looks whether two candidacies ever
 * lead at once; that fails the test, whatever else it says. Nothing here sleeps; what must happen is waited for, with a bound, and
 * what must not is looked for all the time. {@code -Dbellwether.cycles=100000} makes a soak test of the leak check.
 */
public abstract class ElectionsContract extends OperatorFacts {
    private static final String CYCLES = "bellwether.cycles";
    private static final int WARM_UP = 20;
    /** By how many threads a pool may breathe; a leak is one per cycle. */
    private static final int BREATH = 2;

    /** For backends. */
    protected ElectionsContract() {}

    @Test
    void cyclesOfStandAndCloseLeaveNothingBehind() {
        var cycles = Integer.getInteger(CYCLES, stage.infrastructure().cycles());
        var leader = stage.standLong(stage.client()); // a busy machine must not cost its mandate
        var mandate = leader.awaitLeads();
        var client = stage.client();
        var own = stage.election() + "-own";
        cycle(client, own, WARM_UP);
        var before = Leftovers.of(stage);
        var threads = threads();
        var began = System.nanoTime();
        cycle(client, own, cycles);
        var took = Duration.ofNanos(System.nanoTime() - began);
        before.requireSame();
        stage.eventually("no more threads than before", () -> grown(threads).isEmpty());
        assertThat(leader.awaitLeads().token())
                .as("the leader beside it led on")
                .isEqualTo(mandate.token());
        System.out.printf(
                "%s: %,d stand/close cycles in %d ms, nothing left behind%n",
                stage.infrastructure().describe(), cycles, took.toMillis());
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
            assertThat(candidacy.status().phase()).as("cycle " + i).isEqualTo(Phase.CLOSED);
        }
    }

    @Test
    void aClosedClientLeavesNoThreadAndNoConnection() {
        connectStandClose();
        var before = Leftovers.of(stage);
        var threads = threads();
        for (var i = 0; i < 5; i++) {
            connectStandClose();
        }
        before.requireSame();
        stage.eventually("no more threads than before", () -> grown(threads).isEmpty());
    }

    private void connectStandClose() {
        try (var client = stage.infrastructure().connect(ElectionsConfig.defaults())) {
            stage.stand(client).awaitLeads();
        }
    }

    /** Returns how many threads of each name there are, numbers in names left aside. */
    private static Map<String, Long> threads() {
        var threads = ManagementFactory.getThreadMXBean();
        return Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
                .filter(Objects::nonNull)
                .collect(Collectors.groupingBy(
                        thread -> thread.getThreadName().replaceAll("[0-9]+", "#"), Collectors.counting()));
    }

    /** Pools that are nobody's in particular may grow by what the machine has; ours, and the client's, may not. */
    private static Map<String, Long> grown(Map<String, Long> before) {
        var grown = new TreeMap<String, Long>();
        threads().forEach((name, count) -> {
            var ofTheJdk = name.startsWith("ForkJoinPool.commonPool") || name.startsWith("CompletableFutureDelay");
            if (!ofTheJdk && count > before.getOrDefault(name, 0L) + BREATH) {
                grown.put(name, count - before.getOrDefault(name, 0L));
            }
        });
        return grown;
    }
}
