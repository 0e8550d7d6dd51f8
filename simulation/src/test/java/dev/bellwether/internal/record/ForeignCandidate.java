package dev.bellwether.internal.record;

import dev.bellwether.internal.record.SeatRecord.Kind;
import dev.bellwether.spi.ForeignRules;
import java.time.Duration;
import java.util.Random;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A candidate that elects as client-go does, and knows nothing of us: it looks at each retry, takes a record over that
 * it has seen unchanged for a lease, and leads until it has had no answer for a while. It is never frozen: what it does
 * then no rule of ours prevents.
 */
final class ForeignCandidate {
    static final Duration LEASE = Duration.ofSeconds(4);
    private static final Duration RENEW_DEADLINE = Duration.ofSeconds(3);
    private static final Duration RETRY = Duration.ofMillis(500);
    /** How long one may lead on: an answer comes late, then there is none, then none to its release. */
    static final ForeignRules RULES = new ForeignRules(
            LEASE,
            RENEW_DEADLINE
                    .multipliedBy(3)
                    .plus(RETRY)
                    .minus(LEASE)
                    .multipliedBy(11)
                    .dividedBy(10),
            Duration.ZERO);

    private static final long RENEW_DEADLINE_NANOS = RENEW_DEADLINE.toNanos();
    private static final long RETRY_NANOS = RETRY.toNanos();

    /** What it lives in: the same network and store as ours. */
    interface World {
        long now();

        void in(long nanos, Runnable what);

        long delay();

        boolean passes();

        void wrote();
    }

    final String name;
    private final World world;
    private final ModelStore store;
    private final Random random;
    private final double rate;
    private final boolean countsOwnLease; // as before 0.27, and as the Java client does
    private final boolean releases; // when it is told to stop, before its work is
    private boolean alive = true;
    private boolean leading;
    private boolean stopping;
    private long requestsCutUntil;
    private long answersCutUntil;
    private @Nullable StoredRecord seen;
    private long seenAt; // by its own clock

    ForeignCandidate(String name, World world, ModelStore store, Random random, double rate) {
        this.name = name;
        this.world = world;
        this.store = store;
        this.random = random;
        this.rate = rate;
        countsOwnLease = random.nextBoolean();
        releases = random.nextBoolean();
        stand();
    }

    boolean leads() {
        return alive && leading;
    }

    boolean isAlive() {
        return alive;
    }

    void crash() {
        alive = false;
    }

    void cut(long requestsNanos, long answersNanos) {
        requestsCutUntil = world.now() + requestsNanos;
        answersCutUntil = world.now() + answersNanos;
    }

    /** Somebody stops it: a leader's context is cancelled. */
    void stop() {
        if (leads()) {
            stopping = true;
        }
    }

    private long clock() {
        return (long) (world.now() * rate);
    }

    private void after(long nanos, Runnable what) {
        world.in((long) (nanos / rate), () -> {
            if (alive) {
                what.run();
            }
        });
    }

    private void stand() {
        after(
                (long) (RETRY_NANOS * (1 + 1.2 * random.nextDouble())),
                () -> attempt(clock() + RENEW_DEADLINE_NANOS, this::stand, this::lead));
    }

    private void lead() {
        leading = true;
        stopping = false;
        renewUntil(clock() + RENEW_DEADLINE_NANOS);
    }

    /** One round: tries again and again until it has an answer, or the deadline has passed. */
    private void renewUntil(long deadline) {
        if (stopping || clock() >= deadline) {
            giveUp();
            return;
        }
        var round = new boolean[] {true};
        after(Math.max(1, deadline - clock()), () -> {
            if (round[0]) {
                round[0] = false;
                giveUp();
            }
        });
        renew(deadline, round);
    }

    private void renew(long deadline, boolean[] round) {
        attempt(
                deadline,
                () -> after(RETRY_NANOS, () -> {
                    if (round[0]) {
                        renew(deadline, round);
                    }
                }),
                () -> {
                    if (round[0]) {
                        round[0] = false;
                        after(RETRY_NANOS, () -> renewUntil(clock() + RENEW_DEADLINE_NANOS));
                    }
                });
    }

    /** Stops to lead; releases before that if it is one that does. */
    private void giveUp() {
        if (!leading) {
            return;
        }
        if (!releases || seen == null) {
            leading = false;
            stand();
            return;
        }
        var open = new boolean[] {true};
        Runnable end = () -> {
            if (open[0]) {
                open[0] = false;
                leading = false;
                stand();
            }
        };
        after(RENEW_DEADLINE_NANOS, end);
        write(seen.revision(), SeatRecord.bare(Kind.FOREIGN, "").keptFor(Duration.ZERO), done -> end.run());
    }

    /** Looks, and takes or renews the record if it may. */
    private void attempt(long deadline, Runnable failed, Runnable succeeded) {
        var open = new boolean[] {true};
        after(Math.max(1, deadline - clock()), () -> {
            if (open[0]) {
                open[0] = false;
                failed.run();
            }
        });
        LongConsumer done = revision -> {
            if (open[0]) {
                open[0] = false;
                (revision > 0 ? succeeded : failed).run();
            }
        };
        if (leading && seen != null && seen.record().candidate().equals(name)) {
            write(seen.revision(), mine(), revision -> {
                if (open[0] && revision <= 0) {
                    lookAndWrite(open, done); // refused: what is there?
                } else {
                    done.accept(revision);
                }
            });
        } else {
            lookAndWrite(open, done);
        }
    }

    private void lookAndWrite(boolean[] open, LongConsumer done) {
        send(() -> {
            var found = store.read();
            answer(() -> {
                if (!open[0]) {
                    return;
                }
                note(found);
                if (mayWrite(found)) {
                    write(found.revision(), mine(), done);
                } else {
                    done.accept(0);
                }
            });
        });
    }

    private boolean mayWrite(StoredRecord found) {
        var record = found.record();
        var isHeld = record.isHeld()
                || (record.kind() == Kind.FOREIGN && !record.lease().isZero());
        if (!isHeld || record.candidate().equals(name)) {
            return true;
        }
        var lease = countsOwnLease ? LEASE : record.lease();
        return clock() - seenAt >= lease.toNanos();
    }

    private void note(StoredRecord found) {
        if (seen == null || seen.revision() != found.revision()) {
            seenAt = clock();
        }
        seen = found;
    }

    private SeatRecord mine() {
        return SeatRecord.bare(Kind.FOREIGN, name).keptFor(LEASE);
    }

    private void write(long expected, SeatRecord record, LongConsumer done) {
        send(() -> {
            var revision = store.write(expected, record, world.now());
            if (revision > 0) {
                world.wrote();
            }
            var stands = store.read();
            answer(() -> {
                if (revision > 0 && stands.revision() == revision) {
                    note(stands);
                }
                done.accept(revision);
            });
        });
    }

    private void send(Runnable what) {
        if (requestsCutUntil <= world.now() && world.passes()) {
            world.in(world.delay(), what);
        }
    }

    private void answer(Runnable what) {
        if (answersCutUntil <= world.now() && world.passes()) {
            world.in(world.delay(), () -> {
                if (alive) {
                    what.run();
                }
            });
        }
    }

    @Override
    public String toString() {
        return name + (leads() ? " leads" : "");
    }
}
