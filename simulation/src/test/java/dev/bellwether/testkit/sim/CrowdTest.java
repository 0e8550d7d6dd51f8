package dev.bellwether.testkit.sim;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * One process stands for many elections at a store that is slow: to read each seat once takes it most of a lease. They
 * get their leaders all the same, one after the other, and who leads goes on.
 */
class CrowdTest {
    private static final Duration LEASE = Duration.ofSeconds(10);

    @Test
    void whoSharesASessionLeadsAtAStoreThatNeedsALeaseToReadEachSeatOnce() {
        crowd(200, Duration.ofMillis(50), Duration.ofSeconds(100)).run();
    }

    /** A store with room for what all of them ask, but not at once. */
    @Test
    void allLeadSoonAtAStoreThatNeedsATenthOfALeaseToReadEachSeatOnce() {
        crowd(200, Duration.ofMillis(5), Duration.ofSeconds(10)).run();
    }

    private static Simulation crowd(int elections, Duration each, Duration bound) {
        return Simulation.of(() -> new Crowd(elections, bound))
                .atOnce()
                .alone()
                .processes(1, 1)
                .lease(LEASE)
                .without(EnumSet.allOf(Fault.class).toArray(Fault[]::new))
                .overRecords()
                .slowly(each, 16)
                .storm(2.0 * bound.toNanos() / LEASE.toNanos());
    }

    private record Crowd(int elections, Duration bound) implements Application {
        @Override
        public void start(SimProcess process) {
            var all = new ArrayList<Candidacy>();
            for (var i = 0; i < elections; i++) {
                all.add(process.elections().stand("e" + i, CandidacyConfig.ofLease(LEASE)));
            }
            process.later(bound, () -> allLead(process, all, 0));
        }

        /** From now on, until the storm is over. */
        private void allLead(SimProcess process, List<Candidacy> all, int looks) {
            if (process.isCalm()) {
                return;
            }
            var leading = all.stream().filter(Candidacy::isLeader).count();
            process.check(
                    leading == elections,
                    leading + " of " + elections + " lead after " + bound + " and " + looks + " s");
            process.later(Duration.ofSeconds(1), () -> allLead(process, all, looks + 1));
        }
    }
}
