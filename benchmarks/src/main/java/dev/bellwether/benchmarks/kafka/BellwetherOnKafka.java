package dev.bellwether.benchmarks.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/** Ours. */
final class BellwetherOnKafka implements KafkaContestant.Make {
    @Override
    public String name() {
        return "bellwether";
    }

    @Override
    public KafkaContestant stand(String bootstrap, String election, Duration session) {
        var elections = Elections.connect("kafka://" + bootstrap);
        var lost = new AtomicInteger();
        var config = CandidacyConfig.builder()
                .lease(session)
                .listener(event -> {
                    if (event instanceof LeadershipEvent.Fenced) {
                        lost.incrementAndGet();
                    }
                })
                .build();
        var candidacy = elections.stand(election, config);
        return new KafkaContestant() {
            @Override
            public boolean leads() {
                return candidacy.isLeader();
            }

            @Override
            public int lost() {
                return lost.get();
            }

            @Override
            public void close() {
                elections.close();
            }
        };
    }
}
