package dev.bellwether.internal.roster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.RosterConfig;
import dev.bellwether.internal.election.Rig;
import dev.bellwether.internal.roster.RosterRecord.What;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.GroupObserver.Commit;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.RosterStanding;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a member writes, on a clock that is wound by hand; its group accepts every commit at once. */
class RosterClaimsTest implements GroupMembership, RosterDriver.Reports {
    private final Rig rig = new Rig();
    private final RosterConfig config = RosterConfig.builder()
            .roles(2)
            .partitions(2)
            .lease(Duration.ofSeconds(10))
            .build();
    private final Deque<RosterRecord> written = new ArrayDeque<>();
    private final List<String> told = new ArrayList<>();
    private final RosterClaims claims =
            new RosterClaims(new RosterStanding("jobs", "me", "me-1", config), rig.loop, this, this);
    private long offset;
    private int writtenWhenGivenBack;

    private void lead() {
        claims.caughtUp();
        claims.assigned(List.of(0, 1));
        claims.seat(0).claim();
        claims.seat(1).claim();
        rig.settle();
        readNext();
    }

    private RosterRecord readNext() {
        var record = written.removeFirst();
        claims.read(0, offset++, 0, record.bytes());
        rig.settle();
        return record;
    }

    @AfterEach
    @Override
    public void close() {
        rig.close();
    }

    @Test
    void oneClaimAndOneBeatAreForAllPartitions() {
        lead();
        assertThat(told).containsExactly("granted 0", "granted 1");
        assertThat(written).isEmpty();
        rig.pass(config.candidacy().renewInterval());
        var beat = readNext();
        assertThat(beat.what()).isEqualTo(What.BEAT);
        assertThat(beat.tokens()).isEqualTo(Map.of(0, 1L, 1, 1L));
        assertThat(told).endsWith("proven 0", "proven 1");
    }

    @Test
    void aMandateThatHasJustBegunIsNotProvenBeforeARenewInterval() {
        lead();
        rig.pass(config.candidacy().renewInterval().minusNanos(1));
        assertThat(written).isEmpty();
    }

    @Test
    void aPartitionThatMovesOnIsGivenBackBehindItsRelease() {
        lead();
        claims.revoking(List.of(1));
        assertThat(told).last().isEqualTo("asked 1");
        claims.seat(1).concede(Duration.ZERO);
        claims.seat(1).release();
        rig.settle();
        assertThat(written.getLast().what()).isEqualTo(What.RELEASE);
        assertThat(written.getLast().tokens()).isEqualTo(Map.of(1, 1L));
        assertThat(told).last().isEqualTo("given back 1");
        assertThat(writtenWhenGivenBack).as("the release").isEqualTo(1);
    }

    /** Others lead at once if it had read all that they have not. */
    @Test
    void whoHasLedSaysInItsReleaseHowFarItHasRead() {
        lead();
        claims.seat(1).concede(Duration.ZERO);
        claims.seat(1).release();
        rig.settle();
        assertThat(written.getLast().number()).isEqualTo(RosterWriter.HAD_LED);
        assertThat(written.getLast().base()).isEqualTo(offset);
    }

    @Test
    void whoStoodStillReadsItsOwnClaimBeforeItTakesItselfForMuted() {
        claimUnread();
        rig.stall(config.lease().multipliedBy(6).dividedBy(10));
        readForeign();
        claims.read(0, offset++, 0, written.removeFirst().bytes());
        rig.settle();
        assertThat(told).isEmpty(); // it came too late for this claim
        rig.pass(config.candidacy().retryInterval().multipliedBy(2));
        while (!written.isEmpty()) {
            readNext();
        }
        assertThat(told).startsWith("granted 0").doesNotContain("aside");
    }

    /** The thread that polls has woken only just: its records come later than the turns that are overdue. */
    @Test
    void whoStoodStillWaitsForWhatItHasToRead() {
        claimUnread();
        rig.stall(config.lease().multipliedBy(6).dividedBy(10));
        rig.settle();
        readForeign();
        claims.read(0, offset++, 0, written.removeFirst().bytes());
        rig.settle();
        rig.pass(config.candidacy().retryInterval().multipliedBy(2));
        while (!written.isEmpty()) {
            readNext();
        }
        assertThat(told).startsWith("granted 0").doesNotContain("aside");
    }

    @Test
    void whoReadsOthersAndNothingOfItsOwnStandsAside() {
        claimUnread();
        rig.stall(config.lease().multipliedBy(6).dividedBy(10));
        readForeign();
        rig.settle();
        rig.pass(config.candidacy().retryInterval().plusMillis(1));
        assertThat(told).containsExactly("aside");
    }

