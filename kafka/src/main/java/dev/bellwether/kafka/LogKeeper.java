package dev.bellwether.kafka;

import dev.bellwether.kafka.LogEntry.Line;
import dev.bellwether.kafka.LogEntry.Part;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/**
 * What one process writes into a log beside the attempts of its candidates, so that there is always a base to start
 * from: resets, what settles them, and checkpoints. All who read a log do this; it does no harm if two do it at once.
 *
 * <p>Deterministic: time is an argument, and so is chance. Confined to anybody who holds the lock of the machine.
 */
final class LogKeeper {
    /*
     * Why nobody leads beside another when a log begins again. Let R be a reset that is in effect, and L the longest
     * lease that anybody may hold.
     *
     * - Anybody who leads has had a write acknowledged: it was in the log that its author had read without a gap, and
     *   after that the brokers named that topic by the id which it had before it was read. So that topic still was when
     *   the write was, and if the log has lost something, or is another one, the write was before that.
     * - A write behind R names another reset, or R: the former is void for all who read R, and the latter is void until
     * R
     *   is settled. So anybody who led before R has its last proof from before R, and its deadline is over when L has
     *   passed.
     * - Anybody who settles R had read it, and had then been told by the brokers that it still was the same topic; from
     * there
     *   it has counted L by its own clock. It names R, whose name is random: it settles nothing in any other log.
     * - L is no less than the longest lease that was allowed: it stands in each reset and checkpoint. Anybody who
     *   allows more raises it before it writes anything else, and what was settled after too short a wait is void.
     *
     * So when R is settled there is no leader, whatever was lost, and nobody has to wait for any single seat.
     *
     * If records are gone that were read, though the topic is the same (brokers have elected a leader that lacked
     * them), what is left is a state from before, in which a seat may be free whose leader still leads. A process that
     * has read what is gone writes a reset, and asks and answers nothing until it has read one behind the loss. One
     * that had not read it cannot know: until that reset stands, it may take a seat that somebody leads by a record
     * that is gone.
     *
     * A process that lost its place, but remembers, has revisions rise above all that it has seen, so that tokens do.
     */
    private static final long PAUSE_NANOS = 250_000_000;
    /** So long the others have to write a checkpoint that is wanted. */
    private static final long PATIENCE_NANOS = 2_000_000_000;

    private static final long CHECKPOINT_PATIENCE_NANOS = 20_000_000_000L;
    private static final Duration LONGEST_BETWEEN = Duration.ofMinutes(10);
    private static final int FEWEST_RECORDS = 2_000;
    private static final int LARGEST_PART = 256_000;
    /** A part, and a key that did not fit into the one before. */
    static final int LARGEST_RECORD = 2 * LARGEST_PART;

    private final Rules rules;
    private final DoubleSupplier chance;
    private final Supplier<String> ids;
    private Duration longest;
    private long known; // no revision that was ever seen here is above this
    private long lostAt = -1; // records that were read are gone from here on
    private String seen = ""; // the reset that is known since then
    private long seenNanos;
    private long quietUntilNanos;
    private boolean isQuiet;
    private boolean hasAsked; // for a checkpoint
    private long askedNanos;
    private String writing = ""; // the checkpoint that was begun
    private long begunNanos;
    private long reach = Long.MIN_VALUE; // of the last checkpoint, when it was looked at
    private long reachNanos;
    private long begun = -1; // the last checkpoint that anybody has begun
    private long begunByAnyNanos;
    private boolean wasWanted;
    private long wantedNanos; // since when another one is wanted
    private double share; // of what is due at the earliest; drawn for each checkpoint, so that not all write one

    /** The decisions on which it rests that a log that begins again has no two leaders. */
    static class Rules {
        static final Rules TRUE = new Rules();

        /** Returns whether a reset can be settled by who has known it for so long. */
        boolean maySettle(long knownNanos, Duration longest) {
            return knownNanos >= longest.toNanos();
        }

        /** Returns whether nothing counts yet: records are gone that were read, and no reset stands behind the loss. */
        boolean isLost(long lostAt, long resetOffset) {
            return resetOffset < lostAt;
        }

