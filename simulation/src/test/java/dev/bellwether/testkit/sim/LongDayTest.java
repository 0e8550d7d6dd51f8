package dev.bellwether.testkit.sim;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** One world in which things go wrong for 24 hours of its time. */
class LongDayTest {
    private static final Duration LEASE = Duration.ofSeconds(10);

    @Test
    void coreKeepsItsPromisesForADayAndLeavesNothingBehind() {
        var report = Chaos.simulation()
                .alone()
                .lease(LEASE)
                .storm(Duration.ofHours(24).toNanos() / (double) LEASE.toNanos())
                .run();
        System.out.println("a day: " + report);
    }
}
