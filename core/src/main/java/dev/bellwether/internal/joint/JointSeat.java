package dev.bellwether.internal.joint;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One seat made of two: it is ours while both are.
 *
 * <p>Confined to the loop, and deterministic: given the same reports of its two seats at the same times it does the
 * same.
 */
final class JointSeat implements Seat {
    private static final Logger log = LoggerFactory.getLogger(JointSeat.class);

    /*
     *                                     granted               granted
     *   IDLE --claim--> CLAIMING_OLD -----------> CLAIMING_NEXT -------> HOLDING --release--> IDLE
     *                      ^   ^                     |      |
     *                      |   +---- old is lost ----+      | next does not answer, or old is wanted back
     *                      |                                v
     *                      +------- next answers ------ BACKING_OFF
     *   any --leave--> LEAVING --both have left--> LEFT
     *
     * Both are given back and claimed again, too, if the token of the next seat is not that of the old one.
     *
     * While HOLDING, one of the two may be lost. That is told as the loss of both; the other one is kept, conceded, and
     * given back with `release`, when the work has ended.
     *
     * While CLAIMING_NEXT nobody leads by us, and we keep the old seat from those who elect by it alone. That is right
     * while another has the next seat, and will do when ours. It is not while the infrastructure of the next seat does
     * not answer: then we give the old seat back after a lease, and claim it again when that has answered a reading.
     * Nor is it while that answers readings, and grants the vacant seat to nobody: then we give the old seat back, too.
     * Another reading would tell nothing, so we leave the old seat to others for a lease, and longer each time.
     *
     * Reports come later than what they tell of. A grant from before we gave a seat back shows by its proof; all other
     * reports name the token.
     */
    enum Phase {
        /** Not asked to stand. */
        IDLE,
        /** The old seat is not ours yet. */
        CLAIMING_OLD,
        /** The old seat is ours, the next one not yet. */
        CLAIMING_NEXT,
        /** Both were granted, and that was told. */
        HOLDING,
        /** Neither is wanted for a while. */
        BACKING_OFF,
        /** Leaving both, forever. */
        LEAVING,
        /** Nothing of ours is left. */
        LEFT
    }

    /** So many leases a vacant next seat is waited for: a record may have to be watched first. */
    private static final int VACANT_LEASES = 2;
    /** So many leases the old seat is left to others at most, once the next infrastructure answers readings. */
    private static final int MOST_LEASES_OFF = 3;

    private final Standing standing;
    private final JointArbiter arbiter;
    private final Claimant claimant;
    private final Loop loop;
    private final JointRules rules;
    private final SeatSide old;
    private final SeatSide next;

    private Phase phase = Phase.IDLE;
    /** Of the mandate that was told; 0 for none. */
    private long token;
    /** When the infrastructure of the next seat was last heard while we claim that; at first, when we began. */
    private long nextHeardNanos;

    /** The highest token of the next seat that was not in order with that of the old one; 0 if there was none. */
    private long above;
    /** How often that was so since we led. */
    private int raises;

    private boolean nextHeard;
    /** When we began to claim the next seat, or last heard of somebody who had it: since then it is vacant. */
    private long nextVacantNanos;

    private boolean nextTaken; // by another, as we were last told
    private boolean nextRead; // while we claim it
    /** How often in a row it was not granted to us, though its infrastructure answered readings. */
    private int inVain;

    private int readings;
    private Loop.@Nullable Timer timer;

    JointSeat(Standing standing, JointArbiter arbiter, Claimant claimant, Loop loop, JointRules rules) {
        this.standing = standing;
        this.arbiter = arbiter;
        this.claimant = claimant;
        this.loop = loop;
        this.rules = rules;
        old = side(arbiter.old(), self -> self.old);
        next = side(arbiter.next(), self -> self.next);
    }

    private SeatSide side(JointArbiter.Side side, Function<JointSeat, SeatSide> which) {
        return new SeatSide(side.arbiter(), side.loop(), standing, new Reports(which), loop, thrown -> {
            var error = new ElectionException(
                    "a turn of " + standing.candidate() + " in \"" + standing.election() + "\" on "
                            + side.arbiter().describe() + " failed: " + thrown,
                    thrown);
            loop.execute(() -> broken(which.apply(this), error));
        });
    }

    /** A turn on its own loop threw. If we are leaving, it may have been interrupted in that. */
    private void broken(SeatSide side, ElectionException error) {
        if (phase != Phase.LEAVING) {
            claimant.failed(error);
        } else if (!side.left && side.leavesAgain) {
            left(side, true); // whatever is left runs out by itself
        } else if (!side.left) {
            side.leavesAgain = true;
            side.leave();
        }
    }