        /** Returns what is written into a reset: the longest lease that is known. */
        Duration longest(Duration own, Duration seen) {
            return own.compareTo(seen) > 0 ? own : seen;
        }
    }

    /**
     * What is to be done, once the brokers have been asked whether this is still the same topic.
     *
     * @param reset the one that is known from then on; empty if that was known before
     * @param entries what to append, in this order
     */
    record Plan(String reset, List<LogEntry> entries) {
        static final Plan NOTHING = new Plan("", List.of());

        boolean isEmpty() {
            return reset.isEmpty() && entries.isEmpty();
        }
    }

    /**
     * Knows nothing yet.
     *
     * @param longest the longest lease that candidates of this process may have
     * @param chance gives numbers between 0 and 1
     * @param ids gives a text that nobody else is given
     */
    LogKeeper(Rules rules, Duration longest, DoubleSupplier chance, Supplier<String> ids) {
        this.rules = rules;
        this.longest = longest;
        this.chance = chance;
        this.ids = ids;
    }

    /** Remembers what is known now, before it is forgotten. */
    void learn(LogMachine log) {
        known = Math.max(known, log.highest());
        longest = rules.longest(longest, log.longestEver());
    }

    /** Returns the highest revision that was ever seen here. */
    long known() {
        return known;
    }

    /** Records that were read are gone from this offset on, and others may stand there. */
    void hasLost(long from) {
        lostAt = from;
    }

    /** What is read from now on is another topic: what the former has lost is of no interest. */
    void readsAnother() {
        lostAt = -1;
    }

    /** Returns whether what is read here counts for nothing yet, since the log has lost what was read before. */
    boolean isLost(LogMachine log) {
        return lostAt >= 0 && rules.isLost(lostAt, log.resetOffset());
    }

    /** Returns whether this process may write: the log knows of a lease as long as ours may be. */
    boolean mayWrite(LogMachine log) {
        return log.isSettled() && !isLost(log) && log.longest().compareTo(longest) >= 0;
    }

    /** Returns how long it takes until leases from before a reset are over, as far as we have counted. */
    Duration remaining(LogMachine log, long nowNanos) {
        var passed = log.isBased() && !isLost(log) && log.epoch().equals(seen) ? nowNanos - seenNanos : 0;
        return Duration.ofNanos(
                Math.max(0, rules.longest(longest, log.longest()).toNanos() - passed));
    }

    /** What is read from now on may be another topic: what was counted for a reset, or begun, there is void. */
    void forgets() {
        seen = "";
        hasAsked = false;
        writing = "";
    }

    /** A reset has been read, and it still was the same topic then. */
    void knows(String reset, long nowNanos) {
        if (!reset.equals(seen)) {
            seen = reset;
            seenNanos = nowNanos;
        }
    }

    /** What was to be appended could not be: it is tried again after a while. */
    void pause(long nowNanos) {
        isQuiet = true;
        quietUntilNanos = nowNanos + PAUSE_NANOS + (long) (PAUSE_NANOS * chance.getAsDouble());
    }

    /**
     * Returns what is to be done now.
     *
     * <p>To be asked when all has been read that there was: anybody who is behind has seen higher revisions than it
     * finds now.
     *
     * @param isWhole whether all that there is has been read, from the first record on, if no base was found
     */
    Plan due(LogMachine log, boolean isWhole, long nowNanos) {
        if (!log.isBased()) {
            return isWhole && !isQuietAt(nowNanos) ? begin(log, nowNanos) : Plan.NOTHING;
        }
        hasAsked = false;
        if (isLost(log)) {
            return isQuietAt(nowNanos) ? Plan.NOTHING : append(nowNanos, List.of(reset(log)));
        }
        if (log.revisions() < known || log.longest().compareTo(longest) < 0) {
            return isQuietAt(nowNanos)
                    ? Plan.NOTHING
                    : append(nowNanos, List.of(new LogEntry.Raise(log.epoch(), missing(log), longest)));
        }
        if (!log.isSettled()) {
            if (!log.epoch().equals(seen)) {
                return new Plan(log.epoch(), List.of());
            }
            return !isQuietAt(nowNanos) && rules.maySettle(nowNanos - seenNanos, log.longest())
                    ? append(nowNanos, List.of(new LogEntry.Settled(log.epoch(), log.longest())))
                    : Plan.NOTHING;
        }
        return checkpoint(log, nowNanos);
    }

