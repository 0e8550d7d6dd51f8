package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * An outbox in PostgreSQL whose table has parts in a {@link Ring}. What a plain one deletes is written down here, as
 * runs of ids, and each part is emptied by TRUNCATE when it holds nothing else.
 */
final class RotatedStore extends PostgresStore {
    /*
     * Nothing is known of a row but whether its id is in a run. So all that looks for rows to publish leaves those out,
     * in the same statement, so by the same snapshot: "deleted" of the plain form is "in a run" here, and each proof
     * holds as it stands. What lies beyond the cursor is an exception, for speed: who begins reads the runs as well
     * until its cursor has passed the last of them; from then on whatever else is written down beyond the cursor is of
     * other shards, whose rows are passed over in any case.
     *
     * A part may be emptied when all of its rows are in runs. A transaction that has inserted one and not ended holds a
     * lock on the part that keeps SHARE ROW EXCLUSIVE out; so under that lock, and by a snapshot that was taken after
     * it, each row that was ever inserted is seen, or was rolled back. It does not matter who does that, nor which gaps
     * are open: a row that comes later finds the part empty, and is looked for as any row is.
     *
     * So many parts are rotated as there is traffic, but none is made or dropped: no INSERT can find its part missing.
     */
    private static final String NONE = "'{}'::int8multirange";

    private static final String ALL = "'{(,)}'::int8multirange";
    private static final String IN_HOLE =
            " WHERE id >= coalesce(lower(h), '-9223372036854775808') AND id <= coalesce(upper(h) - 1, "
                    + "9223372036854775807)";
    /** How many runs are read at a time until the cursor has passed them. */
    private static final int WINDOW = 5_000;

    /** Of so many runs an estimate is made. */
    private static final int ESTIMATED = 100_000;

    private static final String LOCK_TIMEOUT = "50ms";
    private static final Set<String> LATER = Set.of("55P03", "40P01");

    private final Ring ring;
    private final String lockTimeout;

    RotatedStore(OutboxTable table, Ring ring) {
        this(table, ring, LOCK_TIMEOUT);
    }

    /**
     * Waits for so long for a part that somebody uses.
     *
     * @param lockTimeout in PostgreSQL's words; writers who come meanwhile wait behind
     */
    RotatedStore(OutboxTable table, Ring ring, String lockTimeout) {
        super(table);
        this.ring = ring;
        this.lockTimeout = lockTimeout;
    }

    Ring ring() {
        return ring;
    }

    String part(int part) {
        return table.name() + "_" + part;
    }

    String donePart(int part) {
        return table.done() + "_" + part;
    }

    @Override
    OutboxForm form() {
        return OutboxForm.ROTATED;
    }

    @Override
    List<String> ddl() {
        var ddl = new ArrayList<String>();
        ddl.add(own("NOT NULL") + " PARTITION BY " + ring.key("id"));
        ddl.addAll(partsOf(table.name()));
        ddl.add("ALTER TABLE " + table.name() + " ALTER COLUMN record_value SET STORAGE EXTERNAL");
        ddl.addAll(doneDdl());
        ddl.addAll(sideDdl());
        return ddl;
    }

    /** Returns what makes the parts of a table. */
    List<String> partsOf(String parent) {
        var ddl = new ArrayList<String>();
        for (var part = 0; part < ring.parts(); part++) {
            // no vacuum on account of inserts: these rows are gone before it would pay
            ddl.add("CREATE TABLE IF NOT EXISTS " + part(part) + " PARTITION OF " + parent
                    + " (PRIMARY KEY (id)) FOR VALUES IN (" + part + ")\n" + VACUUM.replace(")", ",")
                    + " autovacuum_vacuum_insert_threshold = -1)");
        }
        return ddl;
    }

    /** Returns what makes the table of runs, which has the parts of the other. */
    List<String> doneDdl() {
        var ddl = new ArrayList<String>();
        ddl.add("CREATE TABLE IF NOT EXISTS " + table.done()
                + " (from_id bigint NOT NULL, to_id bigint NOT NULL) PARTITION BY " + ring.key("to_id"));
        for (var part = 0; part < ring.parts(); part++) {
            ddl.add("CREATE TABLE IF NOT EXISTS " + donePart(part) + " PARTITION OF " + table.done()
                    + " (PRIMARY KEY (to_id)) FOR VALUES IN (" + part + ")"
                    + " WITH (autovacuum_vacuum_insert_threshold = -1)");
        }
        return ddl;
    }

