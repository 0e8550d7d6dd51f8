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
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * From standing by to holding a seat and letting go of it: the machine that joins what the group says with what the journal says.
 *
 * <p>Confined to the thread of its {@link GroupSeat}.
 */
final class Incumbency implements Group.Owner {
    /*
     *              owner of the partition, commit accepted          claim read back, nobody earlier may lead
     *   STANDING --------------------------------------> CLAIMING ------------------------------------------> HOLDING
     *      ^                                                | read back, but an earlier leader may not have stopped  |
     *      |                                                v                                                        |
     *      |                                             BARRED ---- he has released it, or his lease is over -------+
     *      |                                                                                                         |
     *      +---- release ---- ENDING <---- concede; partition lost; a claim after ours ----------------------------+
     *
     * In CLAIMING and BARRED a claim after ours, or the partition lost, leads back to STANDING at once.
     *
     * HOLDING is proven again and again: first by an offset commit that the coordinator accepts from this member in this generation,
     * then by a beat in the journal that is read back with no foreign claim before it. Both count from before the commit was sent.
     * While the group rebalances, and we have joined, the client cannot commit: then the beat alone proves it, since a rebalance
     * can be held up for a whole session by a standby that has died, and that should not cost the leader his mandate. Why that is
     * safe: docs/kafka.md.
     */
    private enum Phase {
        /** Without a claim. */
        STANDING,
        /** The claim was written, and not yet read. */
        CLAIMING,
        /** The claim stands; an earlier leader may not have stopped yet, or the claim is too old to be a proof. */
        BARRED,
        /** The claimant was granted the seat. */
        HOLDING,
        /** The mandate is over, the work may not be. */
        ENDING
    }

    private final Standing standing;
    private final Claimant claimant;
    private final Clock clock;
    private final Book book;
    private final Turns turns;
    private final Group group;
    private final Lookout lookout;
    private final Duration lease;
    private final AccessPatience writing;

    private Phase phase = Phase.STANDING;
    private boolean wanted;
    private boolean ready;
    private boolean endedTold;
    private long era;
    private Page page;
    private long waitUntilNanos;
    private long asideUntilNanos;

    private int claims;
    private OwnClaim claim;
    private CompletableFuture<Boolean> lastRelease = CompletableFuture.completedFuture(true);
    private long proveAtNanos;
    private long endAtNanos;

    Incumbency(Standing standing, Claimant claimant, Clock clock, Book book, Group group, Turns turns) {
        this.standing = standing;
        this.claimant = claimant;
        this.clock = clock;
        this.book = book;
        this.turns = turns;
        this.group = group;
        lookout = new Lookout(standing, claimant);
        lease = standing.config().lease();
        writing = new AccessPatience(standing.config().accessPatience());
        page = book.page(standing.election());
        claim = new OwnClaim(standing, claims, 0, clock.now()); // nobody's: it is never written
        waitUntilNanos = now();
        asideUntilNanos = now();
    }

    /** Returns whether the last release was written: true if there was nothing to release. */
    CompletableFuture<Boolean> lastRelease() {
        return lastRelease;
    }

    /** Returns whether nothing keeps us in the group. */
    boolean idle() {
        return !wanted && phase == Phase.STANDING;
    }

    /** Returns for how long yet we leave the seat to others, since we could not write to the journal. */
    long asideNanos() {
        return asideUntilNanos - now();
    }

    boolean ready() {
        return ready;
    }

    /** The journal has been read up to what it held when we began to stand. */
    void caughtUp(Page now) {
        if (!ready) {
            ready = true;
            page = now;
            era = now.era();
            heedState();
            follow();
        }
    }

    void wanted() {
        wanted = true;
        waitUntilNanos = now();
    }

    /** Nothing will make this work. */
    void resigned(Cause cause) {
        wanted = false;
        lose(cause);
    }

    /** Returns how long to poll at most. */
    Duration untilNextTurn() {
        var next = switch (phase) {
            case STANDING -> group.owns() ? waitUntilNanos : nudgeAtNanos();
            case CLAIMING -> claim.sent().nanos() + claimPatienceNanos();
            case BARRED -> Math.max(waitUntilNanos, now() + page.state().barredNanosAt(now(), standing.instance()));
            case HOLDING -> proveAtNanos;
            case ENDING -> endAtNanos;
        };
        var longest = Settings.heartbeatMillis(lease) * 1_000_000;
        return Duration.ofNanos(Math.max(0, Math.min(longest, next - now())));
    }

