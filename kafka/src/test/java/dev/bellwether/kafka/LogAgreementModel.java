package dev.bellwether.kafka;

import dev.bellwether.kafka.LogEntry.Attempt;
import dev.bellwether.kafka.LogEntry.Complete;
import dev.bellwether.kafka.LogEntry.How;
import dev.bellwether.kafka.LogEntry.Part;
import dev.bellwether.kafka.LogEntry.Raise;
import dev.bellwether.kafka.LogEntry.Reset;
import dev.bellwether.kafka.LogEntry.Settled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A log that is written to by anybody, late, twice, in any order; that forgets its beginning, and some of its middle if
 * it is compacted; that is deleted and created again while some write and read on. Brokers may be let lose its end,
 * though it was acknowledged. Whoever has a base must know what the one knows who has read all of it; behind a loss,
 * from the next reset on.
 *
 * <p>Confined to one thread. A run depends on its seed alone.
 */
final class LogAgreementModel {
    private static final List<String> KEYS = List.of("seats/a", "seats/b", "standbys/a/0/x");
    private static final Duration LONGEST = Duration.ofSeconds(1);
    private static final int STEPS = 400;
    private static final int READERS = 4;

    /** What becomes of the end of the log, if brokers lose it. */
    enum Losses {
        NONE,
        /** Who had read what is lost reads all once more, and writes nothing but a reset until there is one. */
        NOTICED,
        /** Who had read what is lost reads on. */
        UNNOTICED
    }

    /** A record, and which leader of the log took it. */
    private record Stored(long offset, long millis, int epoch, LogEntry entry) {}

    /** One topic, from its creation to its deletion. */
    private final class Topic {
        private final TreeMap<Long, Stored> records = new TreeMap<>();
        private final Map<Long, String> truth = new HashMap<>(); // what is known before an offset, by who reads all
        private final TreeMap<Long, Stored> all = new TreeMap<>(); // with what was forgotten, or compacted
        private final TreeMap<Integer, Long> starts = new TreeMap<>(); // where the records of each leader begin
        private LogMachine oracle = new LogMachine(new Deaf());
        private int epoch; // of the present leader
        private long lostAt = -1;
        private long start;
        private long end;

        private void append(LogEntry entry) {
            var stored = new Stored(
                    end,
                    millis,
                    epoch,
                    LogEntry.parse(entry.key(), entry.value()).orElseThrow());
            starts.putIfAbsent(epoch, end);
            records.put(end, stored);
            all.put(end, stored);
            tell(stored);
        }

        private void tell(Stored stored) {
            oracle.read(stored.offset, stored.millis, stored.entry);
            end = stored.offset + 1;
            truth.put(end, told(oracle));
        }

        private void lose(long from) {
            records.tailMap(from).clear();
            all.tailMap(from).clear();
            starts.values().removeIf(begun -> begun >= from);
            epoch++;
            lostAt = from;
            end = from;
            oracle = new LogMachine(new Deaf());
            all.values().forEach(this::tell);
        }

        /** As brokers answer who asks where the records of a leader end: whoever has read further has read lost ones. */
        private long endOf(int leader) {
            var next = starts.higherEntry(leader);
            return next == null ? end : next.getValue();
        }
    }

    /** Wants to know nothing. */
    static final class Deaf implements LogMachine.Witness {
        @Override
        public void judged(Attempt attempt, boolean done, long revision) {}

        @Override
        public void changed(String name, LogMachine.@Nullable Kept kept) {}
    }

    /** Reads and writes; goes on in a new topic as in the old one, until it notices. */
    private final class Reader {
        private LogMachine machine = new LogMachine(rules, new Deaf());
        private Topic topic; // that it believes to read
        private String checkpoint = "";
        private int epoch = -1; // of the leader that took what was read last
        private long lostAt = -1;

        private Reader() {
            topic = present;
            begin();
        }

