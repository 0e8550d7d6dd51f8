package dev.bellwether.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.kafka.Entry.What;
import dev.bellwether.spi.Fields;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The rules of the journal, record by record, on a clock in milliseconds that is wound by hand. */
class JournalRulesTest {
    private static final Duration LEASE = Duration.ofSeconds(1);
    private final JournalRules rules = new JournalRules("billing", 0);
    private long offset;
    private long millis;

    private ElectionState known() {
        return rules.known();
    }

    private long at(long now) {
        return Duration.ofMillis(now).toNanos();
    }

    private Fields.Builder by(String who) {
        return Fields.with("candidate", who)
                .and("instance", who)
                .and("nonce", who + "-1")
                .and("lease", LEASE.toNanos())
                .and("base", 0);
    }

    /** The record is read at the present time, whatever its time-stamp says. */
    private void read(What what, Fields fields) {
        rules.read(new Entry(what, "billing", fields), offset++, Instant.EPOCH, at(millis));
    }

    private long claim(String who) {
        read(What.CLAIM, by(who).build());
        return known().highest();
    }

    private void beat(String who, long token) {
        read(What.BEAT, by(who).and("token", token).build());
    }

    private long barredNanos(String who) {
        return known().state().barredNanosAt(at(millis), who);
    }

    @Test
    void theTokenOfAClaimIsItsPlaceInTheLog() {
        assertThat(claim("a")).isEqualTo(1);
        beat("a", 1);
        assertThat(claim("b")).isEqualTo(3);
        assertThat(known().state().isTakenUnder("b-1")).isTrue();
    }

    @Test
    void aClaimBarsItsSuccessorForAFullLeaseFromTheReadingOfItsLastBeat() {
        var token = claim("a");
        millis = 900;
        beat("a", token);
        millis = 1_000;
        claim("b");
        assertThat(barredNanos("b")).isEqualTo(at(900));
        millis = 1_900;
        assertThat(barredNanos("b")).isLessThanOrEqualTo(0);
    }

    @Test
    void aBeatBehindAForeignClaimCountsForNothing() {
        var token = claim("a");
        millis = 100;
        claim("b");
        millis = 500;
        beat("a", token);
        assertThat(known().state().isTakenUnder("b-1")).isTrue();
        assertThat(barredNanos("b"))
                .as("the lease of the claim, not of the late beat")
                .isEqualTo(at(500));
    }

    @Test
    void anybodyElsesMessageExtendsNoLease() {
        var token = claim("a");
        millis = 500;
        beat("b", token); // the right token under a wrong nonce
        read(What.CANDIDATES, by("b").build());
        read(What.STAND_DOWN, by("b").and("token", 99).build());
        assertThat(known().holderAt(at(1_001))).isEmpty();
    }

    @Test
    void aTimeStampDecidesNothing() {
        rules.read(
                new Entry(What.CLAIM, "billing", by("a").build()),
                0,
                Instant.now().minusSeconds(3_600),
                at(0));
        assertThat(known().holderAt(at(999))).isPresent();
        assertThat(known().holderAt(at(1_000))).isEmpty();
    }

    @Test
    void aReleaseLiftsTheBarEvenIfItComesAfterTheSuccessorsClaim() {
        var token = claim("a");
        claim("b");
        assertThat(barredNanos("b")).isPositive();
        read(What.RELEASE, by("a").and("token", token).build());
        assertThat(barredNanos("b")).isZero();
        assertThat(known().state().isTakenUnder("b-1")).isTrue();
    }

    @Test
    void whoConcedesBarsOthersNoLongerThanHeSays() {
        var token = claim("a");
        millis = 100;
        read(What.CONCEDE, by("a").and("token", token).and("lease", at(200)).build());
        claim("b");
        assertThat(barredNanos("b")).isEqualTo(at(200));
    }

    @Test
    void allEarlierClaimsBarNotTheLastOneOnly() {
        var token = claim("a");
        millis = 900;
        beat("a", token);
        claim("b");
        millis = 950;
        read(What.RELEASE, by("b").and("token", known().highest()).build());
        claim("c");
        assertThat(barredNanos("c")).as("a led, and may lead still").isEqualTo(at(950));
    }

    @Test
    void nobodyIsBarredByHisOwnEarlierClaim() {
        claim("a");
        millis = 10;
        read(What.CLAIM, by("a").and("nonce", "a-2").build());
        assertThat(barredNanos("a")).isZero();
        assertThat(barredNanos("b")).isPositive();
    }