    // ---------------------------------------------------------------- asked by the machine

    @Override
    public void claim() {
        if (phase == Phase.IDLE) {
            if (next.silent) {
                readNext(); // else we would keep the old seat from those who need no other
            } else {
                claimOld();
            }
        }
    }

    @Override
    public void concede(Duration within) {
        if (!rules.keepsUntilTheWorkHasEnded()) {
            giveBackBoth();
        }
        next.concede(within);
        old.concede(within);
    }

    @Override
    public void release() {
        if (phase != Phase.LEAVING && phase != Phase.LEFT) {
            giveBackBoth();
            become(Phase.IDLE);
        }
    }

    @Override
    public void proclaim(Map<String, String> metadata) {
        old.proclaim(metadata);
        next.proclaim(metadata);
    }

    @Override
    public void leave() {
        if (phase == Phase.LEFT) {
            tellLeft();
            return;
        }
        become(Phase.LEAVING);
        next.leave();
        old.leave();
    }

    // ---------------------------------------------------------------- claiming

    private void claimOld() {
        become(Phase.CLAIMING_OLD);
        old.claim(above > 0 && arbiter.old().arbiter().setsTokens() ? above + 1 : 0);
    }

    private void claimNext() {
        become(Phase.CLAIMING_NEXT);
        nextHeard = false;
        nextRead = false;
        nextHeardNanos = now();
        nextVacantNanos = nextHeardNanos;
        next.claim(rules.least(old.token));
        awaitNextUntil(nextHeardNanos + leaseNanos());
    }

    /** Gives the old seat back if the next one's infrastructure has not been heard for a lease, or grants nothing. */
    private void awaitNextUntil(long nanos) {
        setTimer(nanos, () -> {
            if (phase == Phase.CLAIMING_NEXT) {
                var silent = (next.silent || !nextHeard) && now() - nextHeardNanos - leaseNanos() >= 0;
                var vacant = !nextTaken && now() - nextVacantNanos - VACANT_LEASES * leaseNanos() >= 0;
                if (silent || vacant) {
                    inVain = nextRead || vacant ? inVain + 1 : 0;
                    Quietly.run(() -> log.warn(
                            "{} gives \"{}\" on {} back, since {} {}: a joint candidacy leads by both",
                            standing.candidate(),
                            standing.election(),
                            arbiter.old().arbiter().describe(),
                            arbiter.next().arbiter().describe(),
                            inVain > 0 ? "answers, and does not grant the seat" : "does not answer"));
                    giveBackBoth();
                    next.silent = true;
                    readNext();
                } else {
                    awaitNextUntil(now() + standing.config().retryInterval().toNanos());
                }
            }
        });
    }

    /** Claims the old seat when the infrastructure of the next one has answered, or later if that told nothing. */
    private void readNext() {
        become(Phase.BACKING_OFF);
        var reading = ++readings;
        setTimer(now() + leaseNanos(), () -> {
            if (phase == Phase.BACKING_OFF) {
                readNext();
            }
        });
        arbiter.readNext(standing.election(), loop).whenComplete((view, error) -> {
            if (error == null) {
                loop.execute(() -> {
                    if (phase == Phase.BACKING_OFF && reading == readings) {
                        heard(next);
                        if (inVain == 0) {
                            claimOld();
                        } else {
                            claimOldAfter(Math.min(inVain, MOST_LEASES_OFF) * leaseNanos());
                        }
                    }
                });
            }
        });
    }

    private void claimOldAfter(long nanos) {
        setTimer(now() + nanos, () -> {
            if (phase == Phase.BACKING_OFF || phase == Phase.CLAIMING_OLD) {
                claimOld();
            }
        });
    }

    private void claimAgainLater(SeatSide side) {
        var retry = standing.config().retryInterval().toNanos();
        if (phase == Phase.CLAIMING_OLD && side == old) {
            claimOldAfter(retry);
        } else if (phase == Phase.CLAIMING_NEXT && side == next) {
            loop.at(now() + retry, () -> {
                if (phase == Phase.CLAIMING_NEXT && !next.held()) {
                    next.claim(rules.least(old.token));
                }
            });
        }
    }

    private void giveBackBoth() {
        var now = now();
        next.giveBack(now);
        old.giveBack(now);
        token = 0;
    }

    // ---------------------------------------------------------------- reported by one of the two

