package dev.bellwether.testkit.sim;

import java.util.function.LongFunction;

/** As {@link ChaosRun}, over records whose leases share sessions. */
public final class SessionChaosRun implements LongFunction<String[]> {
    /** For reflection. */
    public SessionChaosRun() {}

    @Override
    public String[] apply(long seeds) {
        return ChaosRun.run(Chaos.overSessions().seeds(seeds));
    }
}
