package dev.bellwether.kafka;

import dev.bellwether.kafka.LogEntry.Attempt;
import dev.bellwether.kafka.LogEntry.How;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Leases in a log that is deleted, created again and cut off at its beginning under those who lead: {@link LogMachine}
 * and {@link LogKeeper} as they are, among processes that are frozen, cut off and replaced, whose records come late,
 * twice or never. Brokers may be let name the former topic for a while, and lose what they acknowledged.
 *
 * <p>Confined to one thread. A run depends on its seed alone.
 */
final class LogLeadersModel {
    static final Duration LONGEST = Duration.ofMillis(600);
    private static final long LEASE_MILLIS = 500;
    private static final long MILLI = 1_000_000;
    private static final String SEAT = "seats/billing";
    private static final String VACANT = "vacant";
    private static final int PROCESSES = 4;

    /** What is done wrongly; nothing, unless a fault is planted. */
    record Faults(
            LogMachine.Rules reading,
            LogKeeper.Rules keeping,
            boolean asksWhichTopicItIs,
            boolean doubts,
            boolean forgets,
            int longestStaleMillis,
            Losses losses,
            boolean noticesLosses) {
        static final Faults NONE = keeping(LogKeeper.Rules.TRUE);

        static Faults keeping(LogKeeper.Rules keeping) {
            return new Faults(LogMachine.Rules.TRUE, keeping, true, true, true, 0, Losses.NONE, true);
        }

        /** Returns the same, with brokers that lose what they acknowledged. */
        Faults with(Losses lost) {
            return new Faults(reading, keeping, asksWhichTopicItIs, doubts, forgets, longestStaleMillis, lost, true);
        }

        /** Returns the same, with processes that read on behind an end that was cut off. */
        Faults withoutNotice() {
            return new Faults(reading, keeping, asksWhichTopicItIs, doubts, forgets, longestStaleMillis, losses, false);
        }
    }

    /** What is gone from the end of the log, though it was acknowledged, when brokers elect a leader that lacks it. */
    enum Losses {
        NONE,
        /** What each process has read that is there until the log begins again. */
        READ_BY_ALL,
        /** Anything. */
        ANY
    }

    private final class Topic {
        private final List<LogEntry> records = new ArrayList<>();
        private final List<Integer> epochs = new ArrayList<>(); // of the leader that took each record
        private final TreeMap<Integer, Integer> starts = new TreeMap<>(); // where the records of each leader begin
        private int start;
        private int epoch; // of the present leader
        private int lostAt = -1;

        private void append(LogEntry entry) {
            starts.putIfAbsent(epoch, records.size());
            records.add(entry);
            epochs.add(epoch);
        }

        /** Another leader is elected, which lacks what is from here on. */
        private void lose(int from) {
            records.subList(from, records.size()).clear();
            epochs.subList(from, epochs.size()).clear();
            starts.values().removeIf(begun -> begun >= from);
            epoch++;
            lostAt = from;
        }

        /** As brokers answer who asks where the records of a leader end: whoever has read further has read lost ones. */
        private int endOf(int leader) {
            var next = starts.higherEntry(leader);
            return next == null ? records.size() : next.getValue();
        }

        /** Returns whether all has begun again since records were lost. */
        private boolean isWhole() {
            var machine = new LogMachine(new LogAgreementModel.Deaf());
            for (var i = 0; i < records.size(); i++) {
                machine.read(i, now, records.get(i));
            }
            return machine.resetOffset() >= lostAt;
        }
    }

    private record Event(long atMillis, Runnable action) {}

    private record Seen(long revision, long atMillis) {}

    private final class Member implements LogMachine.Witness {
        private final LogMachine machine = new LogMachine(faults.reading, this);
        private final LogKeeper keeper =
                new LogKeeper(faults.keeping, LONGEST, random::nextDouble, () -> "id" + ++named);
        private Topic topic = present;
        private long frozenUntil;
        private long cutUntil;
        private long inSince = now; // since when it was neither frozen nor cut off
        private long deadline; // until then it leads
        private long revision; // of its record, while it leads
        private long sentAt;
        private String attempt = ""; // that is under way
        private @Nullable Seen seen;
        private int epoch; // of the leader that took what was read last
        private boolean isKeeping;
        private boolean fromStart;

        private Member() {
            begin();
        }

        private void begin() {
            if (topic != present) {
                keeper.readsAnother();
            }
            topic = present;
            keeper.learn(machine);
            if (faults.forgets) {
                keeper.forgets();
            }
            machine.beginAt(topic.start);
            epoch = -1;
            fromStart = true;
            seen = null;
        }

