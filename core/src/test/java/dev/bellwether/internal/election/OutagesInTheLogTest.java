package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Phase;
import dev.bellwether.UnavailableException;
import dev.bellwether.internal.loop.OutageLog;
import dev.bellwether.spi.Order;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What somebody reads in the log who was woken by an outage. */
class OutagesInTheLogTest {
    private final LogSaid log = new LogSaid();
    private final Rig rig = new Rig();

    @AfterEach
    void giveTheLogBack() {
        log.close();
        rig.close();
    }

    private List<String> said(String level) {
        return log.said(level);
    }

    @Test
    void anOutageIsOneWarningAndItsEndOneLineWhateverManyStandHere() {
        rig.stand("a", rig.config());
        for (var i = 0; i < 20; i++) {
            rig.elections.stand("other-" + i);
        }
        rig.pass(Duration.ofSeconds(5));
        rig.wire.failed = new UnavailableException("connection refused");
        rig.pass(Duration.ofSeconds(5));
        rig.wire.failed = null;
        rig.pass(Duration.ofSeconds(5));
        assertThat(said("WARN"))
                .singleElement()
                .asString()
                .startsWith("No answer from rig: connection refused. Nobody here can be elected until it answers")
                .endsWith("Trying again every 833 ms");
        assertThat(said("INFO"))
                .filteredOn(line -> line.startsWith("rig answers again, after "))
                .hasSize(1);
    }

    @Test
    void aSilentStoreIsNoticedAsWell() {
        rig.stand("a", rig.config());
        rig.wire.cut = true;
        rig.pass(Duration.ofSeconds(7));
        assertThat(said("WARN")).singleElement().asString().startsWith("No answer from rig within 3.3 s. ");
        rig.wire.cut = false;
        rig.pass(Duration.ofSeconds(4));
        assertThat(said("INFO")).anyMatch(line -> line.startsWith("rig answers again, after "));
    }

    @Test
    void aStandbyTellsOfAnOutageWithinALease() {
        var other = rig.elections(rig.server);
        other.stand("billing");
        rig.settle();
        rig.stand("b", rig.config());
        rig.wire.failed = new UnavailableException("connection refused");
        rig.pass(Duration.ofSeconds(11));
        assertThat(said("WARN")).hasSize(1);
        rig.wire.failed = null;
        rig.pass(Duration.ofSeconds(11));
        assertThat(said("INFO")).anyMatch(line -> line.startsWith("rig answers again, after "));
    }

    @Test
    void oneUnluckyRequestAmongManyIsNoOutage() {
        var log = new OutageLog(LoggerFactory.getLogger(OutagesInTheLogTest.class), () -> "rig", rig.figures);
        var second = 1_000_000_000L;
        log.answered("a", second);
        log.answered("b", 5 * second);
        log.unanswered("a", Duration.ofSeconds(3), Duration.ofSeconds(1), null, 7 * second);
        assertThat(said("WARN")).isEmpty();
        log.unanswered("b", Duration.ofSeconds(3), Duration.ofSeconds(1), null, 9 * second);
        assertThat(said("WARN")).hasSize(1);
        log.answered("a", 10 * second);
        assertThat(said("INFO")).as("b still waits").isEmpty();
        log.answered("b", 11 * second);
        assertThat(said("INFO")).containsExactly("rig answers again, after 5 s");
    }

    @Test
    void oneThatWaitedAndIsGoneDoesNotKeepAnOutageOpen() {
        var log = new OutageLog(LoggerFactory.getLogger(OutagesInTheLogTest.class), () -> "rig", rig.figures);
        var second = 1_000_000_000L;
        log.unanswered("a", Duration.ofSeconds(1), Duration.ofSeconds(1), null, 2 * second);
        log.gone("a", 3 * second);
        assertThat(said("INFO")).as("nobody knows whether it answers").isEmpty();
        log.unanswered("b", Duration.ofSeconds(1), Duration.ofSeconds(1), null, 5 * second);
        log.answered("b", 6 * second);
        assertThat(said("WARN")).hasSize(2);
        assertThat(said("INFO")).containsExactly("rig answers again, after 2 s");
    }

    @Test
    void oneThatWaitedAndStandsByDoesNotKeepAnOutageOpen() {
        var aside = rig.stand("a", rig.config());
        rig.elections.stand("other");
        rig.settle();
        rig.wire.failed = new UnavailableException("connection refused");
        rig.pass(Duration.ofSeconds(5));
        assertThat(said("WARN")).hasSize(1);
        aside.standAside();
        rig.pass(Duration.ofSeconds(20));
        rig.wire.failed = null;
        rig.pass(Duration.ofSeconds(11));
        assertThat(said("INFO")).anyMatch(line -> line.startsWith("rig answers again, after "));
    }

    @Test
    void oneWhoseWorkIsStuckDoesNotKeepAnOutageOpen() {
        rig.stand("stuck", rig.config().executor(work -> {}));
        var other = rig.elections.stand("other");
        rig.settle();
        for (var outage = 1; outage <= 2; outage++) {
            rig.wire.failed = new UnavailableException("connection refused");
            rig.pass(Duration.ofSeconds(20));
            rig.wire.failed = null;
            rig.pass(Duration.ofSeconds(11));
            assertThat(other.isLeader()).isTrue();
            assertThat(said("WARN"))
                    .filteredOn(line -> line.startsWith("No answer from rig"))
                    .hasSize(outage);
            assertThat(said("INFO"))
                    .filteredOn(line -> line.startsWith("rig answers again, after "))
                    .hasSize(outage);
        }
    }

