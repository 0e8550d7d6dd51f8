package dev.bellwether.testkit.sim;

import java.util.function.LongFunction;

/** As {@link ChaosRun}, in worlds without faults in which seats are handed over, over leases and over records. */
public final class HandOverRun implements LongFunction<String[]> {
    /** For reflection. */
    public HandOverRun() {}

    @Override
    public String[] apply(long seeds) {
        var found = ChaosRun.run(HandOvers.simulation().seeds(seeds));
        return found.length > 1
                ? found
                : ChaosRun.run(HandOvers.simulation().overRecords().seeds(seeds));
    }
}
