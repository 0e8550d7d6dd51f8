package dev.bellwether.internal.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.internal.record.SeatRecord.Kind;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RecordStore.What;
import dev.bellwether.spi.RecordTraits;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How a record of a seat is written, and what is made of what others wrote. */
class SeatTextTest {
    private static final Duration FOREIGN = Duration.ofSeconds(7);

    private final SeatText text =
            new SeatText(new RecordTraits(false, "", "", Duration.ZERO, Duration.ZERO, FOREIGN, Duration.ZERO, 0));

    @Test
    void whatIsWrittenIsReadAsItWas() {
        var claim = new Claim(
                "e", "ann & bob=1", "nonce-1", Duration.ofSeconds(3), Duration.ofSeconds(9), 4, Map.of("zone", "ä b"));
        var taken = SeatRecord.ABSENT.taken(claim, Kind.HELD, "stamp", 0, 17);
        var renewed = taken.renewed(
                40, Instant.parse("2026-11-22T18:00:00Z"), Duration.ofSeconds(2), taken.metadata(), "", "later");
        var shared =
                renewed.renewed(40, renewed.since(), Duration.ofSeconds(2), renewed.metadata(), "a session", "last");
        var session = SeatRecord.session("a session", Duration.ofSeconds(2), 7, "stamp");
        var ordered =
                renewed.ordered(40, renewed.since(), renewed.orders().over(23).standDown(40));
        var ended =
                SeatRecord.ABSENT.ordered(0, null, SeatRecord.Orders.NONE.end().delete());
        for (var record : new SeatRecord[] {
            taken, renewed, ordered, renewed.vacated(40, "last"), shared, session, session.lookingAt("e", 7)
        }) {
            assertThat(read(What.TEXT, SeatText.text(record))).isEqualTo(record);
        }
        assertThat(read(What.TEXT, SeatText.text(ended)).era()).isOne();
        assertThat(SeatText.text(ordered)).isASCII().doesNotContainAnyWhitespaces();
    }

    @Test
    void othersWhoLookAreToldWhoLeads() {
        var claim = new Claim("e", "ann", "n-1", Duration.ofSeconds(3), Duration.ofSeconds(9), 0, Map.of());
        assertThat(SeatText.draft(SeatRecord.ABSENT.taken(claim, Kind.HELD, "s", 0, 0))
                        .leader())
                .isEqualTo("ann");
        assertThat(SeatText.draft(SeatRecord.ABSENT.vacated(3, "s")).leader()).isEmpty();
        assertThat(SeatText.draft(SeatRecord.bare(Kind.DELETED, ""))).isEqualTo(new Draft("", ""));
    }

    @Test
    void aRecordOfAnotherVersionIsKnownForOne() {
        assertThat(read(What.TEXT, "bellwether=3&state=vacant").kind()).isEqualTo(Kind.UNKNOWN);
        assertThat(read(What.TEXT, "{\"bellwether\": 2, \"state\": \"vacant\"}").kind())
                .isEqualTo(Kind.UNKNOWN);
    }

    @Test
    void whatIsNoRecordOfOursKeepsClaimantsAway() {
        var ours = "bellwether=4&state=held&lease_nanos=5&token=1";
        assertThat(read(What.TEXT, ours).kind()).isEqualTo(Kind.HELD);
        for (var strange : new String[] {
            "",
            "zed",
            "[".repeat(2_000_000),
            ours.replace("held", "hold"),
            ours.replace("=5", "=-5"),
            ours.replace("=5", "=9223372036854775807"),
            ours.replace("token=1", "token=-1"),
            ours + "&since=yesterday"
        }) {
            var record = read(What.TEXT, strange);
            assertThat(record.kind()).as(strange).isEqualTo(Kind.FOREIGN);
            assertThat(record.lease()).isEqualTo(FOREIGN);
            assertThat(record.candidate()).isNotBlank().hasSizeLessThan(201);
        }
        assertThat(read(What.NAME, "ze\nd").candidate()).isEqualTo("ze?d");
        assertThat(read(What.NAME, "z\u009be\u2028d").candidate()).isEqualTo("z?e?d");
    }

    @Test
    void markersAreNoRecords() {
        assertThat(read(What.DELETED, "").kind()).isEqualTo(Kind.DELETED);
        assertThat(read(What.EXPIRED, "").kind()).isEqualTo(Kind.EXPIRED);
        assertThat(read(What.NOTHING, "")).isEqualTo(SeatRecord.ABSENT);
    }

    private SeatRecord read(What what, String said) {
        return text.stored(new Found(what, 5, Instant.EPOCH, said)).record();
    }
}
