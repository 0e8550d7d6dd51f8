package dev.bellwether.benchmarks.sql;

import dev.bellwether.Elections;
import dev.bellwether.benchmarks.Costs;
import dev.bellwether.benchmarks.OurClient;
import java.time.Duration;

/** Ours, as it comes. */
final class BellwetherOnSql implements SqlContestant {
    @Override
    public String name() {
        return "Bellwether";
    }

    @Override
    public Costs.Client connect(int port, Duration lease) {
        return new OurClient(Elections.connect(SqlContestant.uri(port)), lease);
    }
}