    @Test
    void whoReadsNothingAtAllStandsAside() {
        claimUnread();
        rig.pass(config.lease().multipliedBy(6).dividedBy(10));
        assertThat(told).containsExactly("aside");
    }

    @Test
    void aMemberWhoseWorkDoesNotEndLeavesItsPartitionsToOthersUntilItHas() {
        lead();
        claims.seat(0).concede(Duration.ZERO); // interrupted, and it does not end
        passReading(config.lease().multipliedBy(2).minusSeconds(1), true);
        assertThat(told).doesNotContain("aside");
        passReading(Duration.ofSeconds(2), true);
        assertThat(told).containsOnlyOnce("aside");
        claims.lost(List.of(0, 1));
        claims.seat(1).release(); // this work has ended
        passReading(config.lease().multipliedBy(3), true);
        assertThat(told).filteredOn("aside"::equals).hasSizeGreaterThan(4); // before each time is over
        claims.seat(0).release();
        told.clear();
        passReading(config.lease().multipliedBy(3), true);
        assertThat(told).doesNotContain("aside");
    }

    @Test
    void aMemberWhoseWorkDoesNotEndStaysIfThereIsNoOther() {
        lead();
        claims.seat(0).concede(Duration.ZERO);
        passReading(config.lease().multipliedBy(6), false);
        assertThat(told).doesNotContain("aside");
    }

    /** Its work may be stuck, too. */
    @Test
    void aMemberWhoseWorkDoesNotEndComesBackForGoodIfTheOtherHasGone() {
        lead();
        claims.seat(0).concede(Duration.ZERO);
        passReading(config.lease().multipliedBy(2).plusSeconds(1), true);
        assertThat(told).contains("aside");
        passReading(config.lease().multipliedBy(3), false);
        told.clear();
        claims.assigned(List.of(0, 1));
        passReading(config.lease().multipliedBy(3), true);
        assertThat(told).doesNotContain("aside");
    }

    private void passReading(Duration time, boolean othersBeat) {
        for (var left = time; !left.isNegative() && !left.isZero(); left = left.minusSeconds(1)) {
            rig.pass(Duration.ofSeconds(1));
            while (!written.isEmpty()) {
                readNext();
            }
            if (othersBeat) {
                var beat = new RosterRecord(
                        What.BEAT, "main", 2, "other", "other-1", 1, 0, config.lease(), Map.of(0, 99L));
                claims.read(0, offset++, 0, beat.bytes());
                rig.settle();
            }
        }
    }

    private void claimUnread() {
        claims.caughtUp();
        claims.assigned(List.of(0, 1));
        claims.seat(0).claim();
        claims.seat(1).claim();
        rig.settle();
        assertThat(written)
                .singleElement()
                .satisfies(one -> assertThat(one.what()).isEqualTo(What.CLAIM));
    }

    /** A beat of another member, for the second partition. */
    private void readForeign() {
        var beat = new RosterRecord(
                What.BEAT, written.getFirst().group(), 2, "other", "other-1", 1, 0, config.lease(), Map.of(1, 99L));
        claims.read(0, offset++, 0, beat.bytes());
    }

    // ---------------------------------------------------------------- the group

    @Override
    public void commit(long number) {
        rig.loop.execute(() -> claims.committed(number, Commit.ACCEPTED));
    }

    @Override
    public void write(int partition, byte[] record) {
        written.add(RosterRecord.parse(record).orElseThrow());
    }

    @Override
    public void revoked(int partition) {
        told.add("given back " + partition);
        writtenWhenGivenBack = written.size();
    }

    @Override
    public void standAside(Duration time) {
        told.add("aside");
    }

    @Override
    public void leave() {}

    // ---------------------------------------------------------------- reports

    @Override
    public void granted(int partition, long token, Proof proof) {
        told.add("granted " + partition);
    }

    @Override
    public void proven(int partition, long token, Proof proof) {
        told.add("proven " + partition);
    }

    @Override
    public void asked(int partition, long token, Cause cause) {
        told.add("asked " + partition);
    }

    @Override
    public void lost(int partition, long token, Cause cause) {
        told.add("lost " + partition);
    }

    @Override
    public void left(int partition) {
        told.add("left " + partition);
    }

    @Override
    public void failed(ElectionException error) {
        told.add("failed");
    }

    @Override
    public void gone() {
        told.add("gone");
    }
}
