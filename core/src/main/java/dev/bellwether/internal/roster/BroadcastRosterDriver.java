package dev.bellwether.internal.roster;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.Seat;
import java.time.Duration;
import java.util.Collection;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The protocol of the NELI paper, whole: everybody broadcasts to all partitions, and who has lately received a message
 * from a partition leads it.
 */
final class BroadcastRosterDriver implements RosterDriver {
    /*
     * The vector V of the paper is in the slots: `received` is V_i, and the candidacy of the partition holds while V_i
     * is younger than T.
     *
     * Overlapping: V_i is the time of receipt here. A partition that has moved on is led until V_i is older than T, by
     * which time the next owner has received a message: T is longer than the session and two broadcasts. Nothing holds
     * a rebalance up.
     *
     * Timed: V_i is the broker's timestamp, on our wall clock, so that what lay in a buffer while we did not run is as
     * old as it is. Clocks differ by e at most, so that we lead until T + e after the message was written, which is
     * before our session ends. A group may give a partition away sooner, when it waits no longer for a member whose
     * loop is held up: so the next owner waits for the grace period. And where a group does not fence reads (Kafka does
     * not), a message proves that we are connected, not that the partition is ours; so V_i is then no later than the
     * last commit that the group accepted.
     *
     * A commit counts from when it was asked for, however late its answer is. The next is asked for when that one has
     * been answered, or with the first broadcast after the patience. So if each is answered within the patience p, what
     * we count from is never older than 2p and a broadcast, which is to be less than what the drift and the stand-down
     * budget leave of T: see RosterConfig.commitPatience.
     */
    private static final int MOST_ASKED = 8;
    private static final Logger log = LoggerFactory.getLogger(Roster.class);

    private final RosterConfig config;
    private final Loop loop;
    private final Reports reports;
    private final GroupMembership membership;
    private final boolean timed;
    private final boolean commits;
    private final Duration guarantee;
    private final long broadcastNanos;
    private final long patienceNanos;
    private final Slot[] slots;

    private long broadcastAtNanos;
    private long round;
    private final TreeMap<Long, Moment> asked = new TreeMap<>();
    private long askedNanos;
    private @Nullable Moment accepted;
    private boolean over;
    private boolean warned;
    private Loop.@Nullable Timer timer;

    BroadcastRosterDriver(
            RosterStanding standing, Loop loop, Reports reports, GroupMembership membership, boolean readsAreFenced) {
        config = standing.config();
        this.loop = loop;
        this.reports = reports;
        this.membership = membership;
        timed = config.mode() == RosterMode.TIMED;
        commits = timed && !readsAreFenced;
        guarantee = config.candidacy().lease();
        broadcastNanos =
                config.broadcastInterval().multipliedBy(config.groups()).toNanos();
        patienceNanos = config.commitPatience().toNanos();
        slots = new Slot[config.partitions()];
        for (var i = 0; i < slots.length; i++) {
            slots[i] = new Slot(i);
        }
        broadcastAtNanos = loop.clock().nanos();
    }

    @Override
    public Seat seat(int partition) {
        return slots[partition];
    }

    /** Others are to take over while we lead on. */
    @Override
    public Duration leaving() {
        if (timed) {
            return Duration.ZERO;
        }
        membership.leave();
        return config.threshold().minus(config.lease());
    }

    @Override
    public void end() {
        over = true;
        if (timer != null) {
            timer.cancel();
        }
    }

    @Override
    public void act() {
        if (over) {
            return;
        }
        var now = loop.clock().nanos();
        if (now - broadcastAtNanos >= 0) {
            // not an interval after the last: members that began at once should not go on in step
            broadcastAtNanos =
                    now + (long) (broadcastNanos * (0.9 + 0.1 * loop.random().nextDouble()));
            for (var i = 0; i < slots.length; i++) {
                membership.write(i, new byte[0]);
            }
            if (commits && (asked.isEmpty() || now - askedNanos >= patienceNanos)) {
                askedNanos = now;
                asked.put(++round, loop.clock().now());
                membership.commit(round);
                asked.headMap(round - MOST_ASKED, true).clear(); // they were lost
            }
        }
        var next = broadcastAtNanos;
        for (var slot : slots) {
            slot.act(now);
            next = slot.dueNanos != null && slot.dueNanos - next < 0 ? slot.dueNanos : next;
        }
        if (timer != null) {
            timer.cancel();
        }
        timer = loop.at(next, () -> {
            timer = null;
            act();
        });
    }

    @Override
    public void committed(long number, Commit outcome) {
        var sent = asked.remove(number);
        if (sent != null && outcome == Commit.ACCEPTED) {
            asked.headMap(number).clear();
            accepted = sent;
            for (var slot : slots) {
                slot.induce();
            }
        }
    }

