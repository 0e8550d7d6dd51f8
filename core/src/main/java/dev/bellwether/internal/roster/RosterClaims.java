package dev.bellwether.internal.roster;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Roster;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.journal.SeatHold.Phase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Exclusive roles: joins what the group says with what the journal says, for all partitions of a member at once. */
final class RosterClaims implements RosterDriver, PartitionSeat.Shared {
    /*
     * The proof is one for all: a commit that the group accepts, then one beat that lists what we hold and is read
     * back. For each partition it counts from before the commit was sent, and only if no foreign claim for that
     * partition lies before the beat. While the group rebalances and we have joined, there are no commits, and the beat
     * alone counts, as in a single election: what is safe by the journal alone must not be lost because another member
     * died.
     *
     * Why no two lead at once: a claimant has read all beats before its claim, and waits a lease from when it read the
     * last beat of each earlier claimant. The writer of that beat sent it before, and counts from before that. Its
     * later beats, which the claimant did not wait for, count for nobody, because their writer reads the claim first.
     */
    /** A commit under way, and what is to be written if it is accepted. */
    private record Round(long number, Moment sent, List<PartitionSeat> claims, boolean beat) {}

    private static final Logger log = LoggerFactory.getLogger(Roster.class);
    private static final long SOON_NANOS = 5_000_000;

    private final RosterStanding standing;
    private final Loop loop;
    private final Reports reports;
    private final GroupMembership membership;
    private final RosterLedger ledger;
    private final RosterWriter writer;
    private final PartitionSeat[] holds;
    private final long leaseNanos;
    private final long renewNanos;
    private final long retryNanos;

    private boolean ready;
    private long serial;
    private long highest;
    private @Nullable Round round;
    private long beatAtNanos;
    private @Nullable Long unheardNanos;
    private final TreeMap<Long, Moment> unread = new TreeMap<>();
    private @Nullable Long othersNanos; // when a claim or a beat of another member was last read
    private @Nullable Long asideAgainNanos; // while our work is stuck, and we leave our partitions to others
    private boolean wasAside; // for the work that is stuck
    private boolean over;
    private Loop.@Nullable Timer timer;
    private long timerNanos;

    RosterClaims(RosterStanding standing, Loop loop, Reports reports, GroupMembership membership) {
        this.standing = standing;
        this.loop = loop;
        this.reports = reports;
        this.membership = membership;
        var candidacy = standing.config().candidacy();
        leaseNanos = candidacy.lease().toNanos();
        renewNanos = candidacy.renewInterval().toNanos();
        retryNanos = candidacy.retryInterval().toNanos();
        ledger = new RosterLedger(
                standing.journalGroup(),
                standing.config().partitions(),
                standing.config().lease());
        writer = new RosterWriter(standing, loop, membership, ledger::nextOffset, this::act);
        holds = new PartitionSeat[standing.config().partitions()];
        for (var i = 0; i < holds.length; i++) {
            holds[i] = new PartitionSeat(i, this);
        }
        beatAtNanos = nanos();
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
        act(false);
    }

    /**
     * The turn of the timer: all that has come was read, so that our own record is not the next. If the turn is late,
     * the process was frozen, and the thread that polls has woken only just: what has come meanwhile is still to be
     * read.
     */
    private void actInTime(long dueNanos) {
        var now = nanos();
        if (now - dueNanos > retryNanos && mutedAt(now)) {
            unheardNanos = now - leaseNanos / 2 + retryNanos;
        }
        act(true);
    }

