package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics;
import dev.bellwether.kafka.Entry.What;
import dev.bellwether.kafka.Group.Commit;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The machine step by step, on a clock in milliseconds that is wound by hand. */
class SeatMachineTest implements Claimant, Clock, JournalClient, Group, SeatThread {
    private static final String ELECTION = "billing";
    private static final CandidacyConfig CONFIG = CandidacyConfig.builder()
            .lease(Duration.ofMillis(1_000))
            .renewInterval(Duration.ofMillis(300))
            .retryInterval(Duration.ofMillis(50))
            .standDownBudget(Duration.ofMillis(200))
            .build();

    private final JournalRules rules = new JournalRules(ELECTION, 0);
    private final Deque<Entry> written = new ArrayDeque<>();
    private final List<String> told = new ArrayList<>();
    private final List<Optional<String>> followed = new ArrayList<>();
    private long millis = 10_000;
    private long offset;
    private boolean owns = true;
    private Commit answer = Commit.ACCEPTED;
    private long commitTakesMillis;
    private int commits;
    private boolean sameLog = true;
    private final SeatMachine machine =
            new SeatMachine(new Standing(ELECTION, "me", "me-1", CONFIG), this, this, this, this, this);

    @BeforeEach
    void wanted() {
        machine.caughtUp(rules.known());
        machine.wanted();
    }

    /** The journal has come to the record that we wrote first, of those not yet read. */
    private Entry readNext() {
        var entry = written.removeFirst();
        read(entry);
        return entry;
    }

    private void read(Entry entry) {
        rules.read(entry, offset++, Instant.EPOCH, nanos());
        machine.noticed(entry, rules.known());
    }

    private Entry foreign(What what, long token) {
        return new Entry(
                what,
                ELECTION,
                Fields.with("candidate", "other")
                        .and("instance", "other-1")
                        .and("nonce", "other-1-1")
                        .and("lease", CONFIG.lease().toNanos())
                        .and("token", token)
                        .and("base", 0)
                        .build());
    }

    private void lead() {
        machine.act();
        readNext();
        assertThat(told).last().asString().startsWith("granted");
        told.clear();
    }

    @Test
    void aMandateCountsFromBeforeTheCommitWasSent() {
        commitTakesMillis = 70;
        machine.act();
        millis += 20;
        assertThat(readNext().what()).isEqualTo(What.CLAIM);
        assertThat(told).containsExactly("granted 1 since 10000");
    }

    @Test
    void soDoesEachOfItsProofs() {
        lead();
        millis = 11_000;
        commitTakesMillis = 70;
        machine.act();
        millis += 20;
        assertThat(readNext().what()).isEqualTo(What.BEAT);
        assertThat(told).containsExactly("proven 1 since 11000");
    }

    @Test
    void aCommitAloneExtendsNothing() {
        lead();
        millis += 300;
        machine.act();
        assertThat(commits).isEqualTo(2);
        assertThat(told).isEmpty();
    }

    @Test
    void aBeatIsNotEvenWrittenUnlessTheCoordinatorHasAcceptedTheCommit() {
        lead();
        for (var refused : List.of(Commit.REFUSED, Commit.UNANSWERED)) {
            answer = refused;
            millis += 300;
            machine.act();
            assertThat(written).as(refused.toString()).isEmpty();
        }
        assertThat(told).isEmpty();
    }

    @Test
    void whileTheGroupRebalancesTheBeatAloneProves() {
        lead();
        answer = Commit.REBALANCING;
        millis += 300;
        machine.act();
        readNext();
        assertThat(told).containsExactly("proven 1 since " + millis);
    }

    @Test
    void aBeatThatIsNotReadBackIsFollowedByAnotherBeforeTheNextRenewalIsDue() {
        lead();
        millis += 300;
        machine.act();
        millis += 149;
        machine.act();
        assertThat(written).hasSize(1);
        millis += 1;
        machine.act();
        assertThat(written).hasSize(2);
        millis += 50;
        machine.act();
        assertThat(written).hasSize(3);
    }