    /** Does what is due. */
    void act() {
        switch (phase) {
            case STANDING -> {
                if (wanted && !endedTold) {
                    if (group.owns()) {
                        if (now() - waitUntilNanos >= 0) {
                            writeClaim();
                        }
                    } else if (now() - nudgeAtNanos() >= 0) {
                        nudge();
                    }
                }
            }
            case CLAIMING -> {
                if (since(claim.sent()).toNanos() > claimPatienceNanos()) {
                    stepAside();
                }
            }
            case BARRED -> {
                if (now() - waitUntilNanos >= 0 && page.state().barredNanosAt(now(), standing.instance()) <= 0) {
                    prove();
                    waitUntilNanos = now() + standing.config().retryInterval().toNanos();
                }
            }
            case HOLDING -> {
                if (now() - proveAtNanos >= 0) {
                    prove();
                }
            }
            case ENDING -> {
                if (now() - endAtNanos >= 0) {
                    phase = Phase.STANDING; // the work overran: whoever comes next need not wait for it any more
                }
            }
        }
    }

    // ---------------------------------------------------------------- claiming and proving

    private void writeClaim() {
        var sent = clock.now();
        var commit = group.commit();
        if (commit != Commit.ACCEPTED) {
            var retry = standing.config().retryInterval().toNanos();
            waitUntilNanos = now() + (commit == Commit.REBALANCING ? Math.min(5_000_000, retry) : retry);
            return;
        }
        if (!book.isSameLog(standing.config().renewInterval().dividedBy(2))) {
            waitUntilNanos = now() + standing.config().retryInterval().toNanos();
            return;
        }
        var needed = Math.max(group.highestToken(), page.highest());
        var rises = page.base() + book.nextOffset() + 1 > needed;
        var written = new OwnClaim(standing, ++claims, rises ? page.base() : needed, sent);
        claim = written;
        phase = Phase.CLAIMING;
        book.write(written.claim(), error -> {
            if (error != null) {
                turns.post(() -> {
                    if (phase == Phase.CLAIMING && claim == written) {
                        unwritten(error);
                    }
                });
            }
        });
    }

