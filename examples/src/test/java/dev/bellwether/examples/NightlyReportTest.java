package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.BellwetherExtension;
import dev.bellwether.testkit.ControlledElections;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

// tag::unit-test
@ExtendWith(BellwetherExtension.class)
class NightlyReportTest {
    private final List<String> written = new ArrayList<>();

    @Test
    void pagesAreWrittenWhileLeadingAndBeginAgainWithEachTerm(ControlledElections controlled) {
        var election = controlled.election("nightly-report");
        try (var report = new NightlyReport(controlled.elections(), this::write)) {
            controlled.advance(Duration.ofMinutes(1));
            assertThat(written).isEmpty();

            election.acquire();
            controlled.advance(Duration.ofSeconds(2));
            assertThat(written).containsExactly("1: page 1", "1: page 2", "1: page 3");

            election.fence();
            controlled.advance(Duration.ofMinutes(1));
            assertThat(report.leads()).isFalse();
            assertThat(written).hasSize(3);

            election.acquire();
            assertThat(written).hasSize(4).last().isEqualTo("2: page 1");
        }
    }

    @Test
    void nothingIsWrittenAfterTheDeadlineOfASilentInfrastructure(ControlledElections controlled) {
        var election = controlled.election("nightly-report");
        try (var report = new NightlyReport(controlled.elections(), this::write)) {
            election.acquire();
            election.goSilent();
            controlled.advance(Duration.ofSeconds(9)); // of a lease of ten, a fifth is kept for standing down
            assertThat(report.leads()).isFalse();
            var pages = written.size();
            controlled.advance(Duration.ofMinutes(1));
            assertThat(written).hasSize(pages);
        }
    }

    private void write(long token, int page) {
        written.add(token + ": page " + page);
    }
}
// end::unit-test