    @Override
    public void read(int partition, long offset, long writtenMillis, byte[] record) {
        slots[partition].read(
                offset, timed ? writtenAt(writtenMillis) : loop.clock().now());
    }

    /** Carries a timestamp of the broker's over to our clocks; one from the future is of now. */
    private Moment writtenAt(long writtenMillis) {
        var now = loop.clock().now();
        var age = now.wallMillis() - writtenMillis;
        if (age < -config.clockError().toMillis() && !warned) {
            warned = true;
            Quietly.run(() -> log.warn(
                    "the broker's clock is ahead of ours by {}, and clockError is {}: mode {} promises nothing where"
                            + " clocks differ by more; synchronise them",
                    Durations.show(Duration.ofMillis(-age)),
                    Durations.show(config.clockError()),
                    config.mode()));
        }
        return age <= 0 ? now : new Moment(now.nanos() - TimeUnit.MILLISECONDS.toNanos(age), now.wallMillis() - age);
    }

    @Override
    public void caughtUp() {}

    @Override
    public void beganAgain(long offset) {}

    @Override
    public void assigned(Collection<Integer> partitions) {
        partitions.forEach(partition -> slots[partition].assigned());
        act();
    }

    @Override
    public void revoking(Collection<Integer> partitions) {
        partitions.forEach(partition -> slots[partition].revoke());
        act();
    }

    @Override
    public void lost(Collection<Integer> partitions) {
        partitions.forEach(partition -> slots[partition].lost());
        act();
    }

    @Override
    public void failed(ElectionException error) {
        reports.failed(error);
    }

    @Override
    public void left() {
        reports.gone();
    }

    /** One partition. */
    private final class Slot implements Seat {
        private final int partition;
        private boolean owned;
        private boolean wanted;
        private boolean revoking;
        private boolean left;
        private boolean moved;
        private @Nullable Moment received;
        private long provenNanos; // what the mandate that runs counts from: the partition may come back meanwhile
        private long offset;
        private long token;
        private long graceNanos;
        private @Nullable Long dueNanos;

        private Slot(int partition) {
            this.partition = partition;
        }

        private void assigned() {
            owned = true;
            moved = false;
            received = null;
            graceNanos = loop.clock().nanos() + (timed ? config.gracePeriod().toNanos() : 0);
            dueNanos = timed ? (Long) graceNanos : null;
        }

        private void read(long at, Moment written) {
            if (owned) {
                received = received == null || written.nanosSince(received) > 0 ? written : received;
                offset = at;
                induce();
            }
        }

        /** Leads, or leads on, if what was received allows it. */
        private void induce() {
            var since = received;
            if (since == null || !owned || !wanted) {
                return;
            }
            if (loop.clock().nanos() - graceNanos < 0) {
                return;
            }
            if (commits) {
                var member = accepted;
                if (member == null) {
                    return;
                }
                since = member.nanosSince(since) < 0 ? member : since;
            }
            if (token > 0) {
                provenNanos = since.nanos();
                reports.proven(partition, token, new Proof(since, guarantee));
            } else if (loop.clock().nanos() - since.nanos() < config.threshold().toNanos() / 2) {
                token = offset + 1;
                provenNanos = since.nanos();
                reports.granted(partition, token, new Proof(since, guarantee));
            }
        }

        private void act(long now) {
            if (dueNanos == null || now - dueNanos < 0) {
                return;
            }
            dueNanos = null;
            if (moved) {
                moved = false;
                if (token > 0) {
                    reports.asked(partition, token, Cause.MOVED);
                }
            } else {
                induce();
            }
        }

        private void revoke() {
            owned = false;
            if (!timed) {
                moveOn();
                membership.revoked(partition);
            } else if (token > 0) {
                revoking = true;
                reports.asked(partition, token, Cause.MOVED);
            } else {
                membership.revoked(partition);
            }
        }

        private void lost() {
            owned = false;
            if (!timed) {
                moveOn();
            } else if (token > 0) {
                reports.lost(partition, token, Cause.EXPIRED);
            }
        }

        /** Leads on until V is older than T, and stops in order a little before that would end the mandate at once. */
        private void moveOn() {
            if (token > 0 && !moved) {
                moved = true;
                var threshold = config.threshold().toNanos();
                dueNanos = provenNanos + threshold - Math.min(20_000_000, threshold / 20);
            }
        }

        // ------------------------------------------------------------ asked by its candidacy

        @Override
        public void claim() {
            wanted = true;
            loop.execute(this::induce);
        }

        @Override
        public void concede(Duration within) {
            wanted = false;
        }

        @Override
        public void release() {
            wanted = false;
            token = 0;
            moved = false;
            if (revoking) {
                revoking = false;
                membership.revoked(partition);
            }
        }

        @Override
        public void leave() {
            release();
            if (!left) {
                left = true;
                loop.execute(() -> reports.left(partition));
            }
        }
    }
}