    private void unwritten(Exception error) {
        var fatal = book.refusal(error);
        if (fatal.isPresent() && writing.ends(fatal.get(), now())) {
            resigned(Cause.FAILED);
            claimant.failed(fatal.get());
        } else {
            stepAside();
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
        if (phase == Phase.HOLDING) {
            missed.ifPresent(moment -> claimant.attempted(Attempt.MISSED, since(moment)));
        }
        var patience = missed.isPresent()
                ? standing.config().retryInterval()
                : standing.config().renewInterval().dividedBy(2);
        proveAtNanos = sent.nanos() + patience.toNanos(); // unless the beat is read before that
        book.write(claim.beat(sent));
    }

    private void claimRead(Page now) {
        if (phase != Phase.CLAIMING) {
            return;
        }
        var author = now.author();
        if (now.seat() == null || author == null || !isTakenByUs(now)) {
            book.write(claim.release()); // others may take it for valid, if they know of no higher token
            drop(Duration.ZERO); // void, since its token would not have risen: we know better now
            return;
        }
        claim.stands(now.seat().token(), author.since());
        phase = Phase.BARRED;
        waitUntilNanos = now();
        var fresh = since(claim.sent()).compareTo(standing.config().renewInterval()) < 0;
        if (fresh && now.state().barredNanosAt(now(), standing.instance()) <= 0) {
            hold(claim.sent());
        }
    }

    private void beatRead(Moment sent) {
        if (phase == Phase.BARRED) {
            if (page.state().barredNanosAt(now(), standing.instance()) <= 0) { // else somebody claimed before this beat
                hold(sent);
            }
        } else if (phase == Phase.HOLDING) {
            claim.proven(sent);
            if (claim.oldestUnread().isEmpty()) {
                proveAtNanos = sent.nanos() + standing.config().renewInterval().toNanos();
            }
            claimant.attempted(Attempt.RENEWED, since(sent));
            claimant.proven(claim.token(), new Proof(sent, lease));
        }
    }

    private void hold(Moment sent) {
        phase = Phase.HOLDING;
        claim.proven(sent);
        proveAtNanos = sent.nanos() + standing.config().renewInterval().toNanos();
        lookout.lead();
        claimant.attempted(Attempt.WON, since(sent));
        claimant.granted(claim.token(), new Proof(sent, lease));
    }

    // ---------------------------------------------------------------- letting go

    void conceded(Duration within) {
        wanted = false;
        if (phase != Phase.HOLDING && phase != Phase.ENDING) {
            return;
        }
        phase = Phase.ENDING;
        endAtNanos = claim.provenAt().nanos() + lease.toNanos();
        var sooner = now() + within.toNanos();
        if (!within.isZero() && sooner - endAtNanos < 0) {
            endAtNanos = sooner;
            book.write(claim.concession(within));
        }
    }

    void released() {
        wanted = false;
        drop(Duration.ZERO);
    }

    /** Gives up the present claim, if there is one, and says so. */
    private void drop(Duration pause) {
        if (claim.token() > 0 && phase != Phase.STANDING) {
            var confirmed = new CompletableFuture<Boolean>();
            lastRelease = confirmed;
            book.write(claim.release(), error -> confirmed.complete(error == null));
        }
        phase = Phase.STANDING;
        claim = new OwnClaim(standing, 0, 0, clock.now());
        waitUntilNanos = now() + pause.toNanos();
    }

    /** We own the partition and cannot write to it, or not read it: perhaps another can. */
    private void stepAside() {
        claimant.attempted(Attempt.UNANSWERED, since(claim.sent()));
        drop(Duration.ZERO);
        group.leave();
        asideUntilNanos = now() + lease.toNanos();
    }

    private long claimPatienceNanos() {
        return lease.toNanos() / 2;
    }

    /** The seat is no longer ours. The work may not know yet: only when it has ended is the claim released. */
    void lose(Cause cause) {
        switch (phase) {
            case HOLDING -> {
                phase = Phase.ENDING;
                endAtNanos = claim.provenAt().nanos() + lease.toNanos();
                claimant.attempted(Attempt.LOST, since(claim.provenAt()));
                claimant.lost(claim.token(), cause);
            }
            case CLAIMING, BARRED -> drop(standing.config().retryInterval());
            case STANDING, ENDING -> {}
        }
    }

    // ---------------------------------------------------------------- what the journal says

    void noticed(@Nullable Entry entry, Page now) {
        page = now;
        if (!ready) {
            return;
        }
        if (entry != null && entry.fields().text("instance").equals(standing.instance())) {
            ownRead(entry, now);
        }
        if (claim.token() > 0 && !isTakenByUs(now)) {
            lose(now.seat() == null ? Cause.EXPIRED : Cause.REPLACED);
        }
        if (phase == Phase.HOLDING && now.standDownToken() == claim.token()) {
            claimant.asked(
                    claim.token(), Cause.REVOKED_BY_OPERATOR, standing.config().standDownBudget());
        }
        heedState();
        follow();
    }

    private void ownRead(Entry entry, Page now) {
        var nonce = entry.fields().text("nonce");
        writing.answered();
        if (entry.what() == Entry.What.CLAIM && nonce.equals(claim.nonce())) {
            claimRead(now);
        } else if (entry.what() == Entry.What.CLAIM
                && now.seat() != null
                && now.state().isTakenUnder(nonce)) {
            // we had given up on it, and it came through all the same
            book.write(OwnClaim.release(standing, nonce, now.seat().token()));
        } else if (entry.what() == Entry.What.BEAT && nonce.equals(claim.nonce()) && isTakenByUs(now)) {
            claim.read(entry.fields().number("beat")).ifPresent(this::beatRead);
        }
    }

    private boolean isTakenByUs(Page now) {
        return now.state().isTakenUnder(claim.nonce());
    }

    private void heedState() {
        if (endedTold || !(page.ended() || page.era() > era)) {
            return;
        }
        endedTold = true;
        if (phase == Phase.HOLDING) {
            claimant.asked(claim.token(), Cause.ENDED, standing.config().standDownBudget());
        } else if (phase != Phase.ENDING) {
            drop(Duration.ZERO);
            wanted = false;
            claimant.ended();
        } else {
            endedTold = false; // once the work has ended
        }
    }

    private void follow() {
        if (phase != Phase.HOLDING && phase != Phase.ENDING) {
            lookout.follow(page, now());
        }
    }

    /** Returns when to ask for a rebalance, since the seat may have become free, and the group need not know yet. */
    private long nudgeAtNanos() {
        return group.joined() ? lookout.nudgeAtNanos(page, now()) : now() + lease.toNanos();
    }

    private void nudge() {
        if (lookout.nudges(page, now())) {
            group.askToRebalance();
        }
    }

    // ---------------------------------------------------------------- what the group says, within a poll

    @Override
    public void revoked() {
        if (phase == Phase.HOLDING) {
            claimant.asked(claim.token(), Cause.REPLACED, standing.config().standDownBudget());
        }
        var until = now() + standing.config().standDownBudget().toNanos();
        while ((phase == Phase.HOLDING || phase == Phase.ENDING) && now() - until < 0 && !turns.abandoned()) {
            turns.await(Duration.ofNanos(until - now())); // the successor waits for us
        }
        if (phase == Phase.HOLDING || phase == Phase.ENDING) {
            phase = Phase.STANDING;
            wanted = false;
        } else if (phase != Phase.STANDING) {
            drop(Duration.ZERO);
        }
    }

    @Override
    public void lost() {
        var replaced = page.seat() != null && !isTakenByUs(page);
        lose(replaced ? Cause.REPLACED : Cause.EXPIRED);
    }

    @Override
    public void learnt(List<Candidate> candidates) {
        book.write(new Entry(Entry.What.CANDIDATES, standing.election(), Roll.of(candidates)));
    }

    @Override
    public long highestToken() {
        return page.highest();
    }

    // ---------------------------------------------------------------- small things

    private Duration since(Moment moment) {
        return Duration.ofNanos(now() - moment.nanos());
    }

    private long now() {
        return clock.nanos();
    }
}