    @Test
    void aBeatBehindAForeignClaimProvesNothingAndTheMandateIsLost() {
        lead();
        millis += 300;
        machine.act();
        read(foreign(What.CLAIM, 0));
        assertThat(told).containsExactly("lost 1 REPLACED");
        readNext();
        assertThat(told).hasSize(1);
    }

    @Test
    void aForeignBeatOrOneOfAnEarlierClaimProvesNothing() {
        lead();
        millis += 300;
        machine.act();
        read(foreign(What.BEAT, 1));
        assertThat(told).isEmpty();
        var own = written.removeFirst();
        read(own);
        read(own);
        assertThat(told).as("once for each beat").containsExactly("proven 1 since " + millis);
    }

    @Test
    void aLateBeatOfAnEarlierClaimOfOursIsNoProofThoughItsNumberIsTheSame() {
        lead();
        millis += 300;
        machine.act();
        var late = written.removeFirst(); // the producer that was to write it has been replaced
        machine.released();
        machine.wanted();
        readNext();
        lead();
        millis += 300;
        machine.act();
        assertThat(written.getFirst().fields().text("beat"))
                .isEqualTo(late.fields().text("beat"));
        read(late);
        assertThat(told).isEmpty();
        readNext();
        assertThat(told).hasSize(1).first().asString().startsWith("proven");
    }

    @Test
    void twoCopiesOfAProcessDoNotClaimUnderOneNonce() {
        var standing = new Standing(ELECTION, "me", "me-1", CONFIG);
        assertThat(new OwnClaim(standing, 1, 0, 0).nonce()).isNotEqualTo(new OwnClaim(standing, 1, 0, 0).nonce());
    }

    @Test
    void nothingIsClaimedInALogOfWhichItIsNotSureThatItIsTheOneThatWasRead() {
        sameLog = false;
        machine.act();
        assertThat(written).isEmpty();
        sameLog = true;
        millis += 50;
        machine.act();
        assertThat(written).hasSize(1);
    }

    /** The assignor keeps an owner for as long as it is a member: nobody else could lead. */
    @Test
    void anOwnerThatCannotAskWhetherItIsTheSameLogLeavesTheSeatToOthersAfterHalfALease() {
        sameLog = false;
        actUntil(10_499);
        assertThat(owns).isTrue();
        actUntil(10_550);
        assertThat(owns).isFalse();
        assertThat(machine.asideNanos()).isBetween(1L, 1_000_000_000L);
        assertThat(written).isEmpty();
    }

    @Test
    void anAnswerBetweenHasTheHalfLeaseBeginAgain() {
        sameLog = false;
        actUntil(10_400);
        sameLog = true;
        actUntil(10_450);
        read(foreign(What.CLAIM, 0)); // ours is void, and a later one comes in its place
        readNext();
        sameLog = false;
        actUntil(10_900);
        assertThat(owns).isTrue();
    }

    @Test
    void soDoesTheSeatOfAnother() {
        sameLog = false;
        actUntil(10_400);
        owns = false;
        actUntil(10_700);
        owns = true;
        actUntil(11_100);
        assertThat(owns).isTrue();
        actUntil(11_250);
        assertThat(owns).isFalse();
    }

    /** Its claim stands, and keeps all others from leading. */
    @Test
    void anOwnerWhoseBeatsAreNotReadBackBeforeItLeadsLeavesTheSeatToOthersAfterHalfALease() {
        read(foreign(What.CLAIM, 0));
        machine.act();
        readNext();
        actUntil(11_499); // the other one's lease is over at 11 s
        assertThat(owns).isTrue();
        actUntil(11_550);
        assertThat(owns).isFalse();
        assertThat(written.getLast().what()).isEqualTo(What.RELEASE);
        assertThat(told).noneMatch(line -> line.startsWith("granted"));
    }

    /** Acts every ten milliseconds, as far as this time. */
    private void actUntil(long time) {
        while (millis + 10 <= time) {
            millis += 10;
            machine.act();
        }
    }