    @Test
    void oneThatHoldsBackForALeaseDoesNotKeepAnOutageOpen() {
        var candidacy = rig.stand("a", rig.config().lease(Duration.ofSeconds(30)));
        rig.elections.stand("other");
        rig.settle();
        rig.wire.failed = new UnavailableException("connection refused");
        rig.pass(Duration.ofSeconds(15));
        candidacy.standDown();
        rig.pass(Duration.ofSeconds(10));
        rig.wire.failed = null;
        rig.pass(Duration.ofSeconds(5));
        assertThat(said("INFO"))
                .filteredOn(line -> line.startsWith("rig answers again, after "))
                .hasSize(1);
    }

    @Test
    void oneThatStandsAsideDoesNotEndTheOutageOfOneThatRests() {
        var candidacy = rig.stand("a", rig.config());
        var aside = rig.elections.stand("other");
        aside.standAside();
        rig.settle();
        rig.executor.keeps = true; // its work does not end at once
        rig.wire.failed = new UnavailableException("connection refused");
        rig.pass(Duration.ofSeconds(10));
        assertThat(candidacy.status().phase()).isEqualTo(Phase.FENCED);
        rig.executor.letGo();
        rig.pass(Duration.ofSeconds(10));
        rig.wire.failed = null;
        rig.pass(Duration.ofSeconds(11));
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(said("WARN"))
                .filteredOn(line -> line.startsWith("No answer from rig"))
                .hasSize(1);
        assertThat(said("INFO"))
                .filteredOn(line -> line.startsWith("rig answers again, after "))
                .hasSize(1);
        assertThat(rig.figures.outages).isEqualTo(List.of("began", "ended"));
    }

    @Test
    void oneThatRestedAndIsGoneDoesNotKeepAnOutageOpen() {
        var log = new OutageLog(LoggerFactory.getLogger(OutagesInTheLogTest.class), () -> "rig", rig.figures);
        var second = 1_000_000_000L;
        log.unanswered("a", Duration.ofSeconds(1), Duration.ofSeconds(1), null, 2 * second);
        log.rests("a", 3 * second);
        log.gone("b", 4 * second);
        assertThat(rig.figures.outages).containsExactly("began");
        log.gone("a", 5 * second);
        assertThat(rig.figures.outages).containsExactly("began", "ended");
        log.unanswered("b", Duration.ofSeconds(1), Duration.ofSeconds(1), null, 7 * second);
        log.gone("b", 8 * second);
        assertThat(rig.figures.outages).containsExactly("began", "ended", "began", "ended");
    }

    @Test
    void oneThatIsAbandonedDoesNotKeepAnOutageOpen() {
        var candidacy = rig.stand("a", rig.config());
        rig.wire.failed = new UnavailableException("connection refused");
        rig.pass(Duration.ofSeconds(5));
        candidacy.abandon();
        rig.pass(Duration.ofSeconds(30)); // what is still reported of it begins no other
        assertThat(rig.figures.outages).containsExactly("began", "ended");
    }

    @Test
    void refusedAccessIsToldAsThat() {
        rig.stand("a", rig.config());
        rig.wire.failed = new AccessRefusedException("permission denied");
        rig.pass(Duration.ofSeconds(5));
        assertThat(said("WARN")).singleElement().asString().startsWith("Access is refused: permission denied");
    }

    @Test
    void leadershipThatIsLostAgainstOnesWillIsAWarning() {
        rig.stand("a", rig.config());
        rig.wire.failed = new UnavailableException("connection refused");
        rig.pass(Duration.ofSeconds(9));
        assertThat(said("WARN"))
                .filteredOn(line -> line.startsWith("candidacy a in \"billing\" leads no more: "))
                .singleElement()
                .asString()
                .contains(
                        "UNREACHABLE (last proof 7.9 s ago, 7.9 s by the wall clock; lease 10 s), token 1, held for 7.9 s");
    }

    @Test
    void leadershipThatIsGivenUpIsNoWarning() {
        var candidacy = rig.stand("a", rig.config());
        rig.server.order("billing", Order.STAND_DOWN);
        rig.pass(Duration.ofSeconds(4));
        rig.pass(Duration.ofSeconds(12));
        candidacy.resign();
        rig.settle();
        assertThat(said("WARN")).isEmpty();
        assertThat(said("INFO"))
                .filteredOn(line -> line.contains(" leads no more: "))
                .anyMatch(line -> line.contains("REVOKED_BY_OPERATOR"))
                .anyMatch(line -> line.contains("RESIGNED"));
    }

    @Test
    void workThatOutlastsItsMandateIsAWarning() {
        rig.executor.keeps = true;
        var candidacy = rig.stand("a", rig.config());
        candidacy.resign();
        rig.pass(Duration.ofSeconds(5));
        assertThat(said("WARN"))
                .singleElement()
                .asString()
                .startsWith("the work of candidacy a in \"billing\" under token 1 did not end in time after RESIGNED");
    }

    @Test
    void theGuideShowsWhatAnOutagePrints() throws IOException {
        var there = new Rig.Wire(rig.server) {
            @Override
            public String describe() {
                return "PostgreSQL at db:5432";
            }
        };
        rig.elections(there).stand("billing", rig.config().candidate("a").build());
        rig.settle();
        there.failed = new UnavailableException("connection refused");
        rig.pass(Duration.ofSeconds(12));
        there.failed = null;
        rig.pass(Duration.ofSeconds(5));
        var lines = log.text()
                .lines()
                .map(line -> line.replaceFirst("^.*?\\] (\\w+) \\S*?(\\w+) - ", "$1 $2 - "))
                .collect(Collectors.joining("\n"));
        assertThat(Files.readString(Path.of("../docs/logging.md"))).contains("```text\n" + lines + "\n```");
    }
}