    private void granted(SeatSide side, long grant, Proof proof) {
        if (side.held() && side.token == grant) {
            proven(side, grant, proof); // told twice
        } else if (side.isFromBeforeWeGaveItBack(proof)) {
            side.release(now());
            claimAgainLater(side);
        } else if (phase == Phase.HOLDING) {
            side.release(now()); // by ourselves, though we have it: none of the two is ours for sure
            lose(side, Cause.REPLACED);
        } else if (phase == Phase.CLAIMING_OLD && side == old) {
            old.granted(grant, proof);
            heard(old);
            if (rules.mayLead(true, false)) {
                grantedBoth(proof);
            } else if (above >= grant && !isInOrder(above)) {
                claimAgain(); // to claim the next seat would raise its token further
            } else {
                claimNext();
            }
        } else if (phase == Phase.CLAIMING_NEXT && side == next && isOfAnEarlierClaim(grant)) {
            next.release(now());
            claimAgainLater(next);
        } else if (phase == Phase.CLAIMING_NEXT && side == next) {
            next.granted(grant, proof);
            heard(next);
            inVain = 0;
            grantedBoth(proof);
        } else {
            side.release(now());
        }
    }

    /** Its answer was lost, and it was found later: then its proof is younger than our last release. */
    private boolean isOfAnEarlierClaim(long ofNext) {
        return arbiter.next().arbiter().setsTokens() && rules.token(old.token, ofNext) < old.token;
    }

    private void grantedBoth(Proof proof) {
        var ofOld = old.proof;
        var ofNext = next.token;
        token = rules.token(old.token, ofNext);
        if (!arbiter.next().arbiter().setsTokens() || token < old.token) {
            claimant.failed(arbiter.cannotRaise(standing.election()));
            return;
        }
        if (!isInOrder(ofNext)) {
            above = Math.max(above, ofNext);
            claimAgain();
            return;
        }
        raises = 0;
        if (ofNext > old.token) {
            Quietly.run(() -> log.info(
                    "{} leads \"{}\" by token {} of {}, which is above {} of {}: a process that elects by {} alone"
                            + " would lead by a lower one from now on",
                    standing.candidate(),
                    standing.election(),
                    ofNext,
                    arbiter.next().arbiter().describe(),
                    old.token,
                    arbiter.old().arbiter().describe(),
                    arbiter.old().arbiter().describe()));
        }
        become(Phase.HOLDING);
        claimant.granted(token, ofOld == null ? proof : rules.proof(ofOld, proof));
    }

    private boolean isInOrder(long ofNext) {
        return rules.isInOrder(old.token, ofNext, arbiter.old().arbiter().setsTokens(), raises);
    }

    private void claimAgain() {
        raises++;
        giveBackBoth();
        claimOld();
    }

    private void proven(SeatSide side, long ofToken, Proof proof) {
        if (side.proven(ofToken, proof) && phase == Phase.HOLDING && old.proof != null && next.proof != null) {
            claimant.proven(token, rules.proof(old.proof, next.proof));
        }
    }

    private void asked(SeatSide side, long ofToken, Cause cause, Duration within) {
        if (!side.held() || side.token != ofToken) {
            return;
        }
        if (phase == Phase.HOLDING) {
            claimant.asked(token, cause, within);
        } else if (phase == Phase.CLAIMING_NEXT) {
            giveBackBoth();
            become(Phase.BACKING_OFF); // let another have it
            claimOldAfter(
                    cause == Cause.REVOKED_BY_OPERATOR
                            ? leaseNanos()
                            : standing.config().retryInterval().toNanos());
        }
    }

    private void lost(SeatSide side, long ofToken, Cause cause) {
        if (side.held() && side.token == ofToken) {
            lose(side, cause);
        }
    }

    private void lose(SeatSide side, Cause cause) {
        side.lost();
        if (phase == Phase.HOLDING) {
            claimant.lost(token, cause); // and both are given back when the work has ended
        } else if (phase == Phase.CLAIMING_NEXT && side == old) {
            giveBackBoth();
            claimOld();
        }
    }

    private void following(SeatSide side, Optional<String> leader) {
        if (side == next) {
            // not by our own id: if both are one place, we wait for ourselves
            var isTaken =
                    leader.filter(one -> !one.equals(standing.candidate())).isPresent();
            nextVacantNanos = nextTaken || isTaken ? now() : nextVacantNanos;
            nextTaken = isTaken;
            nextRead = true;
            if (nextTaken || phase != Phase.CLAIMING_NEXT) { // else it may be that readings are answered, and no claims
                heard(next);
            }
        }
        switch (phase) {
            case CLAIMING_NEXT -> {
                if (side == next) {
                    claimant.following(leader);
                }
            }
            case IDLE, CLAIMING_OLD, BACKING_OFF -> {
                if (side == old) {
                    claimant.following(leader);
                }
            }
            case HOLDING, LEAVING, LEFT -> {}
        }
    }

