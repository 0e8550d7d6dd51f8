package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.Cause;
import dev.bellwether.Metrics.Attempt;
import dev.bellwether.kafka.Group.Commit;
import dev.bellwether.spi.AccessPatience;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.journal.SeatHold;
import dev.bellwether.spi.journal.SeatHold.Phase;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * From standing by to holding a seat and letting go of it: the machine that joins what the group says with what the
 * journal says.
 *
 * <p>Confined to the thread of its {@link GroupSeat}.
 */
final class SeatMachine implements Group.Owner, SeatHold.Effects {
    /*
     * The machine of the seat is SeatHold's. A claim is written by the owner of the partition, when the coordinator has
     * accepted a commit.
     *
     * A mandate is proven again and again: first by an offset commit that the coordinator accepts from this member in
     * this generation, then by a beat in the journal that is read back with no foreign claim before it. Both count from
     * before the commit was sent. While the group rebalances, and we have joined, the client cannot commit: then the
     * beat alone proves it, since a rebalance can be held up for a whole session by a standby that has died, and that
     * should not cost the leader its mandate. Why that is safe: docs/kafka.md.
     */
    private final Standing standing;
    private final Claimant claimant;
    private final Clock clock;
    private final JournalClient journal;
    private final SeatThread thread;
    private final Group group;
    private final StandbyTracker standbys;
    private final Duration lease;
    private final AccessPatience writing;

    private final SeatHold hold;
    private boolean wanted;
    private long least; // the token to be granted with, if that is above all before
    private boolean ready;
    private boolean endedTold;
    private long era;
    private ElectionState known;
    private long asideUntilNanos;

    private int claims;
    private OwnClaim claim;
    private @Nullable Moment unsureSince; // since when we own the partition and do not know whether it is the same log
    private CompletableFuture<Boolean> lastRelease = CompletableFuture.completedFuture(true);
    private long proveAtNanos;

    SeatMachine(
            Standing standing, Claimant claimant, Clock clock, JournalClient journal, Group group, SeatThread thread) {
        this.standing = standing;
        this.claimant = claimant;
        this.clock = clock;
        this.journal = journal;
        this.thread = thread;
        this.group = group;
        standbys = new StandbyTracker(standing, claimant);
        lease = standing.config().lease();
        writing = new AccessPatience(standing.config().accessPatience());
        known = journal.known(standing.election());
        claim = new OwnClaim(standing, claims, 0, 0); // nobody's: it is never written
        hold = new SeatHold(standing.config(), clock.now(), this);
        asideUntilNanos = now();
    }

    /** Returns whether the last release was written: true if there was nothing to release. */
    CompletableFuture<Boolean> lastRelease() {
        return lastRelease;
    }

    /** Returns whether nothing keeps us in the group. */
    boolean idle() {
        return !wanted && hold.phase() == Phase.STANDING;
    }

    /** Returns for how long yet we leave the seat to others, since we could not use the journal. */
    long asideNanos() {
        return asideUntilNanos - now();
    }

    boolean ready() {
        return ready;
    }

    /** Returns whether we were granted the seat, and the work may not have ended. */
    boolean hasLed() {
        return hold.hasLed();
    }

    /** The journal has been read up to what it held when we began to stand. */
    void caughtUp(ElectionState now) {
        if (!ready) {
            ready = true;
            known = now;
            era = now.era();
            applyState();
            follow();
        }
    }

    void wanted() {
        wanted(0);
    }

    /** The seat is wanted, under this token if that is above all before. */
    void wanted(long least) {
        wanted = true;
        this.least = least;
        hold.waitUntil(now());
        tellAgain();
    }

    /** Nothing will make this work. */
    void resigned(Cause cause) {
        wanted = false;
        lose(cause);
    }

