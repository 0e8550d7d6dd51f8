package dev.bellwether.internal;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.Seat;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Exclusive roles: joins what the group says with what the journal says, for all partitions of a member at once. */
final class RosterClaims implements RosterDriver {
    /*
     *              ours, commit accepted              claim read back, nobody earlier may lead
     *   STANDING ------------------------> CLAIMING ------------------------------------------> HOLDING
     *      ^                                  | read back, but an earlier leader may not have stopped |
     *      |                                  v                                                       |
     *      |                               BARRED ---- he has released it, or his lease is over ------+
     *      |                                                                                          |
     *      +---- release ---- ENDING <---- concede; partition lost; a claim after ours ---------------+
     *
     * The proof is one for all: a commit that the group accepts, then one beat that lists what we hold and is read back. For each partition it
     * counts from before the commit was sent, and only if no foreign claim for that partition lies before the beat. While the group
     * rebalances and we have joined, there are no commits, and the beat alone counts, as in a single election: what is safe by the
     * journal alone must not be lost because another member died.
     *
     * Why no two lead at once: whoever claims has read all beats before his claim, and waits a lease from when he read the last beat of
     * each earlier claimant. The one who wrote it sent it before, and counts from before that; and his later beats, which the claimer did
     * not wait for, count for nobody, since their writer reads the claim first.
     */
    private enum Phase {
        /** Without a claim. */
        STANDING,
        /** The claim was written, and not yet read. */
        CLAIMING,
        /** The claim stands; an earlier leader may not have stopped yet, or the claim is too old to be a proof. */
        BARRED,
        /** Granted. */
        HOLDING,
        /** The mandate is over, the work may not be. */
        ENDING
    }

    /** A commit under way, and what is to be written if it is accepted. */
    private record Round(long number, Moment sent, List<Hold> claims, boolean beat) {}

    private static final long SOON_NANOS = 5_000_000;

    private final RosterStanding standing;
    private final Loop loop;
    private final Reports reports;
    private final GroupMembership membership;
    private final RosterLedger ledger;
    private final Hold[] holds;
    private final long leaseNanos;
    private final long renewNanos;
    private final long retryNanos;

    private boolean ready;
    private long serial;
    private @Nullable Round round;
    private long beatAtNanos;
    private final TreeMap<Long, Moment> unread = new TreeMap<>();
    private final Map<Duration, Map<Integer, Long>> conceding = new TreeMap<>();
    private final Map<Integer, Long> releasing = new TreeMap<>();
    private final List<Integer> givingBack = new ArrayList<>();
    private boolean flushing;
    private boolean over;
    private Loop.@Nullable Timer timer;
    private long timerNanos;

    RosterClaims(RosterStanding standing, Loop loop, Reports reports, GroupMembership membership) {
        this.standing = standing;
        this.loop = loop;
        this.reports = reports;
        this.membership = membership;
        var tenure = standing.config().tenure();
        leaseNanos = tenure.lease().toNanos();
        renewNanos = tenure.renewInterval().toNanos();
        retryNanos = tenure.retryInterval().toNanos();
        ledger = new RosterLedger(standing.config().group(), standing.config().partitions());
        holds = new Hold[standing.config().partitions()];
        for (var i = 0; i < holds.length; i++) {
            holds[i] = new Hold(i);
        }
        beatAtNanos = now();
    }

    @Override
    public Seat seat(int partition) {
        return holds[partition];
    }

    @Override
    public Duration leaving() {
        return Duration.ZERO;
    }

