package dev.bellwether.outbox;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Adds to what a statement has shown the rows before it that it has missed, on a database whose snapshots do not follow
 * the order of the commits. Without state.
 */
final class Completion {
    /*
     * A snapshot of MariaDB notes the open transactions one after the other. Of two that write the same key in turn it
     * may meet the first while that is open, and the second when that is over, which began to wait for the first before
     * the snapshot was taken. So a statement may show a row, and not that of the same key before it.
     *
     * A transaction leaves the list of the open ones before it gives up its locks. So a statement that begins when the
     * first has ended shows all that was committed before anything that the first has shown. So what the first shows is
     * taken together with those rows of the same keys before it which a later one shows, and only those: of other rows,
     * that one may lack some itself. They come with the next read.
     *
     * For the same reason one read is enough to close a gap: the transaction that drew its id had left the list before
     * that read began.
     */
    private static final int MOST_HOLES = 500; // to read all between more of them costs less

    private Completion() {}

    /** Ids from the first to the last. */
    record Range(long from, long to) {}

    /** A statement that begins later. */
    interface Later {
        /** Shows rows that have a key and lie in one of the ranges, in the order of their ids, while that is wanted. */
        void show(List<Range> ranges, Viewer viewer) throws SQLException;

        /** Returns such rows, as {@link Store#read} does. */
        List<Row> rows(List<Long> ids) throws SQLException;
    }

    /** Is shown rows. */
    interface Viewer {
        /** Returns whether more are wanted. */
        boolean shown(long id, Row.TopicKey key);
    }

    /**
     * Returns what a statement has shown together with the rows before it that it has not; empty if those are so many
     * that all is to be read again: then they come first.
     */
    static Optional<Store.Found> completed(Store.Wanted wanted, Gaps gaps, Store.Found found, Later later)
            throws SQLException {
        // rows that are late, and as many as a read takes, come first: the others are read again
        var hot = found.late().size() < wanted.limit() ? found.hot() : List.<Row>of();
        var holes = holes(wanted.cursor(), hot);
        if (gaps.isEmpty() && holes.isEmpty()) {
            return Optional.of(found);
        }
        var all = new TreeMap<Long, Row>();
        found.late().forEach(row -> all.put(row.id(), row));
        hot.forEach(row -> all.put(row.id(), row));
        var last = new HashMap<Object, Long>();
        var end = Long.MIN_VALUE;
        for (var row : all.values()) {
            if (row.key() != null && !row.isOfAnotherShard()) {
                last.put(row.orderKey(), row.id());
                end = row.id();
            }
        }
        var missing = before(end, gaps, holes);
        if (missing.isEmpty()) {
            return Optional.of(found);
        }
        var overtaken = new ArrayList<Long>();
        later.show(missing, (id, key) -> {
            var next = last.get(key);
            if (next != null && id < next && !all.containsKey(id)) {
                overtaken.add(id);
            }
            return overtaken.size() <= wanted.limit();
        });
        if (overtaken.isEmpty()) {
            return Optional.of(found);
        }
        if (overtaken.size() > wanted.limit()) {
            return Optional.empty();
        }
        later.rows(overtaken).forEach(row -> all.put(row.id(), row));
        return Optional.of(Store.Found.of(wanted.cursor(), List.copyOf(all.values())));
    }

    /** Returns the ids behind the cursor that were not shown, up to the last that was. */
    private static List<Range> holes(long cursor, List<Row> hot) {
        var holes = new ArrayList<Range>();
        var before = cursor;
        for (var row : hot) {
            if (row.id() > before + 1) {
                holes.add(new Range(before + 1, row.id() - 1));
            }
            before = row.id();
        }
        return holes.size() <= MOST_HOLES
                ? holes
                : List.of(new Range(
                        holes.get(0).from(), holes.get(holes.size() - 1).to()));
    }

    /** Returns where a row can be before this one. */
    private static List<Range> before(long end, Gaps gaps, List<Range> holes) {
        var before = new ArrayList<Range>();
        var from = gaps.from();
        var to = gaps.to();
        for (var i = 0; i < from.length && from[i] < end; i++) {
            before.add(new Range(from[i], to[i]));
        }
        holes.stream().filter(hole -> hole.from() < end).forEach(before::add);
        return before;
    }
}