    @Override
    List<OutboxAdmin.Finding> examine(Connection connection) throws SQLException {
        var parts = IntStream.range(0, ring.parts())
                .boxed()
                .flatMap(part -> Stream.of(part(part), donePart(part)))
                .toList();
        return new PostgresDoctor(connection, table, parts).examine();
    }

    /** Returns what is left of ids when the runs that a query has are taken out. */
    private static String less(String ids) {
        return "unnest(" + ids + " - coalesce(range_agg(int8range(from_id, to_id, '[]')), " + NONE + ")) AS h";
    }

    /** Returns what joins rows that are in no run, in their order. */
    private String unpublishedOf(String ids, String columns, String whichRuns, String limit) {
        return "(SELECT " + less(ids) + " FROM (SELECT from_id, to_id FROM " + table.done() + whichRuns
                + ") AS run) AS hole CROSS JOIN LATERAL (SELECT "
                + columns + " FROM " + table.name() + IN_HOLE + " ORDER BY id" + limit + ") AS o";
    }

    /** Returns all rows that are in no run. */
    String unpublishedRows() {
        return "SELECT o.* FROM " + unpublishedOf(ALL, "*", "", "");
    }

    @Override
    String toPublish() {
        return "(" + unpublishedRows() + ")";
    }

    @Override
    String unpublished() {
        return " AND NOT" + isInRun();
    }

    /** Returns a condition, to stand behind others: that a row is written down as published. */
    String publishedToo() {
        return " AND" + isInRun();
    }

    private String isInRun() {
        return " EXISTS (SELECT 1 FROM (SELECT from_id FROM " + table.done()
                + " WHERE to_id >= id ORDER BY to_id LIMIT 1) AS run WHERE from_id <= id)";
    }

    @Override
    long published(Connection connection) throws SQLException {
        try (var statement = connection.createStatement();
                var result =
                        statement.executeQuery("SELECT to_id FROM " + table.done() + " ORDER BY to_id DESC LIMIT 1")) {
            return result.next() ? result.getLong(1) : Long.MIN_VALUE;
        }
    }

    @Override
    Found read(Connection connection, Wanted wanted, Gaps gaps) throws SQLException {
        return wanted.cursor() >= wanted.published()
                ? super.read(connection, wanted, gaps)
                : readAmongPublished(connection, wanted, gaps);
    }

    /** Reads the next runs, and what lies in the holes between them; behind the last run, all that comes. */
    private Found readAmongPublished(Connection connection, Wanted wanted, Gaps gaps) throws SQLException {
        var sql = "WITH run AS MATERIALIZED (SELECT from_id, to_id FROM " + table.done()
                + " WHERE to_id > ? ORDER BY to_id LIMIT " + WINDOW + "), hole AS MATERIALIZED (SELECT "
                + less(behind(WINDOW))
                + " FROM run) (" + late(wanted) + ") UNION ALL (SELECT hot.* FROM hole CROSS JOIN LATERAL ("
                + select(wanted.shard(), wanted.shards(), IN_HOLE) + ") AS hot LIMIT ?) UNION ALL (SELECT to_id,"
                + " NULL::uuid, NULL::varchar, NULL::bytea, NULL::bytea, NULL::text, NULL::integer, "
                + "NULL::bigint, from_id"
                + " FROM run ORDER BY to_id)";
        try (var query = connection.prepareStatement(sql)) {
            query.setLong(1, wanted.cursor());
            query.setLong(2, wanted.cursor());
            bindLate(query, 3, wanted, gaps);
            query.setLong(9, wanted.inline());
            query.setLong(10, wanted.inline());
            query.setInt(11, wanted.limit());
            query.setInt(12, wanted.limit());
            try (var result = query.executeQuery()) {
                return found(result, wanted);
            }
        }
    }

    private static Found found(ResultSet result, Wanted wanted) throws SQLException {
        var late = new ArrayList<Row>();
        var hot = new ArrayList<Row>();
        var runs = new ArrayList<Run>();
        while (result.next()) {
            var from = result.getLong(9);
            if (!result.wasNull() && result.getString(3) == null) { // of other shards' rows there is no size
                runs.add(new Run(from, result.getLong(1)));
            } else {
                var row = row(result, wanted.inline());
                (row.id() <= wanted.cursor() ? late : hot).add(row);
            }
        }
        var full = runs.size() == WINDOW;
        if (hot.size() == wanted.limit()) {
            full = true;
            var last = hot.get(hot.size() - 1).id();
            runs.removeIf(run -> run.from() > last); // what lies between them is not all here
        }
        return new Found(late, hot, runs, full);
    }