        private void begin() {
            lostAt = isLost() ? -1 : hasReadLost() ? topic.endOf(epoch) : lostAt;
            epoch = -1;
            topic = present;
            checkpoint = "";
            machine = new LogMachine(rules, new Deaf());
            var place =
                    random.nextInt(3) == 0 ? topic.start : topic.start + random.nextLong(topic.end - topic.start + 1);
            machine.beginAt(place);
        }

        private boolean hasReadLost() {
            return epoch >= 0 && topic.endOf(epoch) < machine.next() && losses != Losses.UNNOTICED;
        }

        /** Returns whether nothing counts here before a reset. */
        private boolean isWaiting() {
            return lostAt >= 0 && machine.resetOffset() < lostAt && losses == Losses.NOTICED;
        }

        private void read() {
            if (!isLost() && hasReadLost()) {
                begin();
            }
            for (var left = 1 + random.nextInt(12); left > 0 && machine.next() < present.end; left--) {
                if (machine.next() < present.start) {
                    begin(); // out of range
                    return;
                }
                var next = present.records.ceilingEntry(machine.next());
                if (next == null) {
                    machine.reached(present.end);
                    return;
                }
                var stored = next.getValue();
                machine.read(stored.offset, stored.millis, stored.entry);
                epoch = stored.epoch;
            }
        }

        private boolean isLost() {
            return topic != present;
        }

        private Optional<String> contradiction() {
            if (isLost() || !machine.isBased() || hasReadLost()) {
                return Optional.empty(); // the brokers tell it when it asks, before anything counts
            }
            if (losses == Losses.NOTICED && present.oracle.resetOffset() < present.lostAt) {
                return Optional.empty(); // until there is a reset
            }
            based++;
            var truth = present.truth.get(machine.next());
            return truth == null || machine.next() > present.end || truth.equals(told(machine))
                    ? Optional.empty()
                    : Optional.of("at " + machine.next() + " it knows " + told(machine) + ", and it is " + truth);
        }

        private LogEntry thought() {
            var key = KEYS.get(random.nextInt(KEYS.size()));
            var at = machine.kept(key).map(LogMachine.Kept::revision).orElse(machine.settledRevision());
            var expected = random.nextInt(4) == 0 ? random.nextInt(20) : at;
            var epoch = random.nextInt(10) == 0 ? anyEpoch() : machine.epoch();
            return switch (random.nextInt(12)) {
                case 0 ->
                    new Reset(
                            name("epoch"),
                            random.nextInt(3) == 0 ? anyOffset() : machine.next(),
                            random.nextInt(50),
                            LONGEST);
                case 1 ->
                    random.nextInt(5) == 0
                            ? new LogEntry.Wanted()
                            : new Settled(epoch, random.nextInt(4) == 0 ? Duration.ZERO : LONGEST);
                case 2 ->
                    new Raise(epoch, random.nextInt(200), random.nextInt(9) == 0 ? LONGEST.plusNanos(1) : LONGEST);
                case 3 -> new Attempt(How.REMOVE, key, epoch, name("id"), 0, 0, machine.hint(), "");
                case 4 -> new Attempt(How.PUT, KEYS.get(2), epoch, name("id"), 0, 50, machine.hint(), name("put"));
                default -> new Attempt(How.WRITE, key, epoch, name("id"), expected, 0, machine.hint(), name("text"));
            };
        }

        /** A checkpoint that is being written is completed if its author finds it in the log that it read. */
        private void checkpoint() {
            if (machine.isSettled() && checkpoint.isEmpty()) {
                checkpoint = name("checkpoint");
                var lines = machine.lines();
                var cut = random.nextInt(lines.size() + 1);
                var parts = List.of(
                        new Part(checkpoint, 0, 2, machine.frame(), lines.subList(0, cut)),
                        new Part(checkpoint, 1, 2, machine.frame(), lines.subList(cut, lines.size())));
                parts.forEach(LogAgreementModel.this::send);
            } else if (!checkpoint.isEmpty()) {
                if (machine.hasWhole(checkpoint) && !isLost()) {
                    send(new Complete(checkpoint));
                }
                if (random.nextInt(3) == 0) {
                    checkpoint = "";
                }
            }
        }
    }

