package dev.bellwether.kafka;

import dev.bellwether.kafka.LogEntry.Attempt;
import dev.bellwether.kafka.LogEntry.Complete;
import dev.bellwether.kafka.LogEntry.Frame;
import dev.bellwether.kafka.LogEntry.Line;
import dev.bellwether.kafka.LogEntry.Part;
import dev.bellwether.kafka.LogEntry.Raise;
import dev.bellwether.kafka.LogEntry.Reset;
import dev.bellwether.kafka.LogEntry.Settled;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What a log says: which attempts are in effect, and so what is under each key. All who have a base to start from and
 * have read up to the same offset know the same, wherever they began.
 *
 * <p>Deterministic: there is no clock in it. Confined to anybody who holds its lock.
 */
final class LogMachine {
    /*
     * An attempt is in effect if its key is at the revision that it expects when the log is read in order. A revision
     * is the offset of the attempt that is in effect, and what is added to it, so the log must be read from a point at
     * which the state is known, and without a gap. There are two such points:
     *
     * - a reset: there is nothing then, for everybody. It is void if another one is in effect that its author had not
     *   read; who has not read what stands there cannot tell, and looks for another point;
     * - a checkpoint: the state before an offset. It is of use to anybody who has read all from that offset on, and to
     *   nobody else. What it says is not taken when it is read but there, and all that came after is judged again. So
     *   it does no harm when it is late, doubled, or written by two at once.
     *
     * After a reset nothing is in effect until it is settled: see LogKeeper. An attempt names the reset behind which it
     * was written, and where that stands; so what was sent before, or into a topic of the same name, is void.
     */
    /** So many records are kept at most while no base is found: a checkpoint that is older is of no use. */
    private static final int MOST_KEPT = 200_000;

    private static final int MOST_CHECKPOINTS = 8;
    /** A checkpoint of which nothing came for so long is not written any more; those that are come first. */
    private static final long GIVEN_UP_MILLIS = 30_000;

    private static final int MOST_STRANGERS = 1_000;
    /** So many late writes behind a reset that was ours are no news. */
    private static final int EXPECTED_LATE = 64;
    /** What is over is dropped so long after that no later record can be older. */
    private static final long GRACE_MILLIS = 3_600_000;

    /** What is under a key; an empty text is a marker that it was deleted. */
    record Kept(long revision, long writtenMillis, long untilMillis, String text) {
        /** Returns whether it was of interest until this time only. */
        boolean isOver(long millis) {
            return untilMillis != 0 && untilMillis <= millis;
        }
    }

    /** Who is told what the records that are read have led to. */
    interface Witness {
        /**
         * An attempt has been judged.
         *
         * @param revision the one at which the key is now
         */
        void judged(Attempt attempt, boolean done, long revision);

        /** There is something else under a key; null if nothing is. */
        void changed(String name, @Nullable Kept kept);
    }

    private record Read(long offset, long millis, LogEntry entry) {}

    /** From where on all is known. */
    private static final class Base {
        private final String epoch;
        private final long resetOffset;
        private long revisions;
        private Duration longest;
        private long settledRevision = -1;
        private long from; // anybody who has read from here on knows what we know
        private long reach; // of the last checkpoint: all before this is in it
        private long wanted = -1; // where somebody says that it found none
        private final NavigableMap<String, Kept> keys = new TreeMap<>();

        private Base(String epoch, long resetOffset, long revisions, Duration longest, long from) {
            this.epoch = epoch;
            this.resetOffset = resetOffset;
            this.revisions = revisions;
            this.longest = longest;
            this.from = from;
            reach = -1;
        }
    }

    /** The parts of a checkpoint that were read. */
    private static final class Parts {
        private final Frame frame;
        private final int of;
        private final Set<Integer> numbers = new HashSet<>();
        private final List<Line> lines = new ArrayList<>();
        private long latestMillis;

        private Parts(Part first) {
            frame = first.frame();
            of = first.of();
        }

        private boolean isWhole() {
            return numbers.size() == of;
        }

        private boolean isGivenUp(long millis) {
            return Math.abs(millis - latestMillis) > GIVEN_UP_MILLIS;
        }
    }

