package dev.bellwether.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics;
import dev.bellwether.kafka.Group.Commit;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Standing;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The rules of the journal without a broker: {@link JournalRules} and {@link SeatMachine} as they are, on a log that
 * forgets what is older than a lease, or compacts it, among members that are frozen, cut off and replaced, whose producers write late,
 * twice, or long after another has taken their place.
 *
 * <p>The group lies: it gives the seat to anybody at any time and accepts every commit, so that the journal alone must
 * keep two from leading. Only after the topic was deleted does it tell the truth, for a lease and a half, and for as
 * long as a member has not noticed: then there is nothing that the journal could know.
 *
 * <p>Confined to one thread. A run depends on its seed alone.
 */
final class JournalModel {
    static final Duration LEASE = Duration.ofSeconds(1);
    private static final String ELECTION = "billing";
    private static final long MILLI = 1_000_000;
    private static final long KEEP_NANOS = LEASE.toNanos() * 103 / 100;
    private static final double DRIFT = 0.005;
    private static final CandidacyConfig CONFIG = CandidacyConfig.builder()
            .lease(LEASE)
            .renewInterval(Duration.ofMillis(300))
            .retryInterval(Duration.ofMillis(50))
            .standDownBudget(Duration.ofMillis(200))
            .build();

    /** What a member makes of a record before it reads it: nothing, unless a fault is planted. */
    interface Reading {
        /** Returns the record; empty if the member is blind to it. */
        Optional<Entry> of(Entry entry, ElectionState known, String ownNonce);
    }

    /**
     * What goes wrong. Each seed has some of it often, some as usual, and some never: rare things meet only where each
     * is frequent.
     */
    private enum Trouble {
        FORGET(0.02),
        DELETE_TOPIC(0.001),
        MOVE_SEAT(0.01),
        CUT(0.002),
        DEAF(0.004),
        FREEZE(0.001),
        LAG(0.003),
        SLOW(0.002),
        SLOW_WRITES(0.003),
        REPLACE_PRODUCER(0.04),
        DIE(0.0003),
        ALL_DIE(0.0003),
        CHOOSE_TOKEN(0.3),
        WRITE_TWICE(0.1),
        RESIGN(0.003);

        private final double usual;

        Trouble(double usual) {
            this.usual = usual;
        }
    }

    private record Written(Entry entry, long offset, long atNanos) {}

    private record Sent(Entry entry, long dueNanos) {}

    /** The log that there is: its records by their offsets. A topic that is created again is another one. */
    private static final class Log {
        private final TreeMap<Long, Written> records = new TreeMap<>();
        private long start;
        private long end;
    }

    private final Random random;
    private final Reading reading;
    private final Map<Trouble, Double> troubles = new EnumMap<>(Trouble.class);
    private final List<Member> members = new ArrayList<>();
    private final List<String> trace = new ArrayList<>();
    private Log log = new Log();
    private final boolean compacts;
    private long now; // true time, in nanoseconds
    private long honestUntil;
    private boolean recreated;
    private boolean calm;
    private int instances;
    private int grants;
    private long highestGranted;
    private @Nullable String violation;

    JournalModel(long seed, Reading reading) {
        random = new Random(seed);
        this.reading = reading;
        for (var trouble : Trouble.values()) {
            var often = List.of(0, 1, 1, 4).get(random.nextInt(4));
            troubles.put(trouble, trouble.usual * (trouble == Trouble.MOVE_SEAT ? Math.max(1, often) : often));
        }
        compacts = random.nextBoolean();
        for (var i = 0; i < 3; i++) {
            members.add(new Member(i));
        }
    }

    /** What a run came to. */
    record Outcome(Optional<String> violation, int grants, List<String> trace) {}

    /** Lets things go wrong for so long, then mends all, and looks whether somebody leads. */
    Outcome run(Duration time) {
        for (var until = now + time.toNanos(); now < until && violation == null; ) {
            step();
        }
        calm = true;
        var grantsBefore = grants;
        members.forEach(Member::repair);
        for (var until = now + 8 * LEASE.toNanos(); now < until && violation == null; ) {
            step();
        }
        if (violation == null && members.stream().noneMatch(Member::leads)) {
            violation =
                    "nobody leads, eight leases after all was mended (" + (grants - grantsBefore) + " grants since)";
        }
        return new Outcome(Optional.ofNullable(violation), grants, trace);
    }