    /** Returns how long to poll at most. */
    Duration untilNextTurn() {
        var next = switch (hold.phase()) {
            case STANDING -> group.owns() ? hold.waitUntilNanos() : nudgeAtNanos();
            case CLAIMING -> hold.unreadAtNanos();
            case BARRED -> hold.barredUntilNanos(now());
            case HOLDING -> proveAtNanos;
            case ENDING -> hold.endAtNanos();
        };
        var longest = Settings.heartbeatMillis(lease) * 1_000_000;
        return Duration.ofNanos(Math.max(0, Math.min(longest, next - now())));
    }

    /** Does what is due. */
    void act() {
        var now = now();
        if (!group.owns()) {
            unsureSince = null;
        }
        switch (hold.phase()) {
            case STANDING -> {
                if (wanted && !isEnded()) {
                    if (group.owns()) {
                        if (now - hold.waitUntilNanos() >= 0) {
                            writeClaim();
                        }
                    } else if (now - nudgeAtNanos() >= 0) {
                        nudge();
                    }
                }
            }
            case CLAIMING -> {
                if (now - hold.unreadAtNanos() >= 0) {
                    stepAside(hold.sent());
                }
            }
            case BARRED -> {
                var unread = claim.oldestUnread().filter(moment -> isHalfALeaseAgo(moment, now));
                if (unread.isPresent()) {
                    stepAside(unread.get());
                } else if (now - hold.barredUntilNanos(now) >= 0) {
                    prove();
                    hold.waitUntil(now() + standing.config().retryInterval().toNanos());
                }
            }
            case HOLDING -> {
                if (now - proveAtNanos >= 0) {
                    prove();
                }
            }
            case ENDING -> hold.endOverrun(now);
        }
    }

    // ---------------------------------------------------------------- claiming and proving

    private void writeClaim() {
        var sent = clock.now();
        var commit = group.commit();
        if (commit != Commit.ACCEPTED) {
            var retry = standing.config().retryInterval().toNanos();
            hold.waitUntil(now() + (commit == Commit.REBALANCING ? Math.min(5_000_000, retry) : retry));
            return;
        }
        if (!journal.isSameLog(standing.config().renewInterval().dividedBy(2)) || isOld(sent)) {
            unsure(sent);
            return;
        }
        unsureSince = null;
        var needed = Math.max(group.highestToken(), known.highest());
        var rises = known.base() + journal.nextOffset() + 1 > needed;
        var written = new OwnClaim(standing, ++claims, rises ? known.base() : needed, least > needed ? least : 0);
        claim = written;
        claim.inEra(era);
        hold.claiming(sent);
        journal.write(written.claim(), error -> {
            if (error != null) {
                thread.post(() -> {
                    if (hold.phase() == Phase.CLAIMING && claim == written) {
                        unwritten(error);
                    }
                });
            }
        });
    }

    /** We stood still: another may be the owner by now, and lead; a claim of ours would depose it. */
    private boolean isOld(Moment commitSent) {
        return now() - commitSent.nanos() >= standing.config().renewInterval().toNanos();
    }

    /** Nobody has told us in time whether it is still the log that we read, and without that nothing is claimed. */
    private void unsure(Moment asked) {
        var since = unsureSince == null ? asked : unsureSince;
        if (isHalfALeaseAgo(since, now())) {
            unsureSince = null;
            stepAside(since);
        } else {
            unsureSince = since;
            hold.waitUntil(now() + standing.config().retryInterval().toNanos());
        }
    }

    private boolean isHalfALeaseAgo(Moment moment, long now) {
        return now - moment.nanos() >= lease.toNanos() / 2;
    }

    private void unwritten(Exception error) {
        var fatal = journal.refusal(error);
        if (fatal.isPresent() && writing.ends(fatal.get(), now())) {
            resigned(Cause.FAILED);
            claimant.failed(fatal.get());
        } else {
            stepAside(hold.sent());
        }
    }