    @Test
    void aLogThatBeginsAgainDoesNotLowerATokenNorForgetWhoMayLead() {
        offset = 40;
        var token = claim("a");
        offset = 0;
        rules.beginAgain(at(millis));
        claim("b");
        assertThat(known().state().isTakenUnder("b-1"))
                .as("its token would not rise")
                .isFalse();
        read(What.CLAIM, by("b").and("base", token).build());
        assertThat(known().state().isTakenUnder("b-1")).isTrue();
        assertThat(known().highest()).isGreaterThan(token);
        assertThat(barredNanos("b")).isEqualTo(at(1_000));
    }

    @Test
    void whoComesLateLearnsTheHolderFromABeatWhoseClaimIsNoLongerThere() {
        beat("a", 7);
        assertThat(known().highest()).isEqualTo(7);
        assertThat(known().holderAt(at(999)))
                .map(ElectionState.Author::candidate)
                .contains("a");
        beat("b", 5);
        assertThat(known().highest()).as("an older one changes nothing").isEqualTo(7);
    }

    @Test
    void anEndLastsUntilTheElectionIsDeleted() {
        claim("a");
        read(What.END, Fields.with("era", 0).build());
        assertThat(known().ended()).isTrue();
        read(What.DELETE, Fields.with("era", 1).build());
        assertThat(known().ended()).isFalse();
        assertThat(known().listed()).isFalse();
        assertThat(known().era()).isEqualTo(1);
        claim("b");
        assertThat(known().listed()).isTrue();
    }

    @Test
    void aHolderFromBeforeAGapIsKnownAgainByItsNextBeat() {
        var token = claim("a");
        millis = 5_000;
        rules.beginAgain(at(millis)); // retention went past us
        assertThat(known().holderAt(at(millis))).isEmpty();
        beat("a", token);
        assertThat(known().holderAt(at(millis)))
                .map(ElectionState.Author::candidate)
                .contains("a");
        claim("b");
        assertThat(barredNanos("b")).isEqualTo(at(1_000));
    }

    @Test
    void aStaleBeatOfAReleasedClaimBarsNobodyBehindAGap() {
        var token = claim("a");
        read(What.RELEASE, by("a").and("token", token).build());
        rules.beginAgain(at(millis));
        millis = 1_000; // one of whom nothing was read leads no more
        beat("a", token);
        claim("b");
        assertThat(barredNanos("b")).isZero();
    }

    /** Its holder may have been away when the later claim was written, and that claim may be in the gap. */
    @Test
    void aClaimThatALaterOneEndedBeforeAGapMayBeLedByBehindIt() {
        var token = claim("a");
        claim("b");
        rules.beginAgain(at(millis));
        millis = 5_000;
        beat("a", token);
        claim("c");
        assertThat(barredNanos("c")).isEqualTo(at(1_000));
    }

    @Test
    void behindAGapSomebodyOfWhomNothingWasReadMayLeadForALease() {
        claim("a");
        millis = 5_000;
        rules.beginAgain(at(millis));
        millis = 5_400;
        claim("b");
        assertThat(barredNanos("b")).isEqualTo(at(600));
        millis = 6_000;
        assertThat(barredNanos("b")).isZero();
    }

    @Test
    void oneThatLeadsUnderALowerTokenIsWaitedForSinceItMayKnowOfNoHigherOne() {
        offset = 1_000;
        claim("a");
        millis = 5_000;
        offset = 0; // another topic of the same name
        rules.beginAgain(at(millis));
        read(What.CLAIM, by("new").build()); // valid for all who never saw the old topic
        millis = 5_900;
        beat("new", 1);
        read(What.CLAIM, by("b").and("base", 1_001).build());
        assertThat(known().state().isTakenUnder("b-1")).isTrue();
        assertThat(barredNanos("b")).isEqualTo(at(1_000));
        millis = 6_000;
        beat("new", 1);
        assertThat(barredNanos("b"))
                .as("its beats behind a higher claim count for nothing")
                .isEqualTo(at(900));
    }

    @Test
    void aConcessionAloneTellsOfAClaimThatIsNoLongerThere() {
        read(
                What.CONCEDE,
                by("a").and("token", 70).and("base", 60).and("lease", at(200)).build());
        assertThat(known().highest()).isEqualTo(70);
        assertThat(known().base()).isEqualTo(60);
        claim("b"); // void: it knew no better
        read(What.CLAIM, by("c").and("base", 70).build());
        assertThat(barredNanos("c")).isPositive();
    }