    private boolean chance(Trouble trouble) {
        return !calm && random.nextDouble() < troubles.getOrDefault(trouble, 0.0);
    }

    private long millis(int from, int to) {
        return (from + random.nextInt(to - from)) * MILLI;
    }

    private void step() {
        now += millis(1, 15);
        forget();
        if (chance(Trouble.DELETE_TOPIC)) {
            deleteTopic();
        }
        if (chance(Trouble.ALL_DIE)) {
            members.forEach(Member::die);
        }
        if (chance(Trouble.MOVE_SEAT)) {
            moveSeat();
        } else if (calm && now >= honestUntil && members.stream().noneMatch(member -> member.owns)) {
            var next = members.get(random.nextInt(members.size()));
            next.isSameLog(LEASE);
            next.owns = true;
        }
        members.forEach(Member::step);
        judge();
    }

    /** What is older than a lease may go: all of it, or what has a later record of its key. */
    private void forget() {
        if (!chance(Trouble.FORGET)) {
            return;
        }
        if (compacts) {
            compact();
            return;
        }
        while (!log.records.isEmpty() && now - log.records.firstEntry().getValue().atNanos > KEEP_NANOS) {
            log.records.pollFirstEntry();
        }
        log.start = log.records.isEmpty() ? log.end : log.records.firstKey();
        note("the log begins at " + log.start);
    }

    private void compact() {
        var later = new HashSet<String>();
        for (var each : List.copyOf(log.records.descendingMap().values())) {
            if (now - each.atNanos > KEEP_NANOS && !later.add(new String(each.entry.key(), UTF_8))) {
                log.records.remove(each.offset);
            }
        }
        note("the log is compacted to " + log.records.size());
    }

    private void deleteTopic() {
        log = new Log();
        members.forEach(Member::loseTopic);
        recreated = true;
        honestUntil = now + 3 * LEASE.toNanos() / 2;
        note("the topic is another one");
    }

    /** Somebody threw the owner out, or the coordinator has lost its memory. */
    private void moveSeat() {
        if (now < honestUntil) {
            members.forEach(member -> member.owns = false);
            return;
        }
        var next = members.get(random.nextInt(members.size()));
        for (var member : members) {
            if (member != next && member.owns) {
                member.owns = false;
                if (random.nextBoolean()) {
                    member.mail(member.machine::lost);
                }
            }
        }
        if (next.source != log) {
            return;
        }
        next.owns = true;
        note("the group gives the seat to " + next.name());
    }

    private void judge() {
        var leading = members.stream().filter(Member::leads).toList();
        if (leading.size() > 1) {
            violation = Never.MARK + "two lead: " + leading.get(0).name() + " and "
                    + leading.get(1).name();
        } else if (leading.size() == 1) {
            members.stream()
                    .filter(member -> member != leading.get(0) && member.works())
                    .forEach(member -> violation = Never.MARK + member.name() + " works while "
                            + leading.get(0).name() + " leads");
        }
    }

    private void note(String what) {
        trace.add(now / MILLI + " " + what);
    }

    /** A candidate: its process, its clock, its reader, its producer. */
    private final class Member implements Claimant, Clock, JournalClient, Group, SeatThread {
        private final int number;
        private double rate = 1;
        private long offsetNanos;
        private String instance = "";

        // confined to the member's two threads, which the model runs in turn
        private JournalRules rules = new JournalRules(ELECTION, 0);
        private Log source = log;
        private long next;
        private Deque<Runnable> inbox = new ArrayDeque<>();
        private SeatMachine machine = born();
        private boolean owns;

        private final Deque<Sent> producer = new ArrayDeque<>();
        private final List<Sent> replaced = new ArrayList<>();
        private long cutUntil;
        private long deafUntil;
        private long frozenUntil;
        private long slowUntil;
        private long laggingUntil;
        private long laggingWritesUntil;

        private long token;
        private boolean valid;
        private boolean working;
        private long deadlineNanos; // on its own clock: when its work must have ended
        private long endsAtNanos;

        Member(int number) {
            this.number = number;
        }

        String name() {
            return "abc".charAt(number) + "/" + instance;
        }

        /** A new process, in the place of the former. */
        private SeatMachine born() {
            rate = 1 + DRIFT * (2 * random.nextDouble() - 1);
            offsetNanos = random.nextInt(1_000_000) * MILLI;
            instance = "i" + ++instances;
            rules = new JournalRules(ELECTION, nanos());
            source = log;
            next = source.start;
            inbox = new ArrayDeque<>();
            valid = false;
            working = false;
            var made = new SeatMachine(
                    new Standing(ELECTION, "m" + number, instance, CONFIG), this, this, this, this, this);
            while (next < source.end) {
                readOne(made);
            }
            made.caughtUp(rules.known());
            made.wanted(least());
            return made;
        }