    /** Returns whether it is soon to be asked again what is due. */
    boolean isBusy(LogMachine log) {
        return !log.isSettled() || isLost(log) || log.wanted() >= 0 || log.reach() < 0 || !writing.isEmpty();
    }

    /** Anybody who knows what was in the log tells it; if nobody does, it begins again. */
    private Plan begin(LogMachine log, long nowNanos) {
        if (!hasAsked) {
            hasAsked = true;
            askedNanos = nowNanos;
            return append(nowNanos, List.of(new LogEntry.Wanted()));
        }
        return nowNanos - askedNanos < PATIENCE_NANOS ? Plan.NOTHING : append(nowNanos, List.of(reset(log)));
    }

    private LogEntry.Reset reset(LogMachine log) {
        return new LogEntry.Reset(ids.get(), log.next(), missing(log), longest);
    }

    /** Returns what must be added to offsets, from the next on, to rise above all that was seen here; and no more. */
    private long missing(LogMachine log) {
        return Math.max(0, known - log.next());
    }

    private boolean isQuietAt(long nowNanos) {
        return isQuiet && nowNanos - quietUntilNanos < 0;
    }

    private Plan append(long nowNanos, List<LogEntry> entries) {
        pause(nowNanos);
        return new Plan("", entries);
    }

    // ---------------------------------------------------------------- checkpoints

    private Plan checkpoint(LogMachine log, long nowNanos) {
        if (log.reach() != reach) {
            reach = log.reach();
            reachNanos = nowNanos;
            share = 1 + chance.getAsDouble();
            writing = "";
            begun = Math.min(begun, log.next()); // the log may be another one
        }
        if (!writing.isEmpty()) {
            if (log.hasWhole(writing)) {
                var whole = writing;
                writing = "";
                return append(nowNanos, List.of(new LogEntry.Complete(whole)));
            }
            if (nowNanos - begunNanos < CHECKPOINT_PATIENCE_NANOS) {
                return Plan.NOTHING;
            }
            writing = "";
        }
        if (isQuietAt(nowNanos) || !isTime(log, nowNanos)) {
            return Plan.NOTHING;
        }
        writing = ids.get();
        begunNanos = nowNanos;
        return append(nowNanos, List.copyOf(parts(log)));
    }

    private boolean isTime(LogMachine log, long nowNanos) {
        if (log.begun() > begun) {
            begun = log.begun();
            begunByAnyNanos = nowNanos;
        }
        if (begun > Math.max(reach, log.wanted()) && nowNanos - begunByAnyNanos < PATIENCE_NANOS / 2) {
            return false; // another one is at it
        }
        var waited = nowNanos - reachNanos;
        if (log.wanted() >= 0) {
            wantedNanos = wasWanted ? wantedNanos : nowNanos;
            wasWanted = true;
            return nowNanos - wantedNanos >= (long) (PAUSE_NANOS * (share - 1));
        }
        wasWanted = false;
        if (reach < 0) {
            return waited >= (long) (PAUSE_NANOS * (share - 1)); // none yet since the reset
        }
        return log.next() - reach >= share * Math.max(FEWEST_RECORDS, log.size() / 2)
                || waited >= share * LONGEST_BETWEEN.toNanos();
    }

    private List<Part> parts(LogMachine log) {
        var pages = new ArrayList<List<Line>>();
        var page = new ArrayList<Line>();
        var size = 0;
        for (var line : log.lines()) {
            var length = 60 + line.name().length() + line.text().length();
            if (size + length > LARGEST_PART && !page.isEmpty()) {
                pages.add(page);
                page = new ArrayList<>();
                size = 0;
            }
            page.add(line);
            size += length;
        }
        pages.add(page);
        var parts = new ArrayList<Part>();
        for (var number = 0; number < pages.size(); number++) {
            parts.add(new Part(writing, number, pages.size(), log.frame(), pages.get(number)));
        }
        return parts;
    }

    @Override
    public String toString() {
        return "longest lease " + Durations.show(longest) + ", revisions up to " + known;
    }
}
