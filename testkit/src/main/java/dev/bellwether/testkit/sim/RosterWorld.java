package dev.bellwether.testkit.sim;

import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.memory.MemoryGroups;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** One seed's world of a {@link RosterSimulation}: a storm, then calm, then all leave. Confined to one thread. */
final class RosterWorld {
    static final String ROSTER = "roster";
    private static final long LEASE = Duration.ofSeconds(3).toNanos();
    private static final double DRIFT = 0.01;

    private final long seed;
    private final RosterMode mode;
    private final SplittableRandom random;
    private final Agenda agenda = new Agenda();
    private final Trace trace;
    private final List<RosterMember> members = new ArrayList<>();
    private final MemoryGroups groups;
    private final boolean fenced;
    private final boolean kicks;
    private final int partitions;
    private final int roles;
    private final long longestDelay;
    private final long leastDelay;
    private final int broadcasts;
    private final double loss;
    private final long longestWork;
    private final Duration threshold;
    private final Duration clockError;
    private final Duration budget;
    private final boolean lies;
    private final boolean gentle;
    private final double throwing;
    private final double lostClaims;
    private final long[] topToken;
    private final @Nullable RosterMember[] topHolder;
    private final long[] vacantSince;
    private final boolean[][] led;
    private final long[][] ledUntil;
    private long tokensFrom;
    private boolean recreated;
    private boolean forgotten;
    private int serial;
    private long mandates;
    private boolean storm = true;
    private boolean turned;
    private boolean disturbed;
    private boolean formed;
    private @Nullable Violation violation;

