package dev.bellwether.benchmarks;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import java.time.Duration;

/** A client of ours, as it comes, for {@link Costs}. */
public record OurClient(Elections elections, Duration lease) implements Costs.Client {
    @Override
    public Costs.Seat stand(String election) {
        var candidacy = elections.stand(election, CandidacyConfig.ofLease(lease));
        return new Costs.Seat() {
            @Override
            public boolean leads() {
                return candidacy.isLeader();
            }

            @Override
            public void leave() {
                candidacy.close();
            }
        };
    }

    @Override
    public void close() {
        elections.close();
    }
}