    // ---------------------------------------------------------------- what is due

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
        var now = now();
        for (var hold : holds) {
            if (hold.phase == Phase.ENDING && now - hold.endAtNanos >= 0) {
                hold.phase = Phase.STANDING; // the work overran: whoever comes next need not wait for it any more
                hold.giveBack();
            } else if (hold.phase == Phase.CLAIMING && now - hold.sent.nanos() > leaseNanos / 2) {
                standAside();
                break;
            }
        }
        if (ready && (round == null || now - round.sent.nanos() > renewNanos / 2)) {
            var claims = all(hold -> hold.claimableAt(now));
            var beat = beatDueAt(now);
            if (beat || !claims.isEmpty()) {
                round = new Round(++serial, loop.clock().now(), claims, beat);
                membership.commit(serial);
            }
        }
        wake(now);
    }

    private boolean beatDueAt(long now) {
        for (var hold : holds) {
            if ((hold.phase == Phase.HOLDING && now - beatAtNanos >= 0)
                    || (hold.phase == Phase.BARRED && now - hold.barredUntil(now) >= 0)) {
                return true;
            }
        }
        return false;
    }

    /** Sets the timer for what is due next, unless it goes off sooner as it is. */
    private void wake(long now) {
        var next = now + 10 * leaseNanos;
        for (var hold : holds) {
            var due = switch (hold.phase) {
                case STANDING -> ready && hold.owned && hold.wanted ? hold.waitUntilNanos : next;
                case CLAIMING -> hold.sent.nanos() + leaseNanos / 2 + 1;
                case BARRED -> hold.barredUntil(now);
                case HOLDING -> beatAtNanos;
                case ENDING -> hold.endAtNanos;
            };
            next = due - next < 0 ? due : next;
        }
        if (round != null) {
            var patience = round.sent.nanos() + renewNanos / 2 + 1;
            next = next - now <= 0 ? patience : next;
        }
        if (timer != null && timerNanos - next <= 0 && timerNanos - now > 0) {
            return;
        }
        if (timer != null) {
            timer.cancel();
        }
        timerNanos = next;
        timer = loop.at(next, () -> {
            timer = null;
            act();
        });
    }

    @Override
    public void committed(long number, Commit outcome) {
        var answered = round;
        if (answered == null || answered.number != number) {
            return;
        }
        round = null;
        var now = now();
        var beats = outcome == Commit.ACCEPTED || outcome == Commit.REBALANCING;
        if (outcome == Commit.ACCEPTED) {
            claim(answered);
        } else {
            var retry = outcome == Commit.REBALANCING ? Math.min(SOON_NANOS, retryNanos) : retryNanos;
            answered.claims.forEach(hold -> hold.waitUntilNanos = now + retry);
        }
        if (answered.beat) {
            if (beats) {
                beat(answered.sent);
            } else {
                beatAtNanos = now + retryNanos;
                all(hold -> hold.phase == Phase.BARRED).forEach(hold -> hold.waitUntilNanos = now + retryNanos);
            }
        }
        act();
    }

    /** Claims what was ours when the commit was sent, and is. */
    private void claim(Round answered) {
        var claimed = answered.claims.stream()
                .filter(hold -> hold.phase == Phase.STANDING && hold.owned && hold.wanted)
                .toList();
        if (!claimed.isEmpty()) {
            var tokens = new TreeMap<Integer, Long>();
            for (var hold : claimed) {
                hold.phase = Phase.CLAIMING;
                hold.claim = answered.number;
                hold.sent = answered.sent;
                tokens.put(hold.partition, 0L);
            }
            write(
                    RosterRecord.What.CLAIM,
                    answered.number,
                    ledger.baseOfNextClaim(),
                    standing.config().lease(),
                    tokens);
        }
    }

    private void beat(Moment sent) {
        var tokens = new TreeMap<Integer, Long>();
        for (var hold : holds) {
            if (hold.phase == Phase.HOLDING || hold.phase == Phase.BARRED) {
                tokens.put(hold.partition, hold.token);
                hold.waitUntilNanos = now() + retryNanos;
            }
        }
        if (!tokens.isEmpty()) {
            beatAtNanos = sent.nanos() + (unread.isEmpty() ? renewNanos : retryNanos);
            unread.put(++serial, sent);
            write(RosterRecord.What.BEAT, serial, 0, standing.config().lease(), tokens);
        }
    }

    // ---------------------------------------------------------------- what the journal says

    @Override
    public void read(int partition, long offset, long writtenMillis, byte[] record) {
        var parsed = RosterRecord.parse(record);
        if (partition != 0 || parsed.isEmpty()) {
            return;
        }
        var said = parsed.get();
        ledger.read(said, offset, now());
        if (!said.group().equals(standing.config().group())) {
            return;
        }
        var ours = said.instance().equals(standing.instance());
        var sent = ours && said.what() == RosterRecord.What.BEAT ? takeUnread(said.number()) : null;
        for (var each : said.tokens().keySet()) {
            if (each >= 0 && each < holds.length) {
                holds[each].heed(said, ours, said.base() + offset + 1, sent);
            }
        }
        if (ready) {
            act();
        }
    }

    /** Returns when the commit before this beat was sent, and forgets that and all earlier ones. */
    private @Nullable Moment takeUnread(long beat) {
        var sent = unread.get(beat);
        unread.headMap(beat, true).clear();
        if (sent != null && unread.isEmpty()) {
            beatAtNanos = sent.nanos() + renewNanos;
        }
        return sent;
    }

    @Override
    public void caughtUp() {
        ready = true;
        act();
    }

    @Override
    public void beganAnew() {
        ledger.beganAnew(now());
        for (var hold : holds) {
            hold.lose(Cause.EXPIRED);
        }
        act();
    }

    // ---------------------------------------------------------------- what the group says

    @Override
    public void assigned(Collection<Integer> partitions) {
        for (var partition : partitions) {
            holds[partition].owned = true;
            holds[partition].waitUntilNanos = now();
        }
        act();
    }

    @Override
    public void revoking(Collection<Integer> partitions) {
        for (var partition : partitions) {
            holds[partition].revoke();
        }
        act();
    }

    @Override
    public void lost(Collection<Integer> partitions) {
        for (var partition : partitions) {
            holds[partition].owned = false;
            holds[partition].lose(Cause.EXPIRED);
        }
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

    /** We own partitions and cannot write to the journal, or not read it: perhaps others can. */
    private void standAside() {
        for (var hold : holds) {
            if (hold.phase == Phase.CLAIMING) {
                hold.drop();
            }
        }
        membership.standAside(standing.config().lease());
    }

    // ---------------------------------------------------------------- small things

    private void write(RosterRecord.What what, long number, long base, Duration lease, Map<Integer, Long> tokens) {
        membership.write(
                0,
                new RosterRecord(
                                what,
                                standing.config().group(),
                                standing.instance(),
                                standing.member(),
                                number,
                                base,
                                lease,
                                tokens)
                        .bytes());
    }

    /** Writes, once all that belongs together has been asked, what was conceded and released; then gives the partitions back. */
    private void flushSoon() {
        if (!flushing) {
            flushing = true;
            loop.execute(() -> {
                flushing = false;
                conceding.forEach((within, tokens) -> write(RosterRecord.What.CONCEDE, 0, 0, within, tokens));
                conceding.clear();
                if (!releasing.isEmpty()) {
                    write(RosterRecord.What.RELEASE, 0, 0, standing.config().lease(), releasing);
                    releasing.clear();
                }
                givingBack.forEach(membership::revoked);
                givingBack.clear();
                act();
            });
        }
    }

    private List<Hold> all(Predicate<Hold> which) {
        var found = new ArrayList<Hold>();
        for (var hold : holds) {
            if (which.test(hold)) {
                found.add(hold);
            }
        }
        return found;
    }

    private long now() {
        return loop.clock().nanos();
    }

    /** One partition. */
    private final class Hold implements Seat {
        private final int partition;
        private Phase phase = Phase.STANDING;
        private boolean owned;
        private boolean wanted;
        private boolean revoking;
        private boolean hasLeft;
        private long claim;
        private long token;
        private Moment sent = loop.clock().now();
        private long provenNanos;
        private long waitUntilNanos = sent.nanos();
        private long endAtNanos;

        private Hold(int partition) {
            this.partition = partition;
        }

        private boolean claimableAt(long now) {
            return phase == Phase.STANDING && owned && wanted && now - waitUntilNanos >= 0;
        }

        private long barredUntil(long now) {
            var barred = now + Math.max(0, ledger.barredNanosAt(now, standing.instance(), partition));
            return barred - waitUntilNanos > 0 ? barred : waitUntilNanos;
        }

        // ------------------------------------------------------------ asked by its tenure

        @Override
        public void claim() {
            wanted = true;
            flushSoon();
        }

        @Override
        public void concede(Duration within) {
            wanted = false;
            if (phase == Phase.HOLDING || phase == Phase.ENDING) {
                phase = Phase.ENDING;
                endAtNanos = provenNanos + leaseNanos;
                var sooner = now() + within.toNanos();
                if (!within.isZero() && sooner - endAtNanos < 0) {
                    endAtNanos = sooner;
                    conceding.computeIfAbsent(within, length -> new TreeMap<>()).put(partition, token);
                }
                flushSoon();
            }
        }

        @Override
        public void release() {
            wanted = false;
            drop();
        }

        @Override
        public void leave() {
            wanted = false;
            drop();
            if (!hasLeft) {
                hasLeft = true;
                loop.execute(() -> reports.left(partition));
            }
        }

        // ------------------------------------------------------------ what becomes of it

        /** The record is about this partition. */
        private void heed(RosterRecord said, boolean ours, long claimToken, @Nullable Moment beatSent) {
            var counts = ledger.tokenOf(standing.instance(), partition);
            if (ours && said.what() == RosterRecord.What.CLAIM) {
                claimRead(said.number(), counts == claimToken ? counts : 0);
            } else if (token > 0 && phase != Phase.STANDING && counts != token) {
                lose(Cause.REPLACED);
            } else if (beatSent != null
                    && token > 0
                    && token == counts
                    && Long.valueOf(token).equals(said.tokens().get(partition))) {
                if (phase == Phase.HOLDING) {
                    provenNanos = beatSent.nanos();
                    reports.proven(
                            partition,
                            token,
                            new Proof(beatSent, standing.config().lease()));
                } else if (phase == Phase.BARRED && unbarred()) {
                    hold(beatSent);
                }
            }
        }

        private void claimRead(long number, long counts) {
            if (phase == Phase.CLAIMING && number == claim) {
                if (counts == 0) {
                    phase = Phase.STANDING; // void, since its token would not have risen: we know better now
                    return;
                }
                token = counts;
                phase = Phase.BARRED;
                waitUntilNanos = now();
                if (unbarred() && now() - sent.nanos() < renewNanos) {
                    hold(sent);
                }
            } else if (counts > 0) { // we had given up on it, and it came through all the same
                releasing.put(partition, counts);
                flushSoon();
            }
        }

        private boolean unbarred() {
            return ledger.barredNanosAt(now(), standing.instance(), partition) <= 0;
        }

        private void hold(Moment since) {
            if (all(hold -> hold.phase == Phase.HOLDING).isEmpty()) {
                beatAtNanos = since.nanos() + renewNanos;
            }
            phase = Phase.HOLDING;
            provenNanos = since.nanos();
            reports.granted(partition, token, new Proof(since, standing.config().lease()));
        }

        /** It is to move on: asks for the end of the work, if there is any. */
        private void revoke() {
            owned = false;
            revoking = true;
            switch (phase) {
                case HOLDING -> reports.asked(partition, token, Cause.REPLACED);
                case ENDING -> {}
                case STANDING, CLAIMING, BARRED -> drop();
            }
        }

        private void lose(Cause cause) {
            switch (phase) {
                case HOLDING -> {
                    phase = Phase.ENDING;
                    endAtNanos = provenNanos + leaseNanos;
                    reports.lost(partition, token, cause);
                }
                case CLAIMING, BARRED -> {
                    drop();
                    waitUntilNanos = now() + retryNanos;
                }
                case STANDING, ENDING -> {}
            }
        }

        private void drop() {
            if (phase != Phase.STANDING && phase != Phase.CLAIMING && token > 0) {
                releasing.put(partition, token);
            }
            phase = Phase.STANDING;
            claim = 0;
            token = 0;
            waitUntilNanos = now();
            giveBack();
            flushSoon();
        }

        private void giveBack() {
            if (revoking) {
                revoking = false;
                givingBack.add(partition);
                flushSoon();
            }
        }
    }
}