        /**
         * A joint election chooses a token that is above all that were granted. What retention takes, no claim makes up
         * for: there nobody chooses.
         */
        private long least() {
            return compacts && chance(Trouble.CHOOSE_TOKEN) ? highestGranted + 1 + random.nextInt(3_000) : 0;
        }

        private void die() {
            note(name() + " dies");
            producer.clear();
            machine = born();
            note(name() + " is born");
        }

        void mail(Runnable message) {
            inbox.add(message);
        }

        /** What the journal forgot before its time, the group has to know: it gives the seat to nobody for a while. */
        void loseTopic() {
            owns = false;
            producer.clear();
            replaced.clear();
        }

        void repair() {
            cutUntil = 0;
            deafUntil = 0;
            frozenUntil = 0;
            slowUntil = 0;
            laggingUntil = 0;
            laggingWritesUntil = 0;
        }

        boolean leads() {
            return valid && nanos() < deadlineNanos - CONFIG.standDownBudget().toNanos();
        }

        boolean works() {
            return working && nanos() < Math.min(deadlineNanos, endsAtNanos);
        }

        void step() {
            trouble();
            writeWhatIsDue();
            if (now < frozenUntil) {
                return;
            }
            if (now >= cutUntil && now >= deafUntil) {
                read();
            }
            if (now >= slowUntil) {
                turn();
            }
        }

        private void trouble() {
            if (chance(Trouble.CUT)) {
                cutUntil = now + millis(50, 4_000);
                note(name() + " is cut off for " + (cutUntil - now) / MILLI);
            } else if (chance(Trouble.DEAF)) {
                deafUntil = now + millis(20, 900);
                note(name() + " reads nothing for " + (deafUntil - now) / MILLI);
            } else if (chance(Trouble.FREEZE)) {
                frozenUntil = now + millis(50, 3_000);
                note(name() + " is frozen for " + (frozenUntil - now) / MILLI);
            } else if (chance(Trouble.LAG)) {
                laggingUntil = now + millis(300, 3_000);
                note(name() + " reads little for " + (laggingUntil - now) / MILLI);
            } else if (chance(Trouble.SLOW)) {
                slowUntil = now + millis(20, 600);
            } else if (chance(Trouble.SLOW_WRITES)) {
                laggingWritesUntil = now + millis(300, 3_000);
                note(name() + " writes slowly for " + (laggingWritesUntil - now) / MILLI);
            } else if (!producer.isEmpty() && chance(Trouble.REPLACE_PRODUCER)) {
                replaced.addAll(producer.stream()
                        .filter(sent -> random.nextBoolean())
                        .map(sent -> new Sent(sent.entry, now + millis(1, 2_500)))
                        .toList());
                producer.clear();
                note(name() + " has another producer; of the former's records will come late: " + replaced.size());
            } else if (chance(Trouble.DIE)) {
                die();
            }
        }

        private void writeWhatIsDue() {
            while (!producer.isEmpty() && producer.getFirst().dueNanos <= now && now >= cutUntil) {
                append(producer.removeFirst().entry);
            }
            for (var late : List.copyOf(replaced)) {
                if (late.dueNanos <= now) {
                    replaced.remove(late);
                    append(late.entry);
                    if (chance(Trouble.WRITE_TWICE)) {
                        append(late.entry);
                    }
                }
            }
        }

        private void append(Entry entry) {
            log.records.put(log.end, new Written(entry, log.end, now));
            note(log.end + ": " + entry.what() + " of " + entry.fields().text("nonce") + " token "
                    + entry.fields().text("token") + " base " + entry.fields().text("base") + " beat "
                    + entry.fields().text("beat"));
            log.end++;
        }

        private void read() {
            if (next < log.start || next > log.end) {
                source = log;
                beginAgain();
            }
            var most = now >= laggingUntil ? random.nextInt(4) : random.nextInt(40) == 0 ? 0 : -1;
            for (var many = most; many >= 0 && next < log.end; many--) {
                readOne(machine);
            }
        }

        @Override
        public boolean isSameLog(Duration patience) {
            if (now < cutUntil) {
                return false;
            }
            if (source != log) {
                source = log;
                beginAgain();
                return false;
            }
            return true;
        }

