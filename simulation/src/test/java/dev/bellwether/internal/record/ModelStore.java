package dev.bellwether.internal.record;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * One key of a store with compare-and-set, and what becomes of it when all goes wrong: reads that are stale, keys that
 * are dropped, writes that were acknowledged and are forgotten, revisions that are used again. Confined to the
 * simulation.
 */
final class ModelStore {
    private static final StoredRecord NONE = new StoredRecord(0, Instant.EPOCH, SeatRecord.ABSENT);

    private static final long LONG_AGO = 1_000_000_000;

    private final Random random;
    private final boolean timed;
    private final List<Version> history = new ArrayList<>(); // of what is not forgotten
    private final Set<String> forgotten = new HashSet<>();
    private StoredRecord present = NONE;
    private long last;

    private record Version(long time, StoredRecord present, long last) {}

    /** Its revisions are counted; or they are times, by a clock that does not go back. */
    ModelStore(Random random, boolean timed) {
        this.random = random;
        this.timed = timed;
        last = random.nextInt(1_000);
        history.add(new Version(0, NONE, last));
    }

    /** Returns the new revision, or minus the present one less one if it is not this. */
    long write(long expected, SeatRecord record, long now) {
        if (present.revision() != expected) {
            return -1 - present.revision();
        }
        put(record, now);
        return present.revision();
    }

    private void put(SeatRecord record, long now) {
        last += 1 + (random.nextInt(4) == 0 ? random.nextInt(3) : 0); // others write to the bucket, too
        last = timed ? Math.max(last, LONG_AGO + now / 1_000) : last;
        set(new StoredRecord(last, Instant.ofEpochMilli(now / 1_000_000), record), now);
    }

    private void set(StoredRecord next, long now) {
        present = next;
        history.add(new Version(now, present, last));
    }

    StoredRecord read() {
        return present;
    }

    /** Returns what was there some writes ago. */
    StoredRecord readStale() {
        var from = Math.max(0, history.size() - 3);
        return history.get(from + random.nextInt(history.size() - from)).present;
    }

    /** Returns up to which revision it has given any; 0 if it does not tell. */
    long given() {
        return timed ? 0 : last;
    }

    /** The store drops the key, without a marker. */
    void drop(long now) {
        set(NONE, now);
    }

    /** An operator deletes the key, or writes something else there. */
    void overwrite(SeatRecord.Kind kind, long now) {
        put(SeatRecord.bare(kind, "?"), now);
    }

    /** All is lost. */
    void loseAll() {
        rollBack(-1);
    }

    /** All is as it was then. */
    void rollBack(long time) {
        while (history.size() > 1 && history.get(history.size() - 1).time > time) {
            forgotten.add(history.remove(history.size() - 1).present.record().stamp());
        }
        var kept = history.get(history.size() - 1);
        present = kept.present;
        last = kept.last;
        history.forEach(version -> forgotten.remove(version.present.record().stamp()));
    }

    /** Returns whether a write with this stamp was acknowledged, maybe, and is forgotten. */
    boolean hasForgotten(String stamp) {
        return forgotten.contains(stamp);
    }
}
