package dev.bellwether.internal.joint;

import dev.bellwether.internal.loop.GuardedLoop;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One of the two seats of a {@link JointSeat}, and what is known of it. Confined to the loop of the joint seat; the
 * seat itself is on the loop of its own elections, if these have one.
 */
final class SeatSide {
    private final Seat seat;
    private final Loop loop;
    private final Loop joint;
    private final boolean isElsewhere;

    /** Under which we have it; 0 if we do not. */
    long token;

    @Nullable
    Proof proof;
    /** When we last gave it back: what was granted by then, and is told later, is not ours. */
    private @Nullable Long gaveBackNanos;
    /** How many of these are still behind reports that were made before. */
    private int givingBack;

    private boolean claimed;
    /** The last thing that was heard of its infrastructure is that it does not answer. */
    boolean silent;

    boolean leavesAgain;
    boolean left;
    boolean leftUnconfirmed;

    /**
     * Makes one.
     *
     * @param home the loop of its elections; null if it is on that of the joint seat
     * @param broken is told what a turn on the other loop threw
     */
    SeatSide(
            Arbiter arbiter,
            @Nullable Loop home,
            Standing standing,
            Claimant claimant,
            Loop joint,
            Consumer<Throwable> broken) {
        this.joint = joint;
        isElsewhere = home != null;
        loop = home == null ? joint : new GuardedLoop(home, broken);
        seat = arbiter.seat(standing, claimant, loop);
    }

    boolean held() {
        return token != 0;
    }

    void claim(long least) {
        claimed = true;
        post(() -> {
            if (least == 0) {
                seat.claim();
            } else {
                seat.claim(least);
            }
        });
    }

    void granted(long token, Proof proof) {
        this.token = token;
        this.proof = proof;
    }

    /** Returns whether this is news of the mandate of this seat; takes note of it if it is. */
    boolean proven(long token, Proof later) {
        var known = proof;
        if (!held() || this.token != token || known == null || later.since().nanosSince(known.since()) <= 0) {
            return false;
        }
        proof = later;
        return true;
    }

    boolean isFromBeforeWeGaveItBack(Proof proof) {
        return givingBack > 0 || (gaveBackNanos != null && proof.since().nanos() - gaveBackNanos < 0);
    }

    void concede(Duration within) {
        if (held()) {
            post(() -> seat.concede(within));
        }
    }

    /** Gives it back, or its claim up; does nothing if we want nothing of it. */
    void giveBack(long nowNanos) {
        lost();
        if (claimed) {
            claimed = false;
            release(nowNanos);
        }
    }

    void proclaim(Map<String, String> metadata) {
        post(() -> seat.proclaim(metadata));
    }

    /** Gives back what was granted, and with it whatever is granted until that is carried out. */
    void release(long nowNanos) {
        gaveBackNanos = nowNanos;
        givingBack++;
        post(() -> {
            var releasedNanos = loop.clock().nanos(); // perhaps much later, if that loop is busy
            seat.release();
            joint.execute(() -> {
                gaveBackNanos = releasedNanos;
                givingBack--;
            });
        });
    }

    void lost() {
        token = 0;
        proof = null;
    }

    void leave() {
        lost();
        post(seat::leave);
    }

    private void post(Runnable wish) {
        if (isElsewhere) {
            loop.execute(wish);
        } else {
            wish.run();
        }
    }
}