    private void answered(SeatSide side) {
        heard(side);
        if (!old.silent && !next.silent) {
            claimant.answered();
        }
    }

    private void heard(SeatSide side) {
        side.silent = false;
        if (side == next) {
            nextHeard = true;
            nextHeardNanos = now();
        }
    }

    private void unanswered(SeatSide side, Duration waited, @Nullable Throwable why) {
        side.silent = true;
        claimant.unanswered(waited, why);
    }

    private void attempted(SeatSide side, Metrics.Attempt attempt, Duration latency) {
        var counts = switch (attempt) {
            case WON -> side == next; // who has won the old seat only has won nothing yet
            case RENEWED -> phase != Phase.HOLDING || movesTheProof(side);
            case REFUSED, UNANSWERED, LOST, MISSED -> true;
        };
        if (counts) {
            claimant.attempted(attempt, latency);
        }
    }

    /** Whether a renewal of this seat makes ours last longer: that counts from the older of the two proofs. */
    private boolean movesTheProof(SeatSide side) {
        var renewed = side.proof;
        var other = (side == old ? next : old).proof;
        return renewed == null || other == null || renewed.since().nanosSince(other.since()) < 0;
    }

    private void left(SeatSide side, boolean unconfirmed) {
        side.left = true;
        side.leftUnconfirmed = unconfirmed;
        if (phase == Phase.LEAVING && old.left && next.left) {
            become(Phase.LEFT);
            tellLeft();
        }
    }

    private void tellLeft() {
        if (old.leftUnconfirmed || next.leftUnconfirmed) {
            claimant.leftUnconfirmed();
        } else {
            claimant.left();
        }
    }

    // ---------------------------------------------------------------- small things

    private long now() {
        return loop.clock().nanos();
    }

    private long leaseNanos() {
        return standing.config().lease().toNanos();
    }

    private void setTimer(long nanos, Runnable turn) {
        cancelTimer();
        timer = loop.at(nanos, turn);
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }

    /** The only place that assigns {@link #phase}. */
    private void become(Phase following) {
        cancelTimer();
        phase = following;
    }

    @Override
    public String toString() {
        return "joint seat of " + standing.candidate() + " in \"" + standing.election() + "\", " + phase;
    }

    /** Carries the reports of one of the two to the loop. */
    private final class Reports implements Claimant {
        private final Function<JointSeat, SeatSide> which;

        private Reports(Function<JointSeat, SeatSide> which) {
            this.which = which;
        }

        private SeatSide side() {
            return which.apply(JointSeat.this);
        }

        @Override
        public void granted(long token, Proof proof) {
            loop.execute(() -> JointSeat.this.granted(side(), token, proof));
        }

        @Override
        public void proven(long token, Proof proof) {
            loop.execute(() -> JointSeat.this.proven(side(), token, proof));
        }

        @Override
        public void asked(long token, Cause cause, Duration within) {
            loop.execute(() -> JointSeat.this.asked(side(), token, cause, within));
        }

        @Override
        public void lost(long token, Cause cause) {
            loop.execute(() -> JointSeat.this.lost(side(), token, cause));
        }

        @Override
        public void following(Optional<String> leader) {
            loop.execute(() -> JointSeat.this.following(side(), leader));
        }

        @Override
        public void ended() {
            loop.execute(claimant::ended);
        }

        @Override
        public void failed(ElectionException error) {
            claimant.failed(error);
        }

        @Override
        public void left() {
            loop.execute(() -> JointSeat.this.left(side(), false));
        }

        @Override
        public void leftUnconfirmed() {
            loop.execute(() -> JointSeat.this.left(side(), true));
        }

        @Override
        public void answered() {
            loop.execute(() -> JointSeat.this.answered(side()));
        }

        @Override
        public void unanswered(Duration waited, @Nullable Throwable why) {
            loop.execute(() -> JointSeat.this.unanswered(side(), waited, why));
        }

        @Override
        public void attempted(Metrics.Attempt attempt, Duration latency) {
            loop.execute(() -> JointSeat.this.attempted(side(), attempt, latency)); // in order with what it proves
        }
    }
}