    private void act(boolean allWasRead) {
        if (over) {
            return;
        }
        var now = nanos();
        for (var hold : holds) {
            hold.act(now);
        }
        if (allWasRead && mutedAt(now)) {
            standAside();
        }
        leaveToOthers(now);
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

    /**
     * Whether nothing that we wrote comes through: for half a lease since the first claim or beat after the last that
     * did. Anybody who still leads rides it through.
     */
    private boolean mutedAt(long now) {
        return unheardNanos != null
                && now - unheardNanos > leaseNanos / 2
                && all(hold -> hold.phase() == Phase.HOLDING).isEmpty();
    }

    /**
     * Work that does not end keeps us from leading its partition again, and the group does not know that. A lease after
     * its end we leave all partitions to others, if there are any, for as long as it is stuck. Theirs may be stuck,
     * too: so if we hear nothing of others any more, we come back, and stay.
     */
    private void leaveToOthers(long now) {
        var stuck = all(hold -> hold.overranNanos() != null);
        if (stuck.isEmpty()) {
            wasAside = false;
            asideAgainNanos = null;
        } else if (othersNanos == null || now - othersNanos > leaseNanos) {
            asideAgainNanos = null;
        } else if (asideAgainNanos == null ? !wasAside && stuckForLong(stuck, now) : now - asideAgainNanos >= 0) {
            if (!wasAside) {
                Quietly.run(() -> log.error(
                        "{} of roster \"{}\" leaves its group, so that others lead its roles, until its work has ended:"
                                + " that ignores the interrupt, and was to end a lease ago, in partitions {}",
                        standing.member(),
                        standing.roster(),
                        stuck.stream().map(PartitionSeat::partition).toList()));
            }
            wasAside = true;
            asideAgainNanos = now + leaseNanos / 2;
            standAside();
        }
    }

    private boolean stuckForLong(List<PartitionSeat> stuck, long now) {
        for (var hold : stuck) {
            var since = hold.overranNanos();
            if (hold.owned() && since != null && now - since >= leaseNanos) {
                return true;
            }
        }
        return false;
    }

    private boolean beatDueAt(long now) {
        for (var hold : holds) {
            if (hold.beatDueAt(now, beatAtNanos)) {
                return true;
            }
        }
        return false;
    }

    /** Sets the timer for what is due next, unless it goes off sooner as it is. */
    private void wake(long now) {
        var next = now + 10 * leaseNanos;
        for (var hold : holds) {
            var due = ready || hold.phase() != Phase.STANDING ? hold.dueNanos(now, next, beatAtNanos) : next;
            next = due - next < 0 ? due : next;
        }
        next = asideAgainNanos != null && asideAgainNanos - next < 0 ? asideAgainNanos : next;
        if (unheardNanos != null) {
            var muted = unheardNanos + leaseNanos / 2 + 1;
            next = (muted - now > 0 || mutedAt(now)) && muted - next < 0 ? muted : next;
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
            actInTime(timerNanos);
        });
    }

    @Override
    public void committed(long number, Commit outcome) {
        var answered = round;
        if (answered == null || answered.number != number) {
            return;
        }
        round = null;
        var now = nanos();
        var beats = outcome == Commit.ACCEPTED || outcome == Commit.REBALANCING;
        if (outcome == Commit.ACCEPTED) {
            claim(answered);
        } else {
            var retry = outcome == Commit.REBALANCING ? Math.min(SOON_NANOS, retryNanos) : retryNanos;
            answered.claims.forEach(hold -> hold.waitUntil(now + retry));
        }
        if (answered.beat) {
            if (beats) {
                beat(answered.sent);
            } else {
                beatAtNanos = now + retryNanos;
                all(hold -> hold.phase() == Phase.BARRED).forEach(hold -> hold.waitUntil(now + retryNanos));
            }
        }
        act();
    }

    /** Claims what was ours when the commit was sent, and is. */
    private void claim(Round answered) {
        var tokens = new TreeMap<Integer, Long>();
        for (var hold : answered.claims) {
            if (hold.claimable()) {
                hold.claiming(answered.number, answered.sent);
                tokens.put(hold.partition(), 0L);
            }
        }
        if (!tokens.isEmpty()) {
            wrote();
            writer.claim(answered.number, ledger.baseOfNextClaim(), tokens);
        }
    }

