package dev.bellwether.benchmarks.sql;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import java.time.Duration;

/** Ours, as it comes. */
final class Bellwether implements Contestant.Make {
    @Override
    public String name() {
        return "Bellwether";
    }

    @Override
    public Contestant connect(int port, Duration lease) {
        var elections = Elections.connect(Contestant.uri(port));
        var config = CandidacyConfig.ofLease(lease);
        return new Contestant() {
            @Override
            public Seat stand(String election) {
                var candidacy = elections.stand(election, config);
                return new Seat() {
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
        };
    }
}