        private void beginAgain() {
            note(name() + " is out of range at " + next + " of " + log.start + " to " + log.end);
            rules.beginAgain(nanos());
            next = log.start;
            var known = rules.known();
            mail(() -> machine.noticed(null, known));
        }

        private void readOne(SeatMachine reader) {
            var record = log.records.get(
                    next++); // as another topic may have grown past our place, nothing shows that it is another
            if (record == null) {
                return;
            }
            var own = rules.known().seat() != null
                            && rules.known().seat().instance().equals(instance)
                    ? rules.known().seat().id().toString()
                    : "";
            reading.of(record.entry, rules.known(), own).ifPresent(entry -> {
                rules.read(entry, record.offset, Instant.EPOCH, nanos());
                var known = rules.known();
                mail(() -> reader.noticed(entry, known));
            });
        }

        private void turn() {
            for (var message = inbox.poll(); message != null; message = inbox.poll()) {
                message.run();
            }
            if (working && (endsAtNanos - nanos() <= 0 || nanos() >= deadlineNanos)) {
                working = false;
                valid = false;
                machine.released();
                machine.wanted(least());
            } else if (leads() && chance(Trouble.RESIGN)) {
                end("resigns", CONFIG.standDownBudget());
                machine.conceded(CONFIG.standDownBudget());
            }
            machine.act();
        }

        private void end(String why, Duration within) {
            note(name() + ' ' + why);
            valid = false;
            endsAtNanos = nanos() + (long) (within.toNanos() * random.nextDouble());
        }

        // ---------------------------------------------------------------- claimant

        @Override
        public void granted(long granted, Proof proof) {
            token = granted;
            valid = true;
            working = true;
            endsAtNanos = Long.MAX_VALUE;
            deadline(proof);
            if (leads()) { // a proof that comes too late is none
                grants++;
                if (!recreated && granted <= highestGranted) {
                    violation = Never.MARK + name() + " was granted " + granted + " after " + highestGranted;
                }
                highestGranted = Math.max(highestGranted, granted);
            }
            note(name() + " is granted " + granted + ", for " + (deadlineNanos - nanos()) / MILLI);
            judge();
        }

        @Override
        public void proven(long proven, Proof proof) {
            if (valid && proven == token && leads()) {
                deadline(proof);
            }
        }

        private void deadline(Proof proof) {
            deadlineNanos = proof.since().nanos() + proof.guarantee().toNanos() * 99 / 100;
        }

        @Override
        public void asked(long asked, Cause cause, Duration within) {
            end("is asked: " + cause, within);
        }

        @Override
        public void lost(long lost, Cause cause) {
            end("has lost " + lost + ": " + cause, Duration.ofMillis(100));
        }

        @Override
        public void following(Optional<String> leader) {}

        @Override
        public void ended() {}

        @Override
        public void failed(ElectionException error) {}

        @Override
        public void left() {}

        @Override
        public void attempted(Metrics.Attempt attempt, Duration latency) {}

        // ---------------------------------------------------------------- clock, group, book, turns

        @Override
        public long nanos() {
            return offsetNanos + (long) (now * rate);
        }

        @Override
        public long wallMillis() {
            return nanos() / MILLI;
        }

        @Override
        public boolean owns() {
            return owns;
        }

        @Override
        public boolean joined() {
            return true;
        }

        @Override
        public long highestToken() {
            return 0;
        }

        @Override
        public Commit commit() {
            if (now < cutUntil) {
                return Commit.UNANSWERED;
            }
            return source == log || owns ? Commit.ACCEPTED : Commit.REFUSED;
        }

        @Override
        public void askToRebalance() {}

        @Override
        public void leave() {
            owns = false;
        }

        @Override
        public ElectionState known(String election) {
            return rules.known();
        }

        @Override
        public long nextOffset() {
            return next;
        }

        @Override
        public void write(Entry entry, Consumer<@Nullable Exception> done) {
            var due = now + (now < laggingWritesUntil ? millis(50, 500) : millis(1, 40));
            producer.add(new Sent(entry, due));
        }

        @Override
        public Optional<ElectionException> refusal(Throwable error) {
            return Optional.empty();
        }

        @Override
        public void post(Runnable message) {
            mail(message);
        }

        @Override
        public void await(Duration longest) {}

        @Override
        public boolean abandoned() {
            return false;
        }
    }
}