    RosterWorld(long seed, RosterMode mode, boolean traced) {
        this.seed = seed;
        this.mode = mode;
        random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L);
        trace = new Trace(agenda, traced);
        partitions = random.nextInt(1, 4);
        roles = random.nextInt(1, 2 * partitions + 1);
        topToken = new long[partitions];
        topHolder = new RosterMember[partitions];
        vacantSince = new long[partitions];
        led = new boolean[64][partitions];
        ledUntil = new long[64][partitions];
        // nothing is hurt: members come and go in order, at work for nearly as long as they may, and now and then a
        // claim is lost
        gentle = mode == RosterMode.EXCLUSIVE && random.nextInt(4) == 0;
        throwing = mode == RosterMode.OVERLAPPING || gentle || random.nextInt(4) > 0 ? 0 : 0.002;
        lostClaims = mode == RosterMode.EXCLUSIVE && random.nextInt(3) == 0 ? 0.3 : 0;
        longestDelay = (long) (LEASE
                * (mode == RosterMode.OVERLAPPING || gentle ? 0.02 : 0.001 * Math.pow(100, random.nextDouble())));
        // the group is far away: an answer takes longer than what lies between two broadcasts
        leastDelay = mode == RosterMode.TIMED && random.nextInt(4) == 0 ? LEASE / 32 : 1;
        broadcasts = leastDelay > 1 ? 16 : 5;
        loss = mode == RosterMode.OVERLAPPING || gentle || random.nextBoolean() ? 0 : 0.05 * random.nextDouble();
        longestWork = gentle ? LEASE / 4 : random.nextInt(3) > 0 ? 1_000_000 : LEASE / 2;
        // what the paper assumes of a broker is so in some worlds only; in the others core must do without
        fenced = random.nextBoolean();
        kicks = random.nextBoolean();
        clockError = Duration.ofNanos(LEASE / 20);
        threshold = mode == RosterMode.OVERLAPPING
                ? Duration.ofNanos(2 * LEASE)
                : Duration.ofNanos((long) (LEASE * (0.5 + 0.4 * random.nextDouble())));
        budget = Duration.ofNanos(gentle ? LEASE * 2 / 5 : LEASE / (random.nextBoolean() ? 10 : 100));
        // the group then guarantees nothing, and the journal must do alone
        lies = mode == RosterMode.EXCLUSIVE && !gentle && random.nextBoolean();
        groups = new MemoryGroups(new SimClock(agenda, 1, 0, 1, 0), fenced);
    }

    Agenda agenda() {
        return agenda;
    }

    Trace trace() {
        return trace;
    }

    SplittableRandom random() {
        return random;
    }

    long mandates() {
        return mandates;
    }

    double loss() {
        return storm ? loss : 0;
    }

    /** Whether the group accepts commits of anybody who asks. */
    boolean lies() {
        return lies;
    }

    RosterMode mode() {
        return mode;
    }

    /** Whether nothing is done to anybody that would cost a mandate. */
    boolean gentle() {
        return gentle;
    }

    /** Whether the call that is being made is to throw. */
    boolean throwsNow() {
        return storm && throwing > 0 && random.nextDouble() < throwing;
    }

    /** Whether this record is lost on its way: a claim, beside others that arrive. */
    boolean losesClaim(byte[] record) {
        var text = new String(record, StandardCharsets.UTF_8);
        if (!text.startsWith("what=CLAIM")) {
            return false;
        }
        require(
                recreated || text.contains("&base=0&"),
                "tokens are those of the log",
                "the log has lost its first records and nothing else, and a reader that forgets this claim will fall"
                        + " behind it: "
                        + text);
        return storm && lostClaims > 0 && random.nextDouble() < lostClaims;
    }

    /** Whether pieces of work may begin so late that a mandate is over. */
    boolean slow() {
        return false;
    }

    long delay() {
        var most = storm ? longestDelay : LEASE / 1_000;
        return leastDelay + (random.nextInt(10) > 0 ? random.nextLong(most / 10 + 1) : random.nextLong(most + 1));
    }

    long workNanos() {
        return random.nextInt(10) > 0 || !storm ? random.nextLong(1_000_000) : random.nextLong(longestWork);
    }

    /** In so long a member that joins now has a task, at the latest. */
    long untilTask() {
        return random.nextBoolean() ? 1 : random.nextLong(8 * LEASE);
    }

    /**
     * A loop has had a turn that may have begun a mandate. Time alone begins none, so that looking after these misses
     * nothing.
     */
    void turned() {
        turned = true;
    }

    void violate(String invariant, String detail, @Nullable Throwable cause) {
        if (violation == null) {
            violation = new Violation(seed, invariant, detail, describe(), trace.lines(), trace.dropped(), cause);
        }
    }

    void require(boolean holds, String invariant, String detail) {
        if (!holds) {
            violate(invariant, detail, null);
        }
    }

    private String describe() {
        return ("%s%s%s%s, %d partitions, %d roles, a group that %s, reads %sfenced, %skicks, delays up to %s, loss"
                        + " %.3f, threshold %s, grace %s")
                .formatted(
                        mode,
                        gentle ? ", gentle" : "",
                        throwing > 0 ? ", calls throw" : "",
                        lostClaims > 0 ? ", claims are lost" : leastDelay > 1 ? ", far away" : "",
                        partitions,
                        roles,
                        lies ? "lies" : "tells the truth",
                        fenced ? "" : "not ",
                        kicks ? "" : "no ",
                        Duration.ofNanos(longestDelay),
                        loss,
                        threshold,
                        threshold.plus(clockError));
    }

    // ---------------------------------------------------------------- a life

    @Nullable
    Violation run() {
        try {
            live();
        } catch (Throwable e) {
            violate(Violation.RUNS, String.valueOf(e), e);
        }
        return violation;
    }

    private void live() {
        var first = random.nextInt(1, 4);
        for (var i = 0; i < first; i++) {
            join();
        }
        if (mode == RosterMode.OVERLAPPING) {
            pass(6 * LEASE);
            formed = true; // from here on no role may be vacant
        }
        var until = agenda.now() + 8 * LEASE;
        while (agenda.now() < until && violation == null) {
            fault();
            pass(mode == RosterMode.OVERLAPPING ? LEASE / 2 + random.nextLong(LEASE) : random.nextLong(LEASE));
        }
        storm = false;
        if (members.stream().noneMatch(RosterMember::stays)) {
            join();
        }
        members.forEach(RosterMember::work);
        pass(7 * LEASE);
        checkCalm();
        checkWork();
        members.stream().filter(RosterMember::stays).forEach(RosterMember::resign);
        pass(LEASE + threshold.toNanos());
        for (var member : members) {
            if (member.alive()) {
                require(member.roster().roles().isEmpty(), "who has left leads nothing", member.name());
                require(member.toldOfNothing(), "events are paired", member.name() + " was not told of the end");
            }
        }
    }

    private void pass(long nanos) {
        var until = agenda.now() + nanos;
        while (violation == null && agenda.step(until)) {
            if (turned) {
                turned = false;
                check();
            }
        }
        check();
    }

    private void join() {
        join(mode, threshold);
    }

    private void join(RosterMode mode, Duration threshold) {
        var drift = 1 + (random.nextDouble() - 0.5) * DRIFT * 0.98;
        var wallOffset = mode == RosterMode.TIMED
                ? random.nextLong(-clockError.toNanos() * 8 / 10, clockError.toNanos() * 8 / 10)
                : random.nextLong(1L << 55);
        // a wall clock that is kept right does not drift away: only its offset differs
        var wallRate = mode == RosterMode.TIMED ? 1 : drift;
        var clock = new SimClock(agenda, drift, random.nextLong(), wallRate, wallOffset + agenda.now());
        var config = RosterConfig.builder()
                .mode(mode)
                .roles(roles)
                .partitions(partitions)
                .lease(Duration.ofNanos(LEASE))
                .driftBound(DRIFT)
                .standDownBudget(mode == this.mode ? budget : threshold.dividedBy(10)) // who is refused needs none
                .threshold(threshold)
                .clockError(clockError)
                .gracePeriod(threshold.plus(clockError))
                .broadcastInterval(threshold.dividedBy(broadcasts))
                .taskInterval(Duration.ofNanos(LEASE / 2));
        if (recreated && forgotten && members.stream().noneMatch(RosterMember::stays)) {
            Arrays.fill(topToken, 0); // nobody is left who knew the tokens of before, and no record is
        }
        if (serial > 0) {
            groups.grow(ROSTER, partitions); // else it would be refused at once
        }
        var name = "m" + ++serial;
        trace.line(name, "joins" + (mode == this.mode ? "" : " in mode " + mode));
        members.add(new RosterMember(this, name, clock, groups, config));
    }

    /** One thing goes wrong, or changes. */
    private void fault() {
        var standing = members.stream().filter(RosterMember::stays).toList();
        if (standing.isEmpty() || (standing.size() < 4 && serial < 20 && random.nextInt(5) == 0)) {
            join();
            return;
        }
        var one = standing.get(random.nextInt(standing.size()));
        if (gentle) {
            inOrder(standing, one);
            return;
        }
        var length = (long) (LEASE * 0.05 * Math.pow(40, random.nextDouble()));
        switch (random.nextInt(10)) {
            case 0 -> {
                if (standing.size() > 1 || mode != RosterMode.OVERLAPPING) {
                    one.crash();
                    disturb(one, "crashes", 2 * LEASE, () -> {});
                }
            }
            case 1 -> {
                if (standing.size() > 1) {
                    trace.line(one.name(), "resigns");
                    one.resign();
                    settle();
                }
            }
            case 2, 3 -> {
                // a member that does not look, while its client keeps it in the group, leaves roles vacant when T is
                // over
                var whole = random.nextBoolean() || (mode == RosterMode.OVERLAPPING && length > LEASE);
                one.hold(whole);
                disturb(one, whole ? "is paused" : "has its loop held up", length, () -> one.resume(whole));
            }
            case 4 -> {
                one.wire().cutFromGroup(true);
                disturb(
                        one,
                        "is cut off from the group alone",
                        2 * length,
                        () -> one.wire().cutFromGroup(false));
            }
            case 5 -> {
                // a member whose requests arrive forever and whose answers do not is no member of a group over TCP
                var way = mode == RosterMode.OVERLAPPING ? 2 : random.nextInt(3);
                one.wire().cut(way != 0, way != 1);
                disturb(one, "is cut off", length, one.wire()::heal);
            }
            case 6 -> {
                if (kicks) {
                    var in = groups.members(ROSTER, "main");
                    if (!in.isEmpty()) {
                        trace.line("group", "throws a member out");
                        groups.leave(ROSTER, "main", in.get(random.nextInt(in.size())));
                        settle();
                    }
                }
            }
            case 7 -> resize(standing);
            case 8 -> {
                var left = random.nextInt(4);
                trace.line("log", "all records but the last " + left + " are deleted");
                groups.forget(ROSTER, 0, left);
                forgotten = true;
                if (mode != RosterMode.OVERLAPPING && random.nextInt(3) == 0) {
                    replaceUnseen(one, length);
                }
            }
            default -> recreate();
        }
    }

    /** One that may lead says nothing for a while, and is replaced by one that has read nothing of it. */
    private void replaceUnseen(RosterMember one, long length) {
        one.hold(false);
        disturb(one, "has its loop held up", length, () -> one.resume(false));
        if (kicks) {
            trace.line("group", "throws " + one.name() + " out");
            groups.members(ROSTER, "main").stream()
                    .filter(id -> id.endsWith('#' + one.name()))
                    .forEach(id -> groups.leave(ROSTER, "main", id));
        }
        join();
    }

    /** What costs nobody a mandate. */
    private void inOrder(List<RosterMember> standing, RosterMember one) {
        switch (random.nextInt(4)) {
            case 0 -> {
                if (standing.size() > 1) {
                    trace.line(one.name(), "resigns");
                    one.resign();
                }
            }
            case 1 -> resize(standing);
            case 2 -> {
                if (groups.members(ROSTER, "main").isEmpty()) {
                    return; // it would be the others that are refused
                }
                var other = random.nextBoolean() ? RosterMode.OVERLAPPING : RosterMode.TIMED;
                join(other, other == RosterMode.TIMED ? Duration.ofNanos(LEASE / 2) : Duration.ofNanos(2 * LEASE));
            }
            default -> join();
        }
    }

    private void resize(List<RosterMember> standing) {
        trace.line("all", "resize");
        var number = random.nextInt(1, 2 * partitions + 1);
        standing.forEach(member -> {
            member.roster().resize(number);
            if (random.nextBoolean()) {
                agenda.in(workNanos(), member::work);
            }
        });
        agenda.in(LEASE / 4, () -> standing.forEach(member -> member.roster().resize(roles)));
    }

    /**
     * The topic is deleted, and created again: at once as it was, or by a broker, with fewer partitions, which are
     * added a little later.
     */
    private void recreate() {
        var fewer = mode == RosterMode.OVERLAPPING ? partitions : random.nextInt(1, partitions + 1);
        trace.line("log", "deleted, and created with " + fewer + " partitions");
        groups.recreate(ROSTER, fewer);
        recreated = true;
        agenda.in(random.nextLong(LEASE), () -> groups.grow(ROSTER, partitions));
        // nobody may be left in the group who knew the tokens of before, and those who led under them lead on for a
        // while
        tokensFrom = agenda.now() + 2 * LEASE;
        Arrays.fill(topToken, 0);
        settle();
    }

    /** Overlapping leaders are promised without a gap while the others are well: so one trouble at a time there. */
    private void settle() {
        if (mode == RosterMode.OVERLAPPING) {
            pass(3 * LEASE);
        }
    }

    private void disturb(RosterMember member, String what, long length, Runnable end) {
        trace.line(member.name(), what + " for " + Duration.ofNanos(length));
        if (mode != RosterMode.OVERLAPPING) {
            agenda.in(length, () -> {
                trace.line(member.name(), "is well again");
                end.run();
            });
            return;
        }
        // who does not run for longer than a session has left the group as one that crashed, and comes back besides
        disturbed = what.equals("crashes") || (what.equals("is paused") && length > LEASE);
        formed = standingBut(member) > 0; // who is alone and not well leaves roles vacant
        pass(length);
        end.run();
        trace.line(member.name(), "is well again");
        pass(4 * LEASE);
        disturbed = false;
        formed = true;
    }

    private long standingBut(RosterMember one) {
        return members.stream()
                .filter(member -> member.stays() && member != one)
                .count();
    }

    // ---------------------------------------------------------------- what must hold

    private void check() {
        var now = agenda.now();
        for (var partition = 0; partition < partitions && violation == null; partition++) {
            RosterMember leader = null;
            for (var i = 0; i < members.size(); i++) {
                var member = members.get(i);
                var leads = member.alive() && leads(member, partition, i);
                if (leads && leader != null && mode != RosterMode.OVERLAPPING) {
                    violate(
                            "no two lead a role",
                            "partition " + partition + ": " + leader.name() + " and " + member.name(),
                            null);
                }
                leader = leads ? member : leader;
            }
            if (leader != null && mode != RosterMode.OVERLAPPING) {
                checkWorkBefore(leader, partition);
            }
            if (leader != null || !formed || partition >= leastRoleCount()) {
                vacantSince[partition] = now;
            } else if (storm && mode == RosterMode.OVERLAPPING) {
                var bound = disturbed ? 2 * LEASE : 0;
                require(
                        now - vacantSince[partition] <= bound,
                        "a role is never without a leader",
                        "partition " + partition + " is vacant");
            }
        }
    }

    /** Work of a member whose mandate has ended has the partition to itself until its budget has run out. */
    private void checkWorkBefore(RosterMember leader, int partition) {
        for (var i = 0; i < members.size(); i++) {
            var other = members.get(i);
            var since = agenda.now() - ledUntil[i % led.length][partition];
            if (other != leader && other.alive() && other.worksFor(partition, partitions)) {
                require(
                        since >= (long) (budget.toNanos() * (1 - DRIFT)) - 1,
                        "nobody leads a role before the predecessor's work has ended or its budget is used up",
                        "partition %d: %s leads, and %s has not given it back, %s after it led; its budget is %s"
                                .formatted(partition, leader.name(), other.name(), Duration.ofNanos(since), budget));
            }
        }
    }

    /** Asks for role number `partition`, or any higher one of that partition, which is the same mandate. */
    private boolean leads(RosterMember member, int partition, int index) {
        if (partition >= member.roster().roleCount()) {
            return false;
        }
        var mandate = member.roster().mandate(partition);
        var leads = mandate.isPresent();
        if (leads && !led[index % led.length][partition]) {
            mandates++;
        }
        led[index % led.length][partition] = leads;
        if (leads) {
            ledUntil[index % led.length][partition] = agenda.now();
        }
        if (leads && mode == RosterMode.EXCLUSIVE && agenda.now() >= tokensFrom) {
            var token = mandate.get().token();
            var own = topHolder[partition] == member;
            if (token < topToken[partition] || (token == topToken[partition] && !own)) {
                violate(
                        "tokens rise",
                        member.name() + " leads under " + token + ", after " + topToken[partition],
                        null);
            }
            topToken[partition] = token;
            topHolder[partition] = member;
        }
        return leads;
    }

    private int leastRoleCount() {
        return members.stream()
                .filter(RosterMember::stays)
                .mapToInt(member -> member.roster().roleCount())
                .min()
                .orElse(0);
    }

    /** When all is well, every role is led by one, and the partitions are shared evenly. */
    private void checkCalm() {
        var standing = members.stream().filter(RosterMember::stays).toList();
        var least = Integer.MAX_VALUE;
        var most = 0;
        var total = 0;
        for (var member : standing) {
            var count = 0;
            for (var partition = 0; partition < Math.min(partitions, roles); partition++) {
                count += member.roster().leads(partition) ? 1 : 0;
            }
            total += count;
            least = Math.min(least, count);
            most = Math.max(most, count);
        }
        var wanted = Math.min(partitions, roles);
        require(total == wanted, "once the faults stop, every role has one leader", total + " of " + wanted);
        if (roles >= partitions) {
            require(most - least <= 1, "shares differ by one partition at most", least + " to " + most);
        }
    }

    /** When all is well, there is work for every role that is led. */
    private void checkWork() {
        var since = agenda.now() - LEASE;
        for (var member : members) {
            for (var role : member.stays() ? member.roster().roles() : List.<Integer>of()) {
                require(
                        member.hasWorkedSince(role, since),
                        "once the faults stop, the task runs for every role that is led",
                        member.name() + " has begun no step of role " + role + " for a lease");
            }
        }
    }
}