    @Test
    void oneThatClaimsAfterAnotherWaitsUntilThatOnesLeaseIsOver() {
        read(foreign(What.CLAIM, 0));
        machine.act();
        readNext();
        assertThat(told).noneMatch(line -> line.startsWith("granted"));
        millis += 999;
        machine.act();
        assertThat(written).isEmpty();
        millis += 1;
        machine.act();
        readNext();
        assertThat(told).contains("granted 2 since " + millis);
    }

    /**
     * It began to read after a gap in which our claim lies, and so has a lower token. It read neither our claim nor our
     * beat, and leads.
     */
    @Test
    void aClaimWithALowerTokenThatCameBeforeTheBeatBarsUsForItsLease() {
        read(foreign(What.CLAIM, 0));
        machine.act();
        readNext();
        millis += 1_000;
        machine.act();
        var blind = new Fields.Builder();
        foreign(What.CLAIM, 0).fields().values().forEach(blind::and);
        read(new Entry(
                What.CLAIM,
                ELECTION,
                blind.and("nonce", "blind-1").and("base", -100).build()));
        assertThat(readNext().what()).isEqualTo(What.BEAT);
        assertThat(told).as("while that one may lead").isEmpty();
        millis += 1_000;
        machine.act();
        readNext();
        assertThat(told).containsExactly("granted 2 since " + millis);
    }

    @Test
    void aPartitionThatIsLostIsAMandateThatIsLostAndNotAskedBack() {
        lead();
        owns = false;
        machine.lost();
        assertThat(told).containsExactly("lost 1 EXPIRED");
    }

    @Test
    void aPartitionThatIsRevokedIsAskedBackAndTheRebalanceWaitsForTheRelease() {
        lead();
        mail.add(() -> {
            millis += 150;
            machine.released();
        });
        machine.revoked();
        assertThat(told).containsExactly("asked 1 MOVED");
        assertThat(written.getLast().what()).isEqualTo(What.RELEASE);
        assertThat(millis).isEqualTo(10_000 + 150);
    }

    @Test
    void butNoLongerThanTheBudget() {
        lead();
        machine.revoked();
        assertThat(millis).isEqualTo(10_000 + 200);
        assertThat(written).isEmpty();
    }

    @Test
    void aClaimThatCameThroughAfterItWasGivenUpIsGivenBack() {
        machine.act();
        millis += 501;
        machine.act(); // no longer waits for it
        assertThat(told).noneMatch(line -> line.startsWith("granted"));
        readNext();
        assertThat(written.getLast().what()).isEqualTo(What.RELEASE);
        assertThat(told).noneMatch(line -> line.startsWith("granted"));
    }

    /** Another may be the owner by now, and lead. */
    @Test
    void whoStoodStillBehindTheCommitDoesNotClaimBeforeTheNextOne() {
        commitTakesMillis = 300;
        machine.act();
        assertThat(written).isEmpty();
        commitTakesMillis = 0;
        millis += CONFIG.retryInterval().toMillis();
        machine.act();
        assertThat(written).singleElement().extracting(Entry::what).isEqualTo(What.CLAIM);
        assertThat(commits).isEqualTo(2);
    }

    @Test
    void neitherDoesOneWhoWasRevokedOrHasLostThePartitionLeaveAClaimBehind() {
        machine.act();
        machine.revoked();
        assertThat(written).extracting(Entry::what).containsExactly(What.CLAIM, What.RELEASE);
        written.clear();
        machine.act();
        machine.lost();
        assertThat(written).extracting(Entry::what).containsExactly(What.CLAIM, What.RELEASE);
        machine.released();
        assertThat(written).hasSize(2);
        assertThat(machine.lastRelease()).isNotDone();
    }

    @Test
    void anElectionIsListedOfWhichCompactionHasLeftNothingButThat() {
        machine.act();
        machine.released();
        var fresh = new JournalRules(ELECTION, 0);
        fresh.read(written.getLast(), offset++, Instant.EPOCH, nanos());
        assertThat(fresh.known().listed()).isTrue();
    }