    private void beat(Moment sent) {
        var tokens = new TreeMap<Integer, Long>();
        for (var hold : holds) {
            if (hold.phase() == Phase.HOLDING || hold.phase() == Phase.BARRED) {
                tokens.put(hold.partition(), hold.token());
                hold.waitUntil(nanos() + retryNanos);
            }
        }
        if (!tokens.isEmpty()) {
            beatAtNanos = sent.nanos() + (unread.isEmpty() ? renewNanos : retryNanos);
            unread.put(++serial, sent);
            wrote();
            writer.beat(serial, tokens);
        }
    }

    private void wrote() {
        if (unheardNanos == null) {
            unheardNanos = nanos();
        }
    }

    // ---------------------------------------------------------------- what the journal says

    @Override
    public void read(int partition, long offset, long writtenMillis, byte[] record) {
        if (partition != 0) {
            return;
        }
        if (ledger.missedBefore(offset)) {
            beganAgainAt(offset);
        }
        var parsed = RosterRecord.parse(record);
        if (parsed.isEmpty()) {
            ledger.skip(offset);
            return;
        }
        var said = parsed.get();
        var known = ledger.highest();
        ledger.read(said, offset, nanos());
        if (!said.group().equals(standing.journalGroup())) {
            return;
        }
        var ours = said.instance().equals(standing.instance());
        var sent = ours && said.what() == RosterRecord.What.BEAT ? takeUnread(said.number()) : null;
        for (var hold : holds) {
            // a claim with another number of partitions is one for each of ours
            if (said.partitions() != holds.length || said.tokens().containsKey(hold.partition())) {
                hold.apply(said, ours, said.base() + offset + 1, known, sent);
            }
            if (ours && (said.what() == RosterRecord.What.CLAIM || said.what() == RosterRecord.What.BEAT)) {
                hold.wroteLater(said.number());
            }
        }
        unheardNanos = ours ? null : unheardNanos;
        if (!ours && (said.what() == RosterRecord.What.CLAIM || said.what() == RosterRecord.What.BEAT)) {
            othersNanos = nanos();
        }
        tellHighest();
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
    public void highest(long token) {
        ledger.known(token);
        tellHighest();
    }

    private void tellHighest() {
        if (ledger.highest() > highest) {
            highest = ledger.highest();
            membership.highest(highest);
        }
    }

    @Override
    public void beganAgain(long offset) {
        beganAgainAt(offset);
        act();
    }

    private void beganAgainAt(long offset) {
        ledger.beganAgain(offset, nanos());
        for (var hold : holds) {
            hold.lose(Cause.EXPIRED);
        }
    }

    // ---------------------------------------------------------------- what the group says

    @Override
    public void assigned(Collection<Integer> partitions) {
        for (var partition : partitions) {
            holds[partition].assigned();
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
            holds[partition].lost();
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

    /** We own partitions, and cannot lead them: perhaps others can. */
    private void standAside() {
        unheardNanos = null;
        for (var hold : holds) {
            if (hold.phase() == Phase.CLAIMING) {
                hold.drop();
            }
        }
        membership.standAside(standing.config().lease());
    }

    // ---------------------------------------------------------------- small things

    private List<PartitionSeat> all(Predicate<PartitionSeat> which) {
        var found = new ArrayList<PartitionSeat>();
        for (var hold : holds) {
            if (which.test(hold)) {
                found.add(hold);
            }
        }
        return found;
    }

    private long nanos() {
        return loop.clock().nanos();
    }

    // ---------------------------------------------------------------- for the holds

    @Override
    public RosterStanding standing() {
        return standing;
    }

    @Override
    public RosterLedger ledger() {
        return ledger;
    }

    @Override
    public RosterWriter writer() {
        return writer;
    }

    @Override
    public Reports reports() {
        return reports;
    }

    @Override
    public Moment now() {
        return loop.clock().now();
    }

    @Override
    public void holding(Moment since) {
        if (all(hold -> hold.phase() == Phase.HOLDING).size() == 1) { // the first
            beatAtNanos = since.nanos() + renewNanos;
        }
    }

    @Override
    public void left(int partition) {
        loop.execute(() -> reports.left(partition));
    }
}