    @Override
    long[] ids(Connection connection, long from, long cursor, int limit, int shard, int shards) throws SQLException {
        var ours = shards == 1 ? "" : " WHERE " + mine(shard, shards);
        var columns = shards == 1 ? "id" : "id, record_key";
        try (var query = connection.prepareStatement("SELECT id FROM "
                + unpublishedOf("int8multirange(int8range(?, ?, '(]'))", columns, " WHERE to_id > ? AND to_id < ?", "")
                + ours + " ORDER BY id LIMIT ?")) {
            query.setLong(1, from);
            query.setLong(2, cursor);
            query.setLong(3, from);
            query.setLong(4, cursor + Runs.LONGEST); // a run that reaches into this range ends before that
            query.setInt(5, limit);
            try (var result = query.executeQuery()) {
                return numbers(result);
            }
        }
    }

    @Override
    int delete(Connection connection, int shard, long epoch, long[] ids) throws SQLException {
        try (var write = connection.prepareStatement("WITH ours AS (SELECT 1 FROM " + table.relay()
                + " WHERE shard = ? AND epoch = ? FOR SHARE) INSERT INTO " + table.done()
                + " (from_id, to_id) SELECT a, b FROM unnest(?::bigint[], ?::bigint[]) AS run(a, b)"
                + " WHERE EXISTS (SELECT 1 FROM ours)")) {
            var runs = Runs.of(ids, ring);
            write.setInt(1, shard);
            write.setLong(2, epoch);
            write.setArray(3, array(connection, runs.from()));
            write.setArray(4, array(connection, runs.to()));
            return write.executeUpdate() == 0 ? 0 : ids.length;
        }
    }

    @Override
    Gaps gaps() {
        // a gap that holds what was seen would hold what was published, which each read would walk over: so let it be
        // long before they are made coarser
        return new Gaps(500_000, 250_000);
    }

    @Override
    Backlog backlog(Connection connection, long low, long most) throws SQLException {
        var first = unpublishedOf(behind(most), "created", nextRuns(most), " LIMIT 1");
        var oldest = number(
                connection,
                "SELECT (extract(epoch FROM clock_timestamp() - created) * 1000)::bigint FROM " + first + " LIMIT 1",
                low,
                low);
        var runs = number(
                connection, "SELECT count(*) FROM (SELECT 1 FROM " + table.done() + nextRuns(most) + ") AS r", low);
        if (runs >= most) { // the holes between so many cost too much for one who asks again and again
            return new Backlog(most + 1, Math.max(0, oldest));
        }
        var rows = unpublishedOf(behind(most), "id", nextRuns(most), " LIMIT " + (most + 1));
        var counted = number(
                connection,
                "SELECT count(*) FROM (SELECT 1 FROM " + rows + " LIMIT " + (most + 1) + ") AS c",
                low,
                low);
        return new Backlog(counted, Math.max(0, oldest));
    }

    /** Returns the ids behind one, as far as so many runs tell of them. */
    private static String behind(long most) {
        return "int8multirange(int8range(?, CASE WHEN count(*) = " + most + " THEN max(to_id) END, '(]'))";
    }

    /** Returns which runs reach behind an id, the next ones, at most so many. */
    private static String nextRuns(long most) {
        return " WHERE to_id > ? ORDER BY to_id LIMIT " + most;
    }

    private static long number(Connection connection, String sql, long... parameters) throws SQLException {
        try (var query = connection.prepareStatement(sql)) {
            for (var i = 0; i < parameters.length; i++) {
                query.setLong(i + 1, parameters[i]);
            }
            try (var result = query.executeQuery()) {
                return result.next() ? result.getLong(1) : 0;
            }
        }
    }

