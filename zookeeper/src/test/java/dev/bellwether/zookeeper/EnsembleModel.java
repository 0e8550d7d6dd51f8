package dev.bellwether.zookeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * What an ensemble knows of one session, in simulated time: its leader expires it in buckets of a tick, and pings its
 * learners each half tick; a learner hands the list of the sessions that it has heard of over with its reply; and an
 * observer may hang behind a learner, which does the same with it. Connections keep the order, and delay as they like.
 * The leader may be paused, and our server die.
 *
 * <p>Confined to one thread.
 */
final class EnsembleModel {
    private static final long MILLI = 1_000_000;

    private final SplittableRandom random;
    private final long tick;
    private final long timeout;
    private final long delay;
    private final List<Server> servers = new ArrayList<>();
    private final ModelTime time;
    private final boolean paused;
    private long expiresAt;
    private boolean expired;
    private boolean pingOverdue;
    private long runsAgainAt;

    /** Which server we are connected to, and what that is. */
    enum Ours {
        LEADER(0),
        FOLLOWER(1),
        OBSERVER_BEHIND_A_FOLLOWER(2);

        final int hops;

        Ours(int hops) {
            this.hops = hops;
        }
    }

    /** The leader is at 0, and each other one hop behind the one before it. */
    private final class Server {
        private final int position;
        private final ModelTime.Link up = time.new Link(random, delay);
        private final ModelTime.Link down = time.new Link(random, delay);
        private boolean heard;
        private boolean dead;

        private Server(int position) {
            this.position = position;
        }
    }

    EnsembleModel(SplittableRandom random, long tick, long timeout, Ours ours) {
        this.random = random;
        this.tick = tick;
        this.timeout = timeout;
        delay = random.nextBoolean() ? MILLI : 30 * MILLI;
        paused = random.nextInt(4) == 0;
        time = new ModelTime(random.nextLong(tick));
        for (var i = 0; i <= ours.hops; i++) {
            servers.add(new Server(i));
        }
        hear(); // the session is made
        for (var i = 1; i <= ours.hops; i++) {
            var learner = servers.get(i);
            schedule(now() + random.nextLong(tick / 2 + 1), () -> pingDue(learner));
        }
        if (paused) {
            schedule(now() + random.nextLong(3 * tick + timeout), this::pause);
        }
    }

    long now() {
        return time.now();
    }

    /** Returns when the session was expired; empty if it lives. */
    OptionalLong expired() {
        return expired ? OptionalLong.of(expiresAt) : OptionalLong.empty();
    }

    /** Does this when that time has come. */
    void schedule(long at, Runnable turn) {
        time.schedule(at, turn);
    }

    /** Lets time pass until then. */
    void run(long until) {
        time.run(until, () -> {});
    }

    /** Ends our server, or the one between it and the leader, with what it has not handed over; the leader goes on. */
    void killOne() {
        if (servers.size() > 1) {
            servers.get(1 + random.nextInt(servers.size() - 1)).dead = true;
        }
    }

    // ---------------------------------------------------------------- requests, each from the server that has it

    /** A read: our server answers by itself. */
    void touch(Runnable answered) {
        if (servers.size() == 1) {
            onLeader(() -> {
                hear();
                schedule(now() + 1 + random.nextLong(delay), answered);
            });
        } else {
            noted();
            schedule(now() + 1 + random.nextLong(delay), answered);
        }
    }

    /** To the leader and back; for a transaction, with what became of it. */
    void toLeader(Consumer<Boolean> answered) {
        noted();
        upwards(servers.size() - 1, answered);
    }

    private void noted() {
        var ours = servers.get(servers.size() - 1);
        if (ours.position == 0) {
            onLeader(this::hear);
        } else {
            ours.heard = true;
        }
    }

    private void upwards(int position, Consumer<Boolean> answered) {
        if (position > 0) {
            servers.get(position).up.send(() -> upwards(position - 1, answered));
        } else {
            onLeader(() -> downwards(0, answered, !expired));
        }
    }

    private void downwards(int position, Consumer<Boolean> answered, boolean lives) {
        if (position + 1 < servers.size()) {
            servers.get(position + 1).down.send(() -> downwards(position + 1, answered, lives));
        } else {
            schedule(now() + 1, () -> answered.accept(lives));
        }
    }

    // ---------------------------------------------------------------- the leader, and pings

    /** Does this when the leader runs. What has come meanwhile, it does in order. */
    private void onLeader(Runnable turn) {
        if (now() < runsAgainAt) {
            schedule(runsAgainAt, () -> onLeader(turn));
        } else {
            turn.run();
        }
    }

    private void pause() {
        if (!pingOverdue) { // else it would keep a ping back that it owes, and answer
            runsAgainAt = now() + random.nextLong(timeout);
        }
        schedule(Math.max(now(), runsAgainAt) + random.nextLong(3 * tick + timeout), this::pause);
    }

    /** The one above sends a ping to this learner, as soon as it can. */
    private void pingDue(Server learner) {
        if (learner.position == 1) {
            pingOverdue = true;
            var runs = Math.max(now(), runsAgainAt);
            schedule(
                    runs + random.nextLong(ProofTiming.SLACK_NANOS),
                    () -> onLeader(() -> {
                        pingOverdue = false;
                        ping(learner);
                    }));
        } else {
            ping(learner);
        }
    }

    private void ping(Server learner) {
        learner.down.send(() -> {
            if (learner.dead) {
                return;
            }
            var list = learner.heard;
            learner.heard = false;
            learner.up.send(() -> {
                if (list && !servers.get(learner.position - 1).dead) {
                    handedOver(learner.position - 1);
                }
            });
        });
        schedule(now() + tick / 2, () -> pingDue(learner));
    }

    private void handedOver(int to) {
        if (to > 0) {
            servers.get(to).heard = true;
        } else {
            onLeader(this::hear);
        }
    }

    private void hear() {
        if (expired) {
            return;
        }
        var rounded = ((now() + timeout) / tick + 1) * tick;
        if (rounded != expiresAt) {
            expiresAt = rounded;
            schedule(rounded, () -> onLeader(() -> expire(rounded)));
        }
    }

    private void expire(long at) {
        if (expiresAt == at) {
            expired = true;
        }
    }
}