    private final Rules rules;
    private final Witness witness;
    private final Deque<Read> kept = new ArrayDeque<>(); // while there is no base
    private final Map<String, Parts> checkpoints = new LinkedHashMap<>();
    private long start;
    private long next;
    private long undecided; // where a reset is that may or may not be in effect
    private long hint;
    private String unknown = "";
    private @Nullable Base base;
    private long highest;
    private Duration longestEver = Duration.ZERO;
    /** How often somebody wrote behind a reset that is not ours. */
    private final Map<String, Integer> strangers = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Integer> eldest) {
            return size() > MOST_STRANGERS;
        }
    };

    private boolean isInDoubt;

    /** The decisions on which it rests that all readers agree. Open so that a model can show what each is good for. */
    static class Rules {
        static final Rules TRUE = new Rules();

        /** Returns whether records are missing between the one that was read last and this one. */
        boolean isGap(long next, long offset) {
            return offset != next;
        }

        /** Returns whether a reader who knows all from one offset on can start from what was known before another. */
        boolean mayStart(long knowsFrom, long asOf) {
            return asOf >= knowsFrom;
        }

        /** Returns whether a reset is in effect, of which the author had read up to an offset. */
        boolean isInEffect(long lastReset, long asOf) {
            return lastReset < asOf;
        }

        /** Returns whether a reset is of this log: nobody has read further than where its own record came to stand. */
        boolean isOfThisLog(long offset, long asOf) {
            return asOf <= offset;
        }

        /** Returns what a reset is called: its double in another topic is another one. */
        String epoch(String reset, long offset) {
            return reset + '@' + offset;
        }

        /** Returns whether what was written behind one reset concerns those who are behind another. */
        boolean isSameEpoch(String written, String read) {
            return written.equals(read);
        }

        /** Returns whether anything is in effect behind a reset. */
        boolean isOpen(boolean settled) {
            return settled;
        }

        /** Returns whether a write goes through: the key is at this revision; absent keys are where all was settled. */
        boolean isExpected(long expected, long present, boolean absent) {
            return expected == present || (absent && expected == 0);
        }

        /** Returns whether who waited so long may settle. */
        boolean hasWaited(Duration waited, Duration longest) {
            return waited.compareTo(longest) >= 0;
        }

        /** Returns whether a checkpoint counts before its author has seen that it is in the log that it is of. */
        boolean countsUnconfirmed() {
            return false;
        }
    }

    LogMachine(Witness witness) {
        this(Rules.TRUE, witness);
    }

    LogMachine(Rules rules, Witness witness) {
        this.rules = rules;
        this.witness = witness;
        beginAt(0);
    }

    // ---------------------------------------------------------------- reading

    /** Forgets all: what is read next stands at this offset. */
    void beginAt(long offset) {
        remember();
        start = offset;
        next = offset;
        undecided = -1;
        hint = -1;
        base = null;
        unknown = "";
        kept.clear();
        checkpoints.clear();
    }

    /** What tokens must rise above, and leases be waited for, is never forgotten. */
    private void remember() {
        highest = highest();
        longestEver = longestEver();
        if (base != null) {
            strangers.merge(base.epoch, EXPECTED_LATE, Math::max);
        }
    }

    /** All before this offset has been read, and there is nothing that was not told here. */
    void reached(long offset) {
        if (rules.isGap(next, offset)) {
            beginAt(offset);
        }
        next = offset;
    }

    /** Takes note of the next record; of one that is none of ours, that it is there. */
    void read(long offset, long millis, @Nullable LogEntry entry) {
        reached(offset);
        next = offset + 1;
        if (entry instanceof LogEntry.Unknown newer) {
            unknown = newer.version();
        } else if (entry != null) {
            var read = new Read(offset, millis, entry);
            var known = base;
            if (known != null) {
                apply(known, read);
            } else {
                search(read);
            }
        }
    }

    private void search(Read read) {
        kept.add(read);
        if (kept.size() > MOST_KEPT) {
            start = kept.remove().offset + 1;
        }
        if (read.entry instanceof Attempt attempt) {
            hint = Math.max(hint, attempt.hint());
        } else if (read.entry instanceof Reset reset) {
            if (!rules.isOfThisLog(read.offset, reset.asOf())) {
                return; // void for all who read it
            }
            if (rules.mayStart(Math.max(start, undecided + 1), reset.asOf())) {
                begin(reset, read.offset);
            } else {
                undecided = read.offset;
            }
        } else if (read.entry instanceof Part part) {
            collect(part, read.millis);
            if (rules.countsUnconfirmed()) {
                complete(part.id());
            }
        } else if (read.entry instanceof Complete complete) {
            complete(complete.id());
        }
    }

    private void complete(String id) {
        var parts = checkpoints.get(id);
        if (parts != null
                && parts.isWhole()
                && rules.mayStart(start, parts.frame.asOf())
                && parts.frame.asOf() <= next) {
            begin(parts);
        }
    }

    private void collect(Part part, long millis) {
        var parts = checkpoints.get(part.id());
        if (parts == null) {
            checkpoints.values().removeIf(old -> old.isGivenUp(millis));
            if (checkpoints.size() >= MOST_CHECKPOINTS) {
                return; // if each that begins displaced one, none would be completed
            }
            parts = new Parts(part);
            checkpoints.put(part.id(), parts);
        }
        parts.latestMillis = millis;
        if (parts.of == part.of()
                && parts.frame.equals(part.frame())
                && parts.numbers.add(part.number())
                && base == null) {
            parts.lines.addAll(part.lines());
        }
    }

    private void begin(Reset reset, long offset) {
        remember();
        var before = base;
        base = new Base(
                rules.epoch(reset.epoch(), offset),
                offset,
                reset.revisions(),
                reset.longest(),
                Math.max(0, Math.min(reset.asOf(), offset)));
        kept.clear();
        checkpoints.clear();
        if (before != null) {
            before.keys.keySet().forEach(name -> witness.changed(name, null));
        }
    }

    private void begin(Parts parts) {
        var frame = parts.frame;
        var known = new Base(frame.epoch(), frame.resetOffset(), frame.revisions(), frame.longest(), frame.asOf());
        known.settledRevision = frame.settledRevision();
        known.reach = frame.asOf();
        for (var line : parts.lines) {
            known.keys.put(
                    line.name(), new Kept(line.revision(), line.writtenMillis(), line.untilMillis(), line.text()));
        }
        var later = List.copyOf(kept);
        base = known;
        kept.clear();
        checkpoints.clear();
        for (var read : later) {
            var present = base;
            if (read.offset >= frame.asOf() && present != null) {
                apply(present, read);
            }
        }
    }

    private void apply(Base known, Read read) {
        var entry = read.entry;
        doubt(known, entry);
        if (entry instanceof Attempt attempt) {
            judge(known, attempt, read);
        } else if (entry instanceof Reset reset) {
            if (rules.isInEffect(known.resetOffset, reset.asOf()) && rules.isOfThisLog(read.offset, reset.asOf())) {
                begin(reset, read.offset);
            }
        } else if (entry instanceof Raise raise) {
            if (rules.isSameEpoch(raise.epoch(), known.epoch)) {
                known.revisions = Math.max(known.revisions, raise.revisions());
                known.longest = raise.longest().compareTo(known.longest) > 0 ? raise.longest() : known.longest;
            }
        } else if (entry instanceof Settled settled) {
            if (!isSettled(known)
                    && rules.isSameEpoch(settled.epoch(), known.epoch)
                    && rules.hasWaited(settled.waited(), known.longest)) {
                known.settledRevision = revision(known, read.offset);
            }
        } else if (entry instanceof Part part) {
            collect(part, read.millis);
        } else if (entry instanceof Complete complete) {
            var parts = checkpoints.remove(complete.id());
            if (parts != null && parts.isWhole() && parts.frame.epoch().equals(known.epoch)) {
                known.keys.values().removeIf(kept -> kept.isOver(read.millis - GRACE_MILLIS));
                known.from = Math.max(known.from, parts.frame.asOf());
                known.reach = Math.max(known.reach, parts.frame.asOf());
                known.wanted = known.reach > known.wanted ? -1 : known.wanted;
                checkpoints.values().removeIf(older -> older.frame.asOf() <= known.reach);
            }
        } else if (entry instanceof LogEntry.Wanted) {
            known.wanted = read.offset;
        }
    }

    /**
     * Who writes behind another reset than the one that we know is late; or we are: it may be another topic of the same
     * name, which no broker has told us yet.
     */
    private void doubt(Base known, LogEntry entry) {
        var written = entry instanceof Attempt attempt
                ? attempt.epoch()
                : entry instanceof Settled settled
                        ? settled.epoch()
                        : entry instanceof Part part ? part.frame().epoch() : known.epoch;
        if (!written.equals(known.epoch)) {
            var times = strangers.merge(written, 1, Integer::sum);
            isInDoubt |= Integer.bitCount(times) == 1; // more and more rarely: what is late comes to an end
        }
    }

    private void judge(Base known, Attempt attempt, Read read) {
        var name = attempt.name();
        var stored = known.keys.get(name);
        var present = stored == null || stored.isOver(read.millis) ? null : stored;
        var at = present == null ? Math.max(0, known.settledRevision) : present.revision;
        var done = rules.isOpen(isSettled(known))
                && rules.isSameEpoch(attempt.epoch(), known.epoch)
                && attempt.text().length() <= LogEntry.LONGEST_TEXT
                && (attempt.how() != LogEntry.How.WRITE || rules.isExpected(attempt.expected(), at, present == null));
        if (!done) {
            witness.judged(attempt, false, at);
            return;
        }
        var revision = revision(known, read.offset);
        if (attempt.how() == LogEntry.How.REMOVE) {
            known.keys.remove(name);
            witness.judged(attempt, true, Math.max(0, known.settledRevision));
            witness.changed(name, null);
            return;
        }
        var until = attempt.keptMillis() == 0 ? 0 : read.millis + attempt.keptMillis();
        var next = new Kept(revision, read.millis, until, attempt.text());
        known.keys.put(name, next);
        witness.judged(attempt, true, revision);
        witness.changed(name, next);
    }

    /** The first offset is 0, and no revision is. */
    private static long revision(Base known, long offset) {
        return known.revisions + offset + 1;
    }

    private static boolean isSettled(Base known) {
        return known.settledRevision >= 0;
    }

    // ---------------------------------------------------------------- what is known

    /** Returns the offset of what is read next. */
    long next() {
        return next;
    }

    /** Returns whether there is a base to start from. */
    boolean isBased() {
        return base != null;
    }

    /** Returns whether there is one, and all who led before it do not any more. */
    boolean isSettled() {
        return base != null && isSettled(base);
    }

    /** Returns the version of a record that is of another format; empty if there was none. */
    String unknown() {
        return unknown;
    }

    /** Returns from where on it is enough to read; negative if nobody told. */
    long hint() {
        return base == null ? hint : base.from;
    }

    /** Returns up to where the last checkpoint goes; negative if there is none since the reset. */
    long reach() {
        return base == null ? -1 : base.reach;
    }

    /** Returns where somebody says that it found no checkpoint; negative if there is one since. */
    long wanted() {
        return base == null ? -1 : base.wanted;
    }

    /** Returns up to where a checkpoint goes that somebody is writing; negative if nobody is. */
    long begun() {
        return checkpoints.values().stream()
                .mapToLong(parts -> parts.frame.asOf())
                .max()
                .orElse(-1);
    }

    /** Returns where the reset stands that is in effect; negative if there is no base. */
    long resetOffset() {
        return base == null ? -1 : base.resetOffset;
    }

    String epoch() {
        return base == null ? "" : base.epoch;
    }

    /** Returns the longest lease that may be held here. */
    Duration longest() {
        return base == null ? Duration.ZERO : base.longest;
    }

    /** Returns up to which revision any were given. */
    long revisions() {
        return base == null ? 0 : base.revisions + next;
    }

    /** Returns the highest revision that any may have had, in any log that was read here. */
    long highest() {
        return Math.max(highest, revisions());
    }

    /** Returns the longest lease that any may have had, in any log that was read here. */
    Duration longestEver() {
        return longest().compareTo(longestEver) > 0 ? longest() : longestEver;
    }

    /** Returns, once, that somebody writes behind a reset that was never heard of here: all is to be read once more. */
    boolean isInDoubt() {
        var doubt = isInDoubt;
        isInDoubt = false;
        return doubt;
    }

    /** Returns the revision of keys that are not there: that at which all was settled. */
    long settledRevision() {
        return base == null ? 0 : Math.max(0, base.settledRevision);
    }

    int size() {
        return base == null ? 0 : base.keys.size();
    }

    Optional<Kept> kept(String name) {
        return base == null ? Optional.empty() : Optional.ofNullable(base.keys.get(name));
    }

    /** Returns what is under the keys whose names begin with this. */
    Map<String, Kept> keptBelow(String beginning) {
        return base == null ? Map.of() : new TreeMap<>(base.keys.subMap(beginning, beginning + Character.MAX_VALUE));
    }

    /** Returns whether all parts of this checkpoint were read. */
    boolean hasWhole(String id) {
        var parts = checkpoints.get(id);
        return parts != null && parts.isWhole();
    }

    /** Returns the frame of a checkpoint of all that is known now; there must be something settled. */
    Frame frame() {
        var known = base;
        if (known == null) {
            throw new IllegalStateException("nothing is known here");
        }
        return new Frame(known.epoch, next, known.resetOffset, known.settledRevision, known.revisions, known.longest);
    }

    /** Returns what is under all keys, for a checkpoint. */
    List<Line> lines() {
        var lines = new ArrayList<Line>();
        if (base != null) {
            base.keys.forEach((name, kept) ->
                    lines.add(new Line(name, kept.revision, kept.writtenMillis, kept.untilMillis, kept.text)));
        }
        return lines;
    }
}
