package dev.bellwether.examples;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import java.time.Duration;

/** A small service that works while it leads, and that a unit test can drive: see {@code NightlyReportTest}. */
final class NightlyReport implements AutoCloseable {
    /** Where pages go, which refuses a token lower than the highest it has seen. */
    interface Archive {
        void write(long token, int page);
    }

    private final Candidacy candidacy;
    private int page;

    // tag::service
    NightlyReport(Elections elections, Archive archive) {
        candidacy = elections.stand(
                "nightly-report",
                CandidacyConfig.builder()
                        .taskInterval(Duration.ofSeconds(1))
                        .listener(this::turn)
                        .build());
        candidacy.whileLeading(mandate -> archive.write(mandate.token(), ++page));
    }

    private void turn(LeadershipEvent event) {
        if (event instanceof LeadershipEvent.Acquired) {
            page = 0; // another leader may have written since: begin again
        }
    }
    // end::service

    boolean leads() {
        return candidacy.isLeader();
    }

    @Override
    public void close() {
        candidacy.close();
    }
}
