package dev.bellwether.benchmarks.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import java.time.Duration;

/** Ours. */
final class Bellwether implements Contestant.Make {
    @Override
    public String name() {
        return "bellwether";
    }

    @Override
    public Contestant stand(String bootstrap, String election, Duration session) {
        var elections = Elections.connect("kafka://" + bootstrap);
        var candidacy = elections.stand(election, CandidacyConfig.ofLease(session));
        return new Contestant() {
            @Override
            public boolean leads() {
                return candidacy.isLeader();
            }

            @Override
            public void close() {
                elections.close();
            }
        };
    }
}
