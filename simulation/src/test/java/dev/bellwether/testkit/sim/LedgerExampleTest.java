package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Mandate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How to put your own leader code under the simulator. */
@Tag("seeds")
class LedgerExampleTest {

    // tag::ledger
    /**
     * What leadership protects: entries, each written once. With a guard, it refuses a writer that comes with an old token.
     */
    private static final class Ledger {
        private final boolean guarded;
        private final List<Integer> entries = new ArrayList<>();
        private long highestToken;

        private Ledger(boolean guarded) {
            this.guarded = guarded;
        }

        private int next() {
            return entries.size();
        }

        private void append(int entry, long token) {
            if (guarded && token < highestToken) {
                return; // somebody else has led since: too late
            }
            highestToken = Math.max(highestToken, token);
            assertThat(entries).as("entry " + entry + " is written twice").doesNotContain(entry);
            entries.add(entry);
        }
    }

    /** The leader code under test. */
    private static void settle(SimProcess process, Ledger ledger) {
        var config = CandidacyConfig.builder()
                .lease(process.lease())
                .taskInterval(process.lease().dividedBy(4))
                .build();
        process.elections().stand("ledger", config).whileLeading((Mandate mandate) -> {
            var entry = ledger.next();
            process.sleep(Duration.ofMillis(200)); // work out what to write
            mandate.ensure();
            process.sleep(Duration.ofMillis(20)); // on the way to the ledger
            ledger.append(entry, mandate.token());
        });
    }

    @Test
    void aGuardedLedgerIsNeverWrittenTwice() {
        var report = Simulation.of(() -> {
                    var ledger = new Ledger(true);
                    return process -> settle(process, ledger);
                })
                .seeds(300)
                .run();
        System.out.println("the ledger: " + report);
    }
    // end::ledger

    @Test
    @Tag("full") // thousands of seeds
    void withoutTheGuardTheSimulatorFindsThatItIs() {
        var simulation = Simulation.of(() -> {
            var ledger = new Ledger(false);
            return process -> settle(process, ledger);
        });
        assertThatThrownBy(() -> simulation.seeds(10_000).run())
                .hasMessageContaining("is written twice")
                .hasMessageContaining("To see it again: -Dbellwether.seed=");
    }
}