    /** Compaction keeps the last record of each key, and the release of one that led before may be the last of all. */
    @Test
    void whatMadeATokenIsNotTakenByARecordOfAnEarlierClaim() {
        var earlier = by("a").and("token", 70).and("base", 60);
        var chosen = by("b").and("token", 900).and("base", 60).and("chosen", 900);
        var later = by("c").and("token", 990).and("base", 900);
        assertThat(Stream.of(earlier, chosen, later)
                        .map(each -> new Entry(What.RELEASE, "a:b.c", each.build()))
                        .map(each -> new String(each.key(), UTF_8)))
                .containsExactly("seat.60.0:a:b.c", "seat.60.900:a:b.c", "seat.900.0:a:b.c");

        read(What.RELEASE, later.build());
        read(What.RELEASE, earlier.build());
        assertThat(known().highest()).isEqualTo(990);
        assertThat(known().base()).isEqualTo(900);
    }

    /** The last record of the highest base is of an early claim: later ones of it had higher tokens than we read of. */
    @Test
    void theHighestBaseCountsThoughTheHighestTokenHasALowerOne() {
        read(What.RELEASE, by("a").and("token", 111).and("base", 100).build());
        read(What.RELEASE, by("b").and("token", 201).build());
        assertThat(known().highest()).isEqualTo(201);
        assertThat(known().base()).isEqualTo(100);
    }

    @Test
    void theSameClaimOnceMoreIsNotAnotherOne() {
        var token = claim("a");
        read(What.CLAIM, by("a").build());
        assertThat(known().highest()).isEqualTo(token);
        millis = 900;
        beat("a", token);
        assertThat(known().holderAt(at(1_800))).isPresent();
    }

    @Test
    void aRecordThatNoCandidateWouldWriteIsNoClaim() {
        claim("a");
        for (var lease : List.of("0", "-5", Long.toString(Long.MAX_VALUE), "x", "")) {
            read(
                    What.CLAIM,
                    by("b").and("nonce", "b" + lease).and("lease", lease).build());
            read(
                    What.BEAT,
                    by("b").and("nonce", "b" + lease)
                            .and("lease", lease)
                            .and("token", 99)
                            .build());
        }
        read(What.CLAIM, by("b").and("nonce", "").build());
        assertThat(known().state().isTakenUnder("a-1")).isTrue();
        assertThat(barredNanos("c")).isZero();
    }

    @Test
    void anOrderIsForTheEraThatItNames() {
        read(What.DELETE, Fields.with("era", 1).build());
        read(What.END, Fields.with("era", 0).build());
        assertThat(known().ended())
                .as("it was the election before the deletion that ended")
                .isFalse();
        claim("a");
        read(What.DELETE, Fields.with("era", 1).build());
        assertThat(known().era()).as("the same order once more").isEqualTo(1);
        assertThat(known().listed()).isTrue();
    }

    @Test
    void whatIsNoneOfOursIsNoEntry() {
        assertThat(Entry.parse(null, new byte[] {1})).isEmpty();
        assertThat(Entry.parse(new byte[] {1}, null)).isEmpty();
        assertThat(Entry.parse("seat:x".getBytes(UTF_8), new byte[] {'%', '='})).isEmpty();
        var said = new Entry(What.CLAIM, "a=b&c Ζ", by("κριός & 100%").build());
        var parsed = Entry.parse(said.key(), said.value()).orElseThrow();
        assertThat(parsed.election()).isEqualTo("a=b&c Ζ");
        assertThat(parsed.fields().text("candidate")).isEqualTo("κριός & 100%");
    }

    /** The topic was deleted and created again, and with it went the orders. Those who were there remember them. */
    @Test
    void anOrderThatIsGoneIsKnownByTheRecordsOfThoseWhoRememberIt() {
        read(What.BEAT, by("a").and("token", 7).and("era", 2).build());
        assertThat(known().era()).isEqualTo(2);
        assertThat(known().listed()).isTrue();
        read(What.END, Fields.with("era", 0).build());
        assertThat(known().ended()).isFalse();
        read(What.END, Fields.with("era", 2).build());
        assertThat(known().ended()).isTrue();
        read(What.RELEASE, by("a").and("token", 7).and("era", 2).build());
        assertThat(known().ended()).as("it is of the same era").isTrue();
    }
}
