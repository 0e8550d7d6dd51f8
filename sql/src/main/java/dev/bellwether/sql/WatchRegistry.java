package dev.bellwether.sql;

import dev.bellwether.Watch;
import dev.bellwether.spi.Listeners;
import dev.bellwether.spi.View;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * What is known here about seats that somebody watches or stands by for, and who is to be told. Thread-safe.
 */
final class WatchRegistry {
    /*
     * Somebody has to look at a lease when it should have run out: a crash tells nobody, and a renewal is told to
     * nobody. Not all need to. The standby that looks and finds the lease extended announces it, so that all others
     * that listen go back to sleep. It looks again the moment the lease runs out. The others look later, and not all at
     * once, so that they look only if that standby is gone too, or so busy that its notice comes late. So a seat costs
     * one look a lease, however many stand by. As long as nobody has announced anything, nobody is the first, and all
     * look soon after the end, though not all at once either.
     */
    private static final long STAGGER_LEAST_MICROS = TimeUnit.MILLISECONDS.toMicros(12);
    private static final long STAGGER_MOST_MICROS = TimeUnit.MILLISECONDS.toMicros(32);
    private static final long AFTER_LEAST_MICROS = TimeUnit.MILLISECONDS.toMicros(50);
    private static final long AFTER_MOST_MICROS = TimeUnit.MILLISECONDS.toMicros(150);
    /** The longest that anybody is made to wait beyond the end of a lease. */
    static final long LATEST_MICROS = AFTER_MOST_MICROS;

    /** So many leases long, notices alone keep a standby waiting: then it looks for itself. */
    private static final long BELIEVED_TERMS = 10;

    private static final long SHORTER_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final Listeners<Consumer<View>> watchers = new Listeners<>();
    private final Map<String, Known> known = new ConcurrentHashMap<>();
    private final Map<String, Seen> seen = new ConcurrentHashMap<>();

    /** A row that we read ourselves, and when. */
    private record Seen(SeatRow row, long nanos) {}

    /** A row, and until when its lease would last if it is not extended. */
    private record Known(SeatRow row, long untilNanos) {}

    Watch add(String election, Consumer<View> watcher) {
        return watchers.add(election, watcher, () -> {
            known.remove(election);
            seen.remove(election);
        });
    }

    boolean isEmpty() {
        return watchers.isEmpty();
    }

    /** Returns the elections that somebody watches. */
    List<String> elections() {
        return List.copyOf(watchers.names());
    }

    /** Tells the watchers what we read, and notes that they know. */
    void tell(SeatRow row) {
        note(row);
        tellAll(row);
    }

    /**
     * Takes a notice for the hint that it is: anybody who may connect to the database can send one. It can have a
     * standby ask for the seat, and believe that a lease that we have read of was extended, for no longer than it was
     * then, and only so many times. Returns whether it says something else, so that somebody must look at the seat.
     */
    boolean heard(SeatRow hint, boolean own) {
        if (!watchers.has(hint.election())) {
            return false;
        }
        var last = seen.get(hint.election());
        if (last == null
                || last.row.token() != hint.token()
                || last.row.ended() != hint.ended()
                || last.row.era() != hint.era()) {
            return true;
        }
        if (!hint.isHeld()) {
            tellHint(last.row.vacated(Math.min(last.row.topPriority(), hint.topPriority()), hint.note()));
            return false;
        }
        var nonce = last.row.nonce();
        if (nonce == null
                || !nonce.equals(hint.nonce())
                || last.row.standDown() != hint.standDown()
                || !last.row.note().equals(hint.note())
                || showsOther(hint, last.row)
                || (System.nanoTime() - last.nanos) / 1_000 > BELIEVED_TERMS * last.row.term()) {
            return true;
        }
        var extended = last.row.withRemaining(Math.min(hint.remaining(), last.row.term()));
        tellHint(own ? extended : afterOthers(extended));
        return false;
    }

    /** What found no room in the notice is taken for what was read. */
    private static boolean showsOther(SeatRow hint, SeatRow read) {
        return !hint.metadata().equals(read.metadata()) && !hint.metadata().equals(PostgresSeats.NO_ROOM);
    }

    private void tellHint(SeatRow row) {
        watchers.ifAny(row.election(), () -> known.put(row.election(), new Known(row, System.nanoTime() + nanos(row))));
        tellAll(row);
    }

    private void tellAll(SeatRow row) {
        var view = row.view();
        watchers.tell(row.election(), watcher -> watcher.accept(view));
    }

    /** Tells the watchers of a row that was polled, if they would do something else than they do. */
    void tellIfNews(SeatRow row, long pollNanos) {
        var before = known.get(row.election());
        if (before == null
                || differs(before.row, row)
                || isLongerThanThought(before, row, pollNanos)
                || isShorterThanThought(before, row)) {
            tell(row);
        }
    }

    /**
     * Takes what an asker here was told: all who watch are told, too, if the seat is another's now, or vacant. Polling
     * would not tell them, since it is known here then; and a notice of it comes only where notices do.
     */
    void learn(SeatRow row) {
        var before = known.get(row.election());
        if (before == null || differs(before.row, row)) {
            tell(row);
        } else {
            note(row);
        }
    }

    private void note(SeatRow row) {
        watchers.ifAny(row.election(), () -> {
            var now = System.nanoTime();
            known.put(row.election(), new Known(row, now + nanos(row)));
            seen.put(row.election(), new Seen(row, now));
        });
    }

    /** Returns whether a lease should have run out by what is known here, so that a claim is a look at it. */
    boolean isToBeLookedAt(String election) {
        var before = known.get(election);
        return before != null && before.row.isHeld() && System.nanoTime() - before.untilNanos >= 0;
    }

    /** Returns the row as if its lease lasted a little longer, for those of which none is to be the first to look. */
    static SeatRow staggered(SeatRow row) {
        return later(row, STAGGER_LEAST_MICROS, STAGGER_MOST_MICROS);
    }

    /** Returns the row as if its lease lasted longer, for those who look only if somebody else does not. */
    static SeatRow afterOthers(SeatRow row) {
        return later(row, AFTER_LEAST_MICROS, AFTER_MOST_MICROS);
    }

    private static SeatRow later(SeatRow row, long leastMicros, long mostMicros) {
        return row.isHeld()
                ? row.withRemaining(
                        row.remaining() + ThreadLocalRandom.current().nextLong(leastMicros, mostMicros))
                : row;
    }

    private static boolean differs(SeatRow before, SeatRow row) {
        return before.token() != row.token()
                || before.isHeld() != row.isHeld()
                || before.standDown() != row.standDown()
                || before.ended() != row.ended()
                || before.era() != row.era()
                || !before.note().equals(row.note())
                || !before.metadata().equals(row.metadata());
    }

    /** Whether a lease that they believe to run out before the next poll but one was extended. */
    private static boolean isLongerThanThought(Known before, SeatRow row, long pollNanos) {
        var left = before.untilNanos - System.nanoTime();
        return row.isHeld() && left < 2 * pollNanos && nanos(row) - left > 1_000_000;
    }

    /** Whether a lease was cut short. One that was not may seem so by as long as the answers took. */
    private static boolean isShorterThanThought(Known before, SeatRow row) {
        return before.untilNanos - System.nanoTime() - nanos(row) > SHORTER_NANOS;
    }

    private static long nanos(SeatRow row) {
        return row.waitMicros() * 1_000;
    }
}