    /** Nobody of us reads it any more: without a release the seat would be vacant for a lease. */
    @Test
    void aClaimThatWasNotReadYetIsReleasedByOneWhoLeaves() {
        machine.act();
        machine.released();
        assertThat(machine.lastRelease()).isNotDone();
        written.forEach(entry -> rules.read(entry, offset++, Instant.EPOCH, nanos()));
        assertThat(rules.known().state().holderAt(nanos())).isEmpty();
        rules.read(foreign(What.CLAIM, 0), offset++, Instant.EPOCH, nanos());
        assertThat(rules.known().state().isTakenUnder("other-1-1")).isTrue();
        assertThat(rules.known().state().barredNanosAt(nanos(), "other-1")).isZero();
    }

    // ---------------------------------------------------------------- the end of the election

    private Entry order(What what, long era) {
        return new Entry(what, ELECTION, Fields.with("era", era).build());
    }

    /** The core hears an order to a leader only while it leads, and the end of an election only while it stands by. */
    @Test
    void anEndThatWasReadWhileTheMandateWasOverAlreadyIsToldWhenTheSeatIsWantedAgain() {
        lead();
        read(order(What.END, 0)); // the core has just revoked or fenced the mandate, and ignores this
        machine.conceded(Duration.ofMillis(100));
        machine.released();
        told.clear();
        machine.wanted();
        assertThat(told).containsExactly("ended");
        assertThat(machine.idle()).isTrue();
    }

    @Test
    void soIsOneThatWasReadWhenTheWorkHadOverrun() {
        lead();
        machine.conceded(Duration.ofMillis(100));
        actUntil(10_200);
        read(order(What.END, 0)); // the core is fenced, and waits for the work
        told.clear();
        machine.released();
        machine.wanted();
        assertThat(told).contains("ended");
        assertThat(machine.idle()).isTrue();
    }

    @Test
    void soIsOneThatWasReadBeforeTheWorkOverran() {
        lead();
        machine.conceded(Duration.ofMillis(100));
        read(order(What.END, 0));
        actUntil(10_200);
        written.clear();
        machine.released();
        machine.wanted();
        actUntil(11_500);
        assertThat(told).contains("ended");
        assertThat(written).as("no claim in an election that has ended").isEmpty();
    }

    @Test
    void whoStandsAsideWhenTheWorkEndsIsToldToo() {
        lead();
        machine.conceded(Duration.ofMillis(100));
        actUntil(10_200);
        read(order(What.END, 0));
        told.clear();
        machine.released();
        assertThat(told).containsExactly("ended");
    }

    @Test
    void whoMissedTheEndIsToldOfItAfterTheElectionIsOpenAgain() {
        lead();
        read(order(What.END, 0));
        machine.conceded(Duration.ofMillis(100));
        read(order(What.DELETE, 1));
        machine.released();
        told.clear();
        machine.wanted();
        assertThat(told).as("it stood in the election before").containsExactly("ended");
        assertThat(machine.idle()).isTrue();
    }

    /** Its mandate was lost, and nobody has told it yet that the work is to end. */
    @Test
    void nothingIsClaimedInAnElectionThatEndedWhileTheWorkOverran() {
        lead();
        machine.lose(Cause.EXPIRED);
        read(order(What.END, 0));
        actUntil(12_500);
        assertThat(written).isEmpty();
    }

    private Entry remembering(What what, long token, long era) {
        var fields = new Fields.Builder();
        foreign(what, token).fields().values().forEach(fields::and);
        return new Entry(what, ELECTION, fields.and("era", era).build());
    }

    /** The topic was deleted and created again, and they remember what is gone. */
    @Test
    void whoRemembersDeletionsThatNoRecordTellsOfEndsNobody() {
        read(remembering(What.CLAIM, 0, 2));
        read(remembering(What.RELEASE, 1, 2));
        assertThat(told).isEmpty();
        machine.act();
        assertThat(readNext().fields().number("era")).as("passed on").isEqualTo(2);
        read(order(What.END, 0));
        assertThat(told).noneMatch(line -> line.startsWith("asked"));
        read(order(What.END, 2));
        assertThat(told).last().asString().startsWith("asked").endsWith("ENDED");
    }