        private boolean isOut() {
            return now < frozenUntil || now < cutUntil;
        }

        /** Has tokens rise: it remembers this one, and has read all along. */
        private boolean vouchesFor(long token) {
            return keeper.known() >= token && now - inSince > 10 * LONGEST.toMillis();
        }

        private void run() {
            if (isOut()) {
                inSince = now;
            }
            if (now < frozenUntil) {
                return;
            }
            if (!isOut() && random.nextInt(3) == 0) {
                fetch();
                keep();
            }
            stand();
        }

        private void fetch() {
            var end = present.endOf(epoch);
            if (epoch >= 0 && end < machine.next() && faults.noticesLosses) {
                keeper.hasLost(end);
                begin();
                attempt = "";
            }
            if (machine.next() < present.start || machine.next() > present.records.size()) {
                begin();
            }
            while (machine.next() < present.records.size()) {
                var offset = (int) machine.next();
                machine.read(offset, now, present.records.get(offset));
                epoch = present.epochs.get(offset);
            }
            keeper.learn(machine);
            if (machine.isInDoubt() && faults.doubts) {
                begin();
                attempt = ""; // what has been judged may be of another log
            }
        }

        /** Asks the brokers which topic this is, and goes on if it still is the one that was read. */
        private void ask(Consumer<Boolean> then) {
            if (!faults.asksWhichTopicItIs) {
                then.accept(true);
                return;
            }
            var read = topic;
            later(() -> {
                var found = now < staleUntil && random.nextBoolean() ? former : present;
                later(() -> {
                    if (found != read || topic != read) {
                        if (topic == read) {
                            begin();
                        }
                        then.accept(false);
                    } else {
                        then.accept(true);
                    }
                });
            });
        }

        private void later(Runnable action) {
            at(now + 1 + random.nextInt(4), () -> {
                if (isOut()) {
                    later(action);
                } else {
                    action.run();
                }
            });
        }

        private void keep() {
            if (isKeeping) {
                return;
            }
            var plan = keeper.due(machine, fromStart && !machine.isBased(), now * MILLI);
            if (plan.isEmpty()) {
                return;
            }
            isKeeping = true;
            ask(same -> {
                isKeeping = false;
                if (!same) {
                    keeper.pause(now * MILLI);
                    return;
                }
                if (!plan.reset().isEmpty()) {
                    keeper.knows(plan.reset(), now * MILLI);
                }
                plan.entries().forEach(LogLeadersModel.this::append);
            });
        }

        private void stand() {
            if (!attempt.isEmpty() && now - sentAt < LEASE_MILLIS / 3) {
                return;
            }
            attempt = "";
            if (!machine.isSettled() || keeper.isLost(machine)) {
                return;
            }
            if (now < deadline) {
                if (random.nextInt(1_000) == 0) {
                    deadline = now;
                    append(write("release" + ++named, revision, VACANT));
                } else if (now - sentAt >= LEASE_MILLIS / 5) {
                    send(revision);
                }
                return;
            }
            var held = machine.kept(SEAT);
            if (held.isEmpty()) {
                send(machine.settledRevision());
                return;
            }
            if (held.get().text().equals(VACANT)) {
                send(held.get().revision());
            } else if (seen == null || seen.revision != held.get().revision()) {
                seen = new Seen(held.get().revision(), now);
            } else if (now - seen.atMillis >= LEASE_MILLIS) {
                send(seen.revision);
            }
        }

        private void send(long expected) {
            attempt = "attempt" + ++named;
            sentAt = now;
            append(write(attempt, expected, "held"));
        }

        private Attempt write(String id, long expected, String text) {
            return new Attempt(How.WRITE, SEAT, machine.epoch(), id, expected, 0, machine.hint(), text);
        }

        @Override
        public void judged(Attempt judged, boolean done, long at) {
            if (!judged.id().equals(attempt)) {
                return;
            }
            var proof = sentAt;
            ask(same -> {
                if (same && judged.id().equals(attempt)) {
                    attempt = "";
                    if (done && (now < deadline || proof + LEASE_MILLIS > now)) {
                        grants++;
                        if (at < highest && processes.stream().anyMatch(one -> one.vouchesFor(highest))) {
                            fallen = "token " + at + " after " + highest + " at " + now;
                        }
                        highest = Math.max(highest, at);
                        revision = at;
                        deadline = proof + LEASE_MILLIS;
                    }
                }
            });
        }

        @Override
        public void changed(String name, LogMachine.@Nullable Kept kept) {}
    }

