package dev.bellwether.internal.roster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.internal.roster.RosterRecord.What;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class RosterLedgerTest {
    private static final int PARTITIONS = 4;
    private static final Duration LEASE = Duration.ofSeconds(10);
    private static final long LEASE_NANOS = LEASE.toNanos();

    private final RosterLedger ledger = new RosterLedger("main", PARTITIONS, LEASE);
    private long offset;
    private long now = 1_000_000_000_000L;

    private void said(What what, String who, int partitions, long base, Map<Integer, Long> tokens) {
        var record = new RosterRecord(what, "main", partitions, who, who, 1, base, LEASE, tokens);
        ledger.read(RosterRecord.parse(record.bytes()).orElseThrow(), offset++, now);
    }

    private void claims(String who, Integer... partitions) {
        var tokens = new TreeMap<Integer, Long>();
        for (var partition : partitions) {
            tokens.put(partition, 0L);
        }
        for (var rises = false; !rises; ) { // else it has no use for the claim, and makes another
            var known = ledger.highest();
            var base = ledger.baseOfNextClaim();
            var token = base + offset + 1;
            rises = token > known;
            said(What.CLAIM, who, PARTITIONS, base, tokens);
            ledger.ownClaimRead(rises);
            if (!rises) {
                tokens.keySet().forEach(partition -> said(What.RELEASE, who, PARTITIONS, 0, Map.of(partition, token)));
            }
        }
    }

    private long barred(String who, int partition) {
        return Math.max(0, ledger.barredNanosAt(now, who, partition));
    }

    @Test
    void aClaimEndsTheOneBeforeAndWaitsForItsLease() {
        claims("a", 0, 1);
        now += LEASE_NANOS / 4;
        claims("b", 1);
        assertThat(ledger.tokenOf("a", 0)).isEqualTo(1);
        assertThat(ledger.tokenOf("a", 1)).isZero();
        assertThat(ledger.tokenOf("b", 1)).isEqualTo(2);
        assertThat(barred("b", 1)).isEqualTo(LEASE_NANOS * 3 / 4);
        assertThat(barred("b", 0)).isZero();
        said(What.RELEASE, "a", PARTITIONS, 0, Map.of(1, 1L));
        assertThat(barred("b", 1)).isZero();
    }

    @Test
    void anotherGroupsRecordsAreNoneOfOurs() {
        claims("a", 0);
        var foreign = new RosterRecord(What.CLAIM, "other", PARTITIONS, "x", "x", 1, 0, LEASE, Map.of(0, 0L));
        ledger.read(foreign, offset++, now);
        assertThat(ledger.tokenOf("a", 0)).isEqualTo(1);
    }

    @Test
    void oneThatClaimsAfterTheLogBeganAgainWaitsAndHasAHigherToken() {
        claims("a", 0);
        claims("a", 1);
        offset = 0;
        ledger.beganAgain(0, now);
        assertThat(ledger.tokenOf("a", 0)).isZero();
        claims("b", 0);
        assertThat(ledger.tokenOf("b", 0)).isGreaterThan(2);
        assertThat(barred("b", 0)).isEqualTo(LEASE_NANOS);
    }

    /** Where all that was written is forgotten, and all who read it, an offset is all that is left. */
    @Test
    void oneThatHasNotReadTheLogToItsEndAddsNothingToItsOffset() {
        ledger.beganAgain(400, now);
        ledger.known(405);
        assertThat(ledger.baseOfNextClaim()).isZero();
        offset = 422;
        claims("a", 0);
        assertThat(ledger.tokenOf("a", 0)).isEqualTo(423);
    }

    @Test
    void aTokenThatOthersKnowOfIsSurpassed() {
        ledger.known(5_000);
        claims("a", 3);
        assertThat(ledger.tokenOf("a", 3)).isGreaterThan(5_000);
        assertThat(ledger.highest()).isEqualTo(ledger.tokenOf("a", 3));
    }

    /**
     * Roles would have other owners here and there: role 4 is of partition 0 with four, and of partition 4 with five.
     */
    @Test
    void aClaimWithAnotherNumberOfPartitionsEndsAllOfOurs() {
        claims("a", 0, 1, 2, 3);
        said(What.CLAIM, "five", 5, 0, Map.of(4, 0L));
        for (var partition = 0; partition < PARTITIONS; partition++) {
            assertThat(ledger.tokenOf("a", partition)).isZero();
        }
    }

    @Test
    void nobodyLeadsUntilAllThatWasClaimedWithAnotherNumberIsOver() {
        said(What.CLAIM, "five", 5, 900, Map.of(0, 0L, 4, 0L));
        claims("a", 2);
        assertThat(ledger.tokenOf("a", 2)).isGreaterThan(901);
        assertThat(barred("a", 2)).isEqualTo(LEASE_NANOS);
        now += LEASE_NANOS / 2;
        said(What.BEAT, "five", 5, 0, Map.of(0, 901L, 4, 901L));
        assertThat(ledger.tokenOf("a", 2)).as("a beat ends nothing").isPositive();
        assertThat(barred("a", 2)).isEqualTo(LEASE_NANOS);
        said(What.RELEASE, "five", 5, 0, Map.of(0, 901L));
        assertThat(barred("a", 2)).isEqualTo(LEASE_NANOS);
        said(What.RELEASE, "five", 5, 0, Map.of(4, 901L));
        assertThat(barred("a", 2)).isZero();
    }

    @Test
    void oneThatIsSilentWithAnotherNumberBarsForALeaseOnly() {
        said(What.CLAIM, "five", 5, 0, Map.of(4, 0L));
        now += LEASE_NANOS;
        assertThat(barred("a", 2)).isZero();
    }

    @Test
    void aBeatTellsWhoHoldsAPartitionThoughItsTokenWasKnownBeforeRecordsWereMissed() {
        claims("a", 0);
        offset = 500;
        ledger.beganAgain(offset, now);
        now += 2 * LEASE_NANOS;
        said(What.BEAT, "a", PARTITIONS, 0, Map.of(0, 1L));
        claims("b", 0);
        assertThat(barred("b", 0)).isEqualTo(LEASE_NANOS);
    }

    @Test
    void oneThatMissedRecordsWaitsForALeaseSinceSomebodyUnseenMayLead() {
        claims("a", 0);
        now += 2 * LEASE_NANOS;
        offset = 500;
        ledger.beganAgain(offset, now);
        claims("b", 0);
        assertThat(barred("b", 0)).isEqualTo(LEASE_NANOS);
    }

    @Test
    void oneThatEndedInOrderAndHadReadAllThatWasMissedVouchesForNobodyBeingUnseen() {
        offset = 500;
        ledger.beganAgain(offset, now);
        var ended = new RosterRecord(
                What.RELEASE, "main", PARTITIONS, "a", "a", RosterWriter.HAD_LED, 500, LEASE, Map.of(0, 400L));
        ledger.read(ended, offset++, now);
        var early = new RosterRecord(
                What.RELEASE, "main", PARTITIONS, "a", "a", RosterWriter.HAD_LED, 499, LEASE, Map.of(1, 400L));
        ledger.read(early, offset++, now);
        claims("b", 0, 1);
        assertThat(barred("b", 0)).isZero();
        assertThat(barred("b", 1)).isEqualTo(LEASE_NANOS);
    }

    /** Whoever has not heard of token 5,000 leads by a lower one. */
    @Test
    void aClaimWithoutEffectHereIsWaitedForSinceItsAuthorMayKnowLess() {
        ledger.known(5_000);
        claims("a", 0);
        offset = 0;
        ledger.beganAgain(0, now);
        now += 2 * LEASE_NANOS;
        said(What.CLAIM, "newcomer", PARTITIONS, 0, Map.of(0, 0L));
        now += LEASE_NANOS / 2;
        said(What.BEAT, "newcomer", PARTITIONS, 0, Map.of(0, 1L));
        claims("b", 0);
        assertThat(ledger.tokenOf("b", 0)).isGreaterThan(5_000);
        assertThat(barred("b", 0)).isEqualTo(LEASE_NANOS);
        said(What.RELEASE, "newcomer", PARTITIONS, 0, Map.of(0, 1L));
        assertThat(barred("b", 0)).isZero();
    }

    /** It began to read behind that claim, and so knows of no higher token: it leads, and all its beats count. */
    @Test
    void oneThatLeadsByALowerTokenThanWeHaveReadIsWaitedForSinceItsLastBeat() {
        said(What.CLAIM, "a", PARTITIONS, 1_000, Map.of(0, 0L));
        now += 2 * LEASE_NANOS;
        said(What.CLAIM, "newcomer", PARTITIONS, 0, Map.of(0, 0L));
        now += LEASE_NANOS / 2;
        said(What.BEAT, "newcomer", PARTITIONS, 0, Map.of(0, 2L));
        said(What.CLAIM, "b", PARTITIONS, 1_001, Map.of(0, 0L));
        assertThat(ledger.tokenOf("b", 0)).isEqualTo(1_005);
        assertThat(barred("b", 0)).isEqualTo(LEASE_NANOS);
    }

    @Test
    void aBeatOfAnotherUnderTheHoldersTokenExtendsNothing() {
        claims("a", 0);
        now += LEASE_NANOS / 2;
        said(What.BEAT, "x", PARTITIONS, 0, Map.of(0, 1L));
        claims("b", 0);
        assertThat(barred("x", 0)).isEqualTo(LEASE_NANOS / 2);
    }

    @Test
    void aConcessionAloneTellsOfAClaimThatIsNoLongerThere() {
        said(What.CONCEDE, "a", PARTITIONS, 0, Map.of(0, 70L));
        assertThat(ledger.highest()).isEqualTo(70);
        claims("b", 0);
        assertThat(ledger.tokenOf("b", 0)).isGreaterThan(70);
        assertThat(barred("b", 0)).isEqualTo(LEASE_NANOS);
    }

    @Test
    void aBeatBehindAnothersClaimKeepsNobodyWaiting() {
        claims("a", 0);
        claims("b", 0);
        now += LEASE_NANOS / 2;
        said(What.BEAT, "a", PARTITIONS, 0, Map.of(0, 1L));
        assertThat(barred("b", 0)).isEqualTo(LEASE_NANOS / 2);
    }
}