    private final Random random;
    private final LogMachine.Rules rules;
    private final boolean compacted;
    private final Losses losses;
    private final List<LogEntry> underWay = new ArrayList<>();
    private final List<String> epochs = new ArrayList<>(List.of("none"));
    private final List<Reader> readers = new ArrayList<>();
    private Topic present = new Topic();
    private long millis = 1_000_000;
    private long named;
    private long based;

    LogAgreementModel(long seed, LogMachine.Rules rules, boolean compacted, Losses losses) {
        random = new Random(seed);
        this.rules = rules;
        this.compacted = compacted;
        this.losses = losses;
        for (var i = 0; i < READERS; i++) {
            readers.add(new Reader());
        }
    }

    /** Returns what two know differently; empty if all agree. */
    Optional<String> run() {
        for (var step = 0; step < STEPS; step++) {
            millis += random.nextInt(5);
            var reader = readers.get(random.nextInt(READERS));
            switch (random.nextInt(100)) {
                case 0 -> present = random.nextInt(4) == 0 ? new Topic() : present;
                case 1, 2, 3 -> forget();
                case 4, 5 -> reader.begin();
                case 6, 7 -> compact();
                case 8 -> lose();
                default -> {
                    if (reader.isLost() && random.nextInt(8) == 0) {
                        reader.begin();
                    }
                    reader.read();
                    if (reader.isWaiting()) {
                        send(new Reset(name("epoch"), reader.machine.next(), random.nextInt(50), LONGEST));
                    } else if (random.nextInt(3) == 0) {
                        reader.checkpoint();
                    } else if (random.nextInt(2) == 0) {
                        send(reader.thought());
                    }
                }
            }
            deliver();
            var contradiction = reader.contradiction();
            if (contradiction.isPresent()) {
                return contradiction;
            }
        }
        return Optional.empty();
    }

    /** Returns how often somebody was compared with the truth. */
    long based() {
        return based;
    }

    private void send(LogEntry entry) {
        underWay.add(entry);
    }

    private void deliver() {
        while (!underWay.isEmpty() && random.nextInt(3) > 0) {
            var entry = underWay.remove(random.nextInt(4) == 0 ? random.nextInt(underWay.size()) : 0);
            if (random.nextInt(12) == 0) {
                underWay.add(entry); // and again
            }
            if (random.nextInt(12) > 0) {
                if (entry instanceof Reset reset) {
                    epochs.add(LogMachine.Rules.TRUE.epoch(reset.epoch(), present.end));
                }
                present.append(entry);
            }
        }
    }

    private void forget() {
        if (present.end > present.start) {
            present.start += random.nextLong(present.end - present.start + 1);
            present.records.headMap(present.start).clear();
        }
    }

    private void lose() {
        if (losses != Losses.NONE && present.end > present.start) {
            present.lose(present.end - 1 - random.nextLong(Math.min(20, present.end - present.start)));
        }
    }

    private void compact() {
        if (compacted && present.records.size() > 2) {
            var last = new HashMap<String, Long>();
            present.records.values().forEach(stored -> last.put(keyOf(stored), stored.offset));
            var until = present.start + random.nextLong(present.end - present.start);
            present.records
                    .values()
                    .removeIf(stored ->
                            stored.offset < until && last.getOrDefault(keyOf(stored), stored.offset) > stored.offset);
        }
    }

    private static String keyOf(Stored stored) {
        return new String(stored.entry.key(), StandardCharsets.UTF_8);
    }

    private long anyOffset() {
        return random.nextLong(present.end + 5);
    }

    private String anyEpoch() {
        return epochs.get(random.nextInt(epochs.size()));
    }

    private String name(String what) {
        return what + ++named;
    }

    private static String told(LogMachine machine) {
        return machine.isBased() ? machine.isSettled() + " " + machine.frame() + " " + machine.lines() : "nothing";
    }
}