    @Test
    void butADeletionThatWasReadDoes() {
        read(order(What.DELETE, 1));
        assertThat(told).containsExactly("ended");
        told.clear();
        read(remembering(What.CLAIM, 0, 2));
        machine.wanted();
        assertThat(told).containsExactly("ended");
    }

    @Test
    void recordsSayInWhichEraTheirWriterStands() {
        read(order(What.DELETE, 1));
        var later = new SeatMachine(new Standing(ELECTION, "me", "me-2", CONFIG), this, this, this, this, this);
        later.caughtUp(rules.known());
        later.wanted();
        later.act();
        assertThat(written.getLast().fields().number("era")).isEqualTo(1);
        later.released();
        assertThat(written.getLast().what()).isEqualTo(What.RELEASE);
        assertThat(written.getLast().fields().number("era")).isEqualTo(1);
    }

    // ---------------------------------------------------------------- the leader that it follows

    @Test
    void theLeaderThatTookOverFromWorkThatOverranIsToldWhenTheSeatIsWantedAgain() {
        lead();
        machine.conceded(Duration.ofMillis(100));
        actUntil(10_200);
        read(foreign(What.CLAIM, 0)); // the core is fenced, and follows nobody
        followed.clear();
        machine.released();
        machine.wanted();
        assertThat(followed).contains(Optional.of("other"));
    }

    // ---------------------------------------------------------------- claimant

    @Override
    public void granted(long token, Proof proof) {
        told.add("granted " + token + " since " + proof.since().nanos() / 1_000_000);
    }

    @Override
    public void proven(long token, Proof proof) {
        told.add("proven " + token + " since " + proof.since().nanos() / 1_000_000);
    }

    @Override
    public void asked(long token, Cause cause, Duration within) {
        told.add("asked " + token + ' ' + cause);
    }

    @Override
    public void lost(long token, Cause cause) {
        told.add("lost " + token + ' ' + cause);
    }

    @Override
    public void following(Optional<String> leader) {
        followed.add(leader);
    }

    @Override
    public void ended() {
        told.add("ended");
    }

    @Override
    public void failed(ElectionException error) {
        told.add("failed");
    }

    @Override
    public void left() {
        told.add("left");
    }

    @Override
    public void attempted(Metrics.Attempt attempt, Duration latency) {}

    // ---------------------------------------------------------------- clock, group, book, turns

    @Override
    public long nanos() {
        return millis * 1_000_000;
    }

    @Override
    public long wallMillis() {
        return millis;
    }

    @Override
    public boolean owns() {
        return owns;
    }

    @Override
    public boolean joined() {
        return true;
    }

    @Override
    public long highestToken() {
        return 0;
    }

    @Override
    public Commit commit() {
        commits++;
        millis += commitTakesMillis;
        return answer;
    }

    @Override
    public void askToRebalance() {}

    @Override
    public void leave() {
        owns = false;
    }

    @Override
    public ElectionState known(String election) {
        return rules.known();
    }

    @Override
    public long nextOffset() {
        return offset;
    }

    @Override
    public boolean isSameLog(Duration patience) {
        return sameLog;
    }

    @Override
    public void write(Entry entry, Consumer<@Nullable Exception> done) {
        written.add(entry);
    }

    @Override
    public Optional<ElectionException> refusal(Throwable error) {
        return Optional.empty();
    }

    private final Deque<Runnable> mail = new ArrayDeque<>();

    @Override
    public void post(Runnable message) {
        mail.add(message);
    }

    @Override
    public void await(Duration longest) {
        if (mail.isEmpty()) {
            millis += longest.toMillis();
        } else {
            mail.removeFirst().run();
        }
    }

    @Override
    public boolean abandoned() {
        return false;
    }
}