    private final Random random;
    private final Faults faults;
    private final List<Member> processes = new ArrayList<>();
    private final List<Event> events = new ArrayList<>();
    private final List<Long> dead = new ArrayList<>(); // until when those lead of whom nothing is heard any more
    private Topic present = new Topic();
    private Topic former = present;
    private long staleUntil; // until then some are told that it still is the former one
    private long now = 1;
    private long highest;
    private String fallen = "";
    private long named;
    private int grants;

    LogLeadersModel(long seed, Faults faults) {
        random = new Random(seed);
        this.faults = faults;
        for (var i = 0; i < PROCESSES; i++) {
            processes.add(new Member());
        }
    }

    /** Lives for so long; returns what must never be, if it was. */
    Optional<String> run(Duration time) {
        while (now < time.toMillis()) {
            now++;
            trouble();
            for (var event : List.copyOf(events)) {
                if (event.atMillis <= now) {
                    events.remove(event);
                    event.action.run();
                }
            }
            processes.forEach(Member::run);
            var leaders = processes.stream().filter(one -> now < one.deadline).count()
                    + dead.stream().filter(until -> now < until).count();
            if (leaders > 1) {
                return Optional.of(Never.mark("two leaders at " + now));
            }
            if (!fallen.isEmpty()) {
                return Optional.of(Never.mark(fallen));
            }
        }
        return Optional.empty();
    }

    int grants() {
        return grants;
    }

    private void trouble() {
        var one = random.nextInt(PROCESSES);
        switch (random.nextInt(5_000)) {
            case 0 -> replaceTopic();
            case 1 -> {
                if (maySpare()) {
                    present.start += random.nextInt(present.records.size() - present.start + 1);
                }
            }
            case 2, 3 -> processes.get(one).frozenUntil = now + random.nextInt(1_500);
            case 4, 5 -> processes.get(one).cutUntil = now + random.nextInt(1_500);
            case 6 -> {
                if (maySpare()) {
                    replace(one, new Member());
                }
            }
            case 7, 8 -> lose();
            default -> {}
        }
    }

    private void replace(int one, Member newcomer) {
        dead.add(processes.get(one).deadline);
        processes.set(one, newcomer);
        if (processes.stream().noneMatch(each -> each.keeper.known() >= highest)) {
            highest = 0; // tokens may begin again
        }
    }

    /** Returns whether those may be taken away who remember what is lost, and that they do not see that it is. */
    private boolean maySpare() {
        return faults.losses != Losses.READ_BY_ALL || present.isWhole();
    }

    /** What was read last, by all or by anybody, is gone. */
    private void lose() {
        if (faults.losses == Losses.NONE) {
            return;
        }
        var most = present.records.size();
        if (faults.losses == Losses.READ_BY_ALL) {
            for (var one : processes) {
                most = Math.min(most, one.topic == present ? (int) one.machine.next() : 0);
            }
        }
        var from = most - 1 - random.nextInt(20);
        if (from >= present.start && from >= 0) {
            present.lose(from);
        }
    }

    /** What others have in it from the beginning may be more than what was in the old one. */
    private void replaceTopic() {
        var size = present.records.size() + random.nextInt(20);
        former = present;
        present = new Topic();
        staleUntil = now + random.nextInt(faults.longestStaleMillis + 1);
        if (random.nextBoolean()) {
            var newcomer = new Member();
            replace(0, newcomer);
            var filling = present;
            at(now + 1 + random.nextInt(200), () -> {
                for (var i = filling.records.size(); i < size; i++) {
                    filling.append(new LogEntry.Complete("filling"));
                }
            });
        }
    }

    private void append(LogEntry entry) {
        if (entry instanceof LogEntry.Reset && random.nextInt(4) == 0) {
            at(now + 1, this::replaceTopic); // it is under way, and comes to stand in another topic
        }
        if (entry instanceof LogEntry.Reset && random.nextInt(2) == 0) {
            at(now + 2_700 + random.nextInt(1_500), () -> arrive(entry)); // when all has long been settled
        }
        for (var copies = random.nextInt(5) == 0 ? 2 : 1; copies > 0; copies--) {
            var delay = switch (random.nextInt(30)) {
                case 0 -> random.nextInt(3_000);
                case 1, 2 -> random.nextInt(900);
                default -> 1 + random.nextInt(5);
            };
            if (random.nextInt(50) > 0) {
                at(now + delay, () -> arrive(entry));
            }
        }
    }

    private void arrive(LogEntry entry) {
        present.append(LogEntry.parse(entry.key(), entry.value()).orElseThrow());
    }

    private void at(long millis, Runnable action) {
        events.add(new Event(millis, action));
    }
}
