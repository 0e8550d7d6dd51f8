package dev.bellwether.benchmarks.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Ours.
 *
 * @param query what is put behind the addresses of the brokers
 */
record BellwetherOnKafka(String name, String query) implements KafkaContestant.Make {
    /** By groups, as it comes. */
    BellwetherOnKafka() {
        this("bellwether", "");
    }

    @Override
    public KafkaContestant stand(String bootstrap, String election, Duration session) {
        var elections = Elections.connect("kafka://" + bootstrap + query);
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