    private void prove() {
        var sent = clock.now();
        var commit = group.commit();
        if (commit != Commit.ACCEPTED && commit != Commit.REBALANCING) {
            claimant.attempted(Attempt.MISSED, since(sent));
            proveAtNanos = sent.nanos() + standing.config().retryInterval().toNanos();
            return;
        }
        var missed = claim.oldestUnread();
        if (hold.phase() == Phase.HOLDING) {
            missed.ifPresent(moment -> claimant.attempted(Attempt.MISSED, since(moment)));
        }
        var patience = missed.isPresent()
                ? standing.config().retryInterval()
                : standing.config().renewInterval().dividedBy(2);
        proveAtNanos = sent.nanos() + patience.toNanos(); // unless the beat is read before that
        journal.write(claim.beat(sent));
    }

    private void claimRead(ElectionState now) {
        var seat = now.seat();
        var author = now.author();
        if (seat == null || author == null || !isTakenByUs(now)) {
            hold.claimRead(0, false, now()); // void, since its token would not have risen: we know better now
        } else {
            claim.stands(seat.token(), author.since());
            hold.claimRead(seat.token(), true, now());
        }
    }

    // ---------------------------------------------------------------- what the hold does

    @Override
    public long barredNanosAt(long nanos) {
        return known.state().barredNanosAt(nanos, standing.instance());
    }

    @Override
    public void granted(long token, Proof proof) {
        proveAtNanos = proof.since().nanos() + standing.config().renewInterval().toNanos();
        standbys.lead();
        claimant.attempted(Attempt.WON, since(proof.since()));
        claimant.granted(token, proof);
    }

    @Override
    public void proven(long token, Proof proof) {
        if (claim.oldestUnread().isEmpty()) {
            proveAtNanos =
                    proof.since().nanos() + standing.config().renewInterval().toNanos();
        }
        claimant.attempted(Attempt.RENEWED, since(proof.since()));
        claimant.proven(token, proof);
    }

    @Override
    public void lost(long token, Cause cause) {
        claimant.attempted(Attempt.LOST, since(hold.provenAt()));
        claimant.lost(token, cause);
    }

    @Override
    public void concede(long token, Duration within) {
        journal.write(claim.concession(within));
    }

    @Override
    public void release(long token, boolean led) {
        var confirmed = new CompletableFuture<Boolean>();
        lastRelease = confirmed;
        journal.write(claim.release(), error -> confirmed.complete(error == null));
    }

    @Override
    public void dropped() {
        claim = new OwnClaim(standing, 0, 0, 0);
    }

    // ---------------------------------------------------------------- letting go

    void conceded(Duration within) {
        wanted = false;
        hold.concede(within, now());
    }

    void released() {
        wanted = false;
        giveUp();
        tellAgain();
    }

    private void giveUp() {
        releaseUnread();
        hold.drop(now());
    }

    /** A claim that was not read yet is released behind it: we may be gone when it is. */
    private void releaseUnread() {
        if (hold.phase() == Phase.CLAIMING) {
            release(0, false);
        }
    }

    /**
     * We own the partition and cannot write to it, not read it, or not ask which one it is: perhaps another can, and
     * the group keeps us as its owner for as long as we are a member.
     */
    private void stepAside(Moment tryingSince) {
        claimant.attempted(Attempt.UNANSWERED, since(tryingSince));
        giveUp();
        group.leave();
        asideUntilNanos = now() + lease.toNanos();
    }

    /** The seat is no longer ours. */
    void lose(Cause cause) {
        releaseUnread();
        hold.lose(cause, now());
    }

    // ---------------------------------------------------------------- what the journal says

    void noticed(@Nullable Entry entry, ElectionState now) {
        if (entry != null && entry.isOfSeat() && !isEnded()) {
            // its writer remembers deletions from before the topic was deleted and created again, when we did not stand
            era = Math.max(era, now.era());
            claim.inEra(era);
        }
        known = now;
        if (!ready) {
            return;
        }
        if (entry != null && entry.fields().text("instance").equals(standing.instance())) {
            ownRead(entry, now);
        }
        if (hold.token() > 0 && !isTakenByUs(now)) {
            lose(now.seat() == null ? Cause.EXPIRED : Cause.REPLACED);
        }
        if (hold.phase() == Phase.HOLDING && now.standDownToken() == hold.token()) {
            claimant.asked(
                    hold.token(), Cause.REVOKED_BY_OPERATOR, standing.config().standDownBudget());
        }
        applyState();
        follow();
    }