    /**
     * There is no telling how many rows there are; so how many ids have been drawn that are in no run: those among the
     * next runs, and those behind the last of all.
     */
    @Override
    long estimate(Connection connection) throws SQLException {
        var low = "greatest((" + low() + "), coalesce((SELECT min(id) - 1 FROM " + table.name()
                + "), (SELECT max(to_id) FROM " + table.done() + ")))";
        return number(
                connection,
                "WITH mark AS MATERIALIZED (SELECT " + low
                        + " AS low), run AS MATERIALIZED (SELECT from_id, to_id FROM " + table.done()
                        + ", mark WHERE to_id > low ORDER BY to_id LIMIT " + ESTIMATED + ")"
                        + " SELECT (greatest(0, (SELECT max(id) FROM " + table.name()
                        + ") - coalesce((SELECT max(to_id) FROM "
                        + table.done() + " WHERE to_id > low), low))"
                        + " + coalesce((SELECT max(to_id) - low - sum(to_id - greatest(from_id - 1, low)) FROM run), "
                        + "0))::bigint"
                        + " FROM mark");
    }

    @Override
    boolean rotate(Connection connection, long cursor, Duration retained) throws SQLException {
        var rotated = false;
        for (var part = 0; part < ring.parts(); part++) {
            // one whose turn comes next is needed, however young its rows are
            var anyAge = retained.isZero() || part == ring.next(cursor);
            if (part != ring.part(cursor)
                    && (anyAge || isOlder(connection, part, retained))
                    // late, for they go through all that is written down of the part, and through all of it
                    && isSpent(connection, part)
                    && (anyAge || isAllOlder(connection, part, retained))) {
                rotated |= empty(connection, part);
            }
        }
        return rotated;
    }

    /** Whether the last row of a part has been there for so long. */
    private boolean isOlder(Connection connection, int part, Duration age) throws SQLException {
        try (var query =
                connection.prepareStatement("SELECT extract(epoch FROM clock_timestamp() - created) * 1000 >= ?"
                        + " FROM " + part(part) + " ORDER BY id DESC LIMIT 1")) {
            query.setLong(1, age.toMillis());
            try (var result = query.executeQuery()) {
                return result.next() && result.getBoolean(1);
            }
        }
    }

    /** Whether all rows of a part have: the last may have been requeued, with the time at which it was stashed. */
    private boolean isAllOlder(Connection connection, int part, Duration age) throws SQLException {
        try (var query = connection.prepareStatement("SELECT NOT EXISTS (SELECT 1 FROM " + part(part)
                + " WHERE extract(epoch FROM clock_timestamp() - created) * 1000 < ?)")) {
            query.setLong(1, age.toMillis());
            try (var result = query.executeQuery()) {
                return result.next() && result.getBoolean(1);
            }
        }
    }

    /** Whether there is something in it, and all that was published, before anybody has to wait for a lock. */
    boolean isSpent(Connection connection, int part) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(
                        "SELECT EXISTS (SELECT 1 FROM " + part(part) + ") AND NOT " + isToPublish(part))) {
            return result.next() && result.getBoolean(1);
        }
    }

    private String isToPublish(int part) {
        return "EXISTS (SELECT 1 FROM (SELECT " + less(ALL) + " FROM " + donePart(part)
                + ") AS hole CROSS JOIN LATERAL (SELECT 1 FROM " + part(part) + IN_HOLE + " LIMIT 1) AS o)";
    }

    /** One statement, for a client that is frozen must not hold these locks. Returns whether the part was emptied. */
    boolean empty(Connection connection, int part) throws SQLException {
        try (var statement = connection.createStatement()) {
            // its last id stays written down, so that a replay of what follows an id knows what is gone
            statement.execute("""
                    DO $rotate$ DECLARE last bigint; BEGIN
                        IF current_setting('transaction_isolation') <> 'read committed' THEN
                            RAISE EXCEPTION 'a snapshot from before the lock may miss rows';
                        END IF;
                        PERFORM set_config('lock_timeout', '%s', true);
                        LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE;
                        IF NOT %s THEN
                            SELECT max(to_id) INTO last FROM %s;
                            TRUNCATE %s, %s;
                            IF last IS NOT NULL THEN
                                INSERT INTO %s VALUES (last, last);
                            END IF;
                        END IF;
                    END $rotate$""".formatted(
                            lockTimeout,
                            part(part),
                            isToPublish(part),
                            donePart(part),
                            part(part),
                            donePart(part),
                            table.done()));
        } catch (SQLException e) {
            if (LATER.contains(String.valueOf(e.getSQLState()))) {
                return false;
            }
            throw e;
        }
        return true;
    }
}