    private void ownRead(Entry entry, ElectionState now) {
        var nonce = entry.fields().text("nonce");
        writing.answered();
        if (entry.what() == Entry.What.CLAIM && nonce.equals(claim.nonce())) {
            claimRead(now);
        } else if (entry.what() == Entry.What.CLAIM
                && now.seat() != null
                && now.state().isTakenUnder(nonce)) {
            // we had given up on it, and it came through anyway
            journal.write(OwnClaim.release(standing, entry.fields(), now.seat().token()));
        } else if (entry.what() == Entry.What.BEAT && nonce.equals(claim.nonce()) && isTakenByUs(now)) {
            claim.read(entry.fields().number("beat")).ifPresent(sent -> hold.beatRead(sent, now()));
        }
    }

    private boolean isTakenByUs(ElectionState now) {
        return now.state().isTakenUnder(claim.nonce());
    }

    /**
     * The core hears of the end of the election, and of other leaders, only while it stands by. It does so when it
     * wants the seat, or has given it back; what was told before that may have come while it led, or its work ran on.
     */
    private void tellAgain() {
        if (ready) {
            endedTold = false;
            applyState();
            standbys.forget();
            follow();
        }
    }

    private boolean isEnded() {
        return known.ended() || known.era() > era;
    }

    private void applyState() {
        if (endedTold || !isEnded()) {
            return;
        }
        endedTold = true;
        if (hold.phase() == Phase.HOLDING) {
            claimant.asked(hold.token(), Cause.ENDED, standing.config().standDownBudget());
        } else if (hold.phase() != Phase.ENDING) {
            giveUp();
            wanted = false;
            claimant.ended();
        } else {
            endedTold = false; // once the work has ended
        }
    }

    private void follow() {
        if (!hold.hasLed()) {
            standbys.follow(known, now());
        }
    }

    /** Returns when to ask for a rebalance, since the seat may have become free, and the group need not know yet. */
    private long nudgeAtNanos() {
        return group.joined() ? standbys.nudgeAtNanos(known, now()) : now() + lease.toNanos();
    }

    private void nudge() {
        if (standbys.nudges(known, now())) {
            group.askToRebalance();
        }
    }

    // ---------------------------------------------------------------- what the group says, within a poll

    @Override
    public void revoked() {
        if (hold.phase() == Phase.HOLDING) {
            claimant.asked(hold.token(), Cause.MOVED, standing.config().standDownBudget());
        }
        var until = now() + standing.config().standDownBudget().toNanos();
        while (hold.hasLed() && now() - until < 0 && !thread.abandoned()) {
            thread.await(Duration.ofNanos(until - now())); // the successor waits for us
        }
        if (hold.hasLed()) {
            hold.abandon();
            wanted = false;
        } else if (hold.phase() != Phase.STANDING) {
            giveUp();
        }
    }

    @Override
    public void lost() {
        var replaced = known.seat() != null && !isTakenByUs(known);
        lose(replaced ? Cause.REPLACED : Cause.EXPIRED);
    }

    @Override
    public void learnt(List<Candidate> candidates) {
        journal.write(new Entry(Entry.What.CANDIDATES, standing.election(), PresenceTracker.of(candidates)));
    }

    @Override
    public long highestToken() {
        return known.highest();
    }

    // ---------------------------------------------------------------- small things

    private Duration since(Moment moment) {
        return Duration.ofNanos(now() - moment.nanos());
    }

    private long now() {
        return clock.nanos();
    }
}
