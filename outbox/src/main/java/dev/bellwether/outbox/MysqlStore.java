package dev.bellwether.outbox;

import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** An outbox in MariaDB or MySQL. */
class MysqlStore extends Store {
    private static final int UNKNOWN_VARIABLE = 1193;
    private static final int PAGE = 10_000;
    /** For how long a session waits for a lock of metadata, and for one of a row. */
    private static final List<String> WAITS = List.of("lock_wait_timeout", "innodb_lock_wait_timeout");
    /** For how long it waits for the next statement. */
    private static final List<String> SILENCES = List.of("wait_timeout");

    private static final List<String> ZONE = List.of("time_zone");
    /** For how long what the server tells of its tables may be old, in seconds: a day unless one asks for less. */
    private static final List<String> STALENESS = List.of("information_schema_stats_expiry");
    /** In milliseconds since 1970: local times are no measure where clocks are set forward and back. */
    private static final String NOW_MILLIS = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000";

    private static final String COLUMNS =
            "event_id, topic, record_key, record_value, headers, record_partition, record_time_ms";
    private static final String SIZE = "COALESCE(OCTET_LENGTH(record_value), 0) + COALESCE(OCTET_LENGTH(headers), 0)";

    private @Nullable Boolean mariaDb; // known once something was read

    MysqlStore(OutboxTable table) {
        super(table);
        if (table.layout() == OutboxTable.Layout.GOHARVEST) {
            throw new IllegalArgumentException("the layout of goharvest exists on PostgreSQL only");
        }
    }

    @Override
    List<String> ddl() {
        var ddl = new ArrayList<String>();
        ddl.add("""
                CREATE TABLE IF NOT EXISTS %s (
                    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
                    event_id char(36) NOT NULL DEFAULT (uuid()),
                    created timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
                    topic varchar(249) NOT NULL,
                    record_key varbinary(2000),
                    record_value longblob,
                    headers mediumtext,
                    record_partition integer,
                    record_time_ms bigint
                ) ENGINE = InnoDB CHARACTER SET utf8mb4""".formatted(table.name()));
        ddl.addAll(sideDdl());
        return ddl;
    }

    @Override
    List<String> sideDdl() {
        return List.of("""
                CREATE TABLE IF NOT EXISTS %s (
                    shard integer NOT NULL PRIMARY KEY,
                    shards integer NOT NULL,
                    epoch bigint NOT NULL,
                    low bigint NOT NULL,
                    sent bigint NOT NULL,
                    rate double NOT NULL,
                    progress_epoch bigint NOT NULL DEFAULT 0,
                    progress_number bigint NOT NULL DEFAULT 0,
                    relay varchar(400) NOT NULL,
                    since timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
                    seen timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
                ) ENGINE = InnoDB CHARACTER SET utf8mb4""".formatted(table.relay()), """
                CREATE TABLE IF NOT EXISTS %s (
                    id bigint NOT NULL PRIMARY KEY,
                    event_id char(36) NOT NULL,
                    created timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
                    topic varchar(249) NOT NULL,
                    record_key varbinary(2000),
                    record_value longblob,
                    headers mediumtext,
                    record_partition integer,
                    record_time_ms bigint,
                    parked timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
                    reason text NOT NULL
                ) ENGINE = InnoDB CHARACTER SET utf8mb4""".formatted(table.parked()), """
                CREATE TABLE IF NOT EXISTS %s (
                    shard integer NOT NULL,
                    epoch bigint NOT NULL,
                    id bigint NOT NULL,
                    topic varchar(249) NOT NULL,
                    waits varchar(20) NOT NULL,
                    since timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
                    reason text NOT NULL,
                    PRIMARY KEY (shard, epoch, id)
                ) ENGINE = InnoDB CHARACTER SET utf8mb4""".formatted(table.blocked()));
    }

    @Override
    void prepare(Connection connection, boolean deletes) throws SQLException {
        connection.setAutoCommit(true);
        change(connection, freed(connection), 0); // so that there is no bound
        // In a lower one the delete would only read the row with the epoch, not lock it. And a binary log of statements
        // takes no writes in a lower one, and the connection that reads writes now and then, too. What it reads is as
        // new as in a lower one, since each statement is a transaction
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    }

    @Override
    void restore(Connection connection) throws SQLException {
        changeBack(connection, freed(connection));
    }

    /**
     * Returns variables that are 0 on our connections: the limit for the ranges that the optimizer goes through, beyond
     * which it would scan the table; and the rule that a delete may scan no table, not even its list of ids.
     */
    private static List<String> freed(Connection connection) throws SQLException {
        return List.of(
                MetadataLocks.isMariaDb(connection) ? "optimizer_max_sel_arg_weight" : "range_optimizer_max_mem_size",
                "sql_safe_updates");
    }

    /**
     * Sets variables of the session, if this server knows them, and keeps what they were under names of ours: DEFAULT
     * would take away what the pool has set.
     */
    private static void change(Connection connection, List<String> variables, Object value) throws SQLException {
        set(connection, variables, "@bellwether_%1$s = @@SESSION.%1$s, SESSION %1$s = " + value);
    }

    /** Has local times be those of UTC: where clocks are set back, one local time is two moments. */
    static void beInUtc(Connection connection) throws SQLException {
        change(connection, ZONE, "'+00:00'");
    }

    static void beInZoneAgain(Connection connection) throws SQLException {
        changeBack(connection, ZONE);
    }

    private static void changeBack(Connection connection, List<String> variables) throws SQLException {
        set(connection, variables, "SESSION %1$s = @bellwether_%1$s");
    }

    private static void set(Connection connection, List<String> variables, String each) throws SQLException {
        try {
            execute(connection, "SET " + variables.stream().map(each::formatted).collect(Collectors.joining(", ")));
        } catch (SQLException e) {
            if (e.getErrorCode() != UNKNOWN_VARIABLE) {
                throw e;
            }
        }
    }

    /** As a relay deletes, which this does, too. */
    @Override
    <T> T changing(Connection connection, Transaction<T> change) throws SQLException {
        return isolated(connection, Connection.TRANSACTION_REPEATABLE_READ, () -> {
            prepare(connection, true);
            return andBack(change, () -> restore(connection));
        });
    }

    /** One that locks takes no snapshot. The first that does not has the others see nothing that comes behind it. */
    @Override
    String ofLocked(String query) {
        return query + " FOR UPDATE";
    }

    private String select(Wanted wanted) {
        if (wanted.shards() == 1) {
            return "SELECT id, event_id, topic, record_key, CASE WHEN " + SIZE + " <= " + wanted.inline()
                    + " THEN record_value END, CASE WHEN " + SIZE + " <= " + wanted.inline()
                    + " THEN headers END, record_partition, record_time_ms, " + SIZE + " FROM " + table.name();
        }
        var mine = "CASE WHEN " + mine(wanted.shard(), wanted.shards());
        return "SELECT id, " + mine + " THEN event_id END, " + mine + " THEN topic END, " + mine
                + " THEN record_key END, " + mine + " AND " + SIZE + " <= " + wanted.inline()
                + " THEN record_value END, " + mine + " AND " + SIZE + " <= " + wanted.inline()
                + " THEN headers END, record_partition, record_time_ms, " + SIZE + " FROM " + table.name();
    }

    /** By bytes: the collation of a table may take texts that differ in case, accents or blanks at the end for one. */
    @Override
    String isTopic() {
        return "CAST(CONVERT(topic USING utf8mb4) AS BINARY) = CAST(CONVERT(? USING utf8mb4) AS BINARY)";
    }

    @Override
    final String mine(int shard, int shards) {
        return "(COALESCE(CRC32(record_key), ABS(id % 1000000)) % " + shards + " = " + shard + ")";
    }

    @Override
    Found read(Connection connection, Wanted wanted, Gaps gaps) throws SQLException {
        if (mariaDb == null) {
            mariaDb = MetadataLocks.isMariaDb(connection);
        }
        while (true) {
            var found = shown(connection, wanted, gaps);
            if (!mariaDb) {
                return found;
            }
            var completed = completed(connection, wanted, gaps, found);
            if (completed.isPresent()) {
                return completed.get();
            }
        }
    }

    /** Returns what one statement shows. */
    Found shown(Connection connection, Wanted wanted, Gaps gaps) throws SQLException {
        var sql = new StringBuilder();
        if (!gaps.isEmpty()) {
            sql.append('(')
                    .append(select(wanted))
                    .append(" WHERE ")
                    .append(ranges(gaps))
                    .append(andMine(wanted.shard(), wanted.shards()))
                    .append(" ORDER BY id LIMIT ")
                    .append(wanted.limit())
                    .append(") UNION ALL ");
        }
        sql.append('(')
                .append(select(wanted))
                .append(" WHERE id > ")
                .append(wanted.cursor())
                .append(" ORDER BY id LIMIT ")
                .append(wanted.limit())
                .append(") ORDER BY 1");
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql.toString())) {
            return Found.of(wanted.cursor(), rows(result, wanted.inline()));
        }
    }

    private static String ranges(Gaps gaps) {
        var from = gaps.from();
        var to = gaps.to();
        return IntStream.range(0, from.length)
                .mapToObj(i -> "id BETWEEN " + from[i] + " AND " + to[i])
                .collect(Collectors.joining(" OR ", "(", ")"));
    }

    /** Returns what a statement has shown with what it has missed; empty if all is to be read again. */
    Optional<Found> completed(Connection connection, Wanted wanted, Gaps gaps, Found found) throws SQLException {
        return Completion.completed(wanted, gaps, found, new Completion.Later() {
            @Override
            public void show(List<Completion.Range> ranges, Completion.Viewer viewer) throws SQLException {
                keyed(connection, wanted, ranges, viewer);
            }

            @Override
            public List<Row> rows(List<Long> ids) throws SQLException {
                return MysqlStore.this.rows(connection, wanted, ids.stream().mapToLong(Long::longValue));
            }
        });
    }

    private void keyed(Connection connection, Wanted wanted, List<Completion.Range> ranges, Completion.Viewer viewer)
            throws SQLException {
        var there = ranges.stream()
                .map(range -> "id BETWEEN " + range.from() + " AND " + range.to())
                .collect(Collectors.joining(" OR "));
        var mine = andMine(wanted.shard(), wanted.shards());
        var after = Long.MIN_VALUE;
        var more = true;
        while (more) {
            var count = 0;
            try (var statement = connection.createStatement();
                    var result = statement.executeQuery("SELECT id, topic, record_key FROM " + table.name()
                            + " WHERE (" + there + ")" + mine + " AND id > " + after
                            + " AND record_key IS NOT NULL ORDER BY id LIMIT " + PAGE)) {
                while (more && result.next()) {
                    count++;
                    after = result.getLong(1);
                    var key = new Row.TopicKey(result.getString(2), ByteBuffer.wrap(result.getBytes(3)));
                    more = viewer.shown(after, key);
                }
            }
            more &= count == PAGE;
        }
    }

    @Override
    List<Row> fetch(Connection connection, List<Row> deferred) throws SQLException {
        return rows(
                connection,
                new Wanted(0, 0, Long.MAX_VALUE, 0, 1),
                deferred.stream().mapToLong(Row::id));
    }

    private List<Row> rows(Connection connection, Wanted wanted, LongStream ids) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(select(wanted) + " WHERE id IN (" + list(ids) + ") ORDER BY id")) {
            return rows(result, wanted.inline());
        }
    }

    private static String list(LongStream ids) {
        return ids.mapToObj(Long::toString).collect(Collectors.joining(","));
    }

    @Override
    long ageMillis(Connection connection, long low) throws SQLException {
        try (var query = connection.prepareStatement(
                "SELECT " + millisSince("created") + " FROM " + table.name() + " WHERE id > ? ORDER BY id LIMIT 1")) {
            query.setLong(1, low);
            try (var result = query.executeQuery()) {
                return result.next() ? Math.max(0, result.getLong(1)) : 0;
            }
        }
    }

    @Override
    String silentMillis() {
        return millisSince("seen");
    }

    private String millisSince(String column) {
        return NOW_MILLIS + " - " + millis(column);
    }

    @Override
    String millis(String column) {
        return "CAST(UNIX_TIMESTAMP(" + column + ") * 1000 AS SIGNED)";
    }

    @Override
    String atMillis() {
        return "FROM_UNIXTIME(? / 1000)";
    }

    @Override
    Gaps gaps() {
        return new Gaps(256, 32); // a read that has to look for more ranges costs milliseconds
    }

    @Override
    String replicaCondition() {
        return "@@GLOBAL.read_only NOT IN ('0', 'OFF')"; // newer ones of MariaDB say it in words
    }

    @Override
    OpenWriters openWriters(Connection reading, Connection deleting) throws SQLException {
        return MetadataLocks.of(reading, deleting, table.name());
    }

    @Override
    String found() {
        return "INSERT IGNORE INTO " + table.relay()
                + " (shard, shards, epoch, low, sent, rate, relay) VALUES (?, ?, 0, 0, 0, 0, ?)";
    }

    @Override
    String sharing() {
        return "LOCK IN SHARE MODE";
    }

    @Override
    long beginning() {
        return -1;
    }

    /** Nothing was read in this transaction before it has the row, so what is read next is what is committed then. */
    @Override
    Tenancy raise(Connection connection, Claim claim, long first) throws SQLException {
        try (var upsert = connection.prepareStatement("INSERT INTO " + table.relay()
                + " (shard, shards, epoch, low, sent, rate, relay)"
                + " VALUES (?, ?, ?, ?, 0, 0, ?) ON DUPLICATE KEY UPDATE "
                + raiseEpoch("", claim.keepsProgress())
                + ", relay = VALUES(relay), since = CURRENT_TIMESTAMP(3), seen = CURRENT_TIMESTAMP(3), rate = 0")) {
            upsert.setInt(1, claim.shard());
            upsert.setInt(2, claim.shards());
            upsert.setLong(3, first);
            upsert.setLong(4, beginning());
            upsert.setString(5, claim.relay());
            upsert.executeUpdate();
        }
        return tenancy(connection, claim.shard()).orElseThrow();
    }

    @Override
    int delete(Connection connection, int shard, long epoch, long[] ids) throws SQLException {
        try (var statement = connection.createStatement()) {
            // each row by its key: a scan, of a range even, would wait for rows that others have inserted and not yet
            // committed
            return statement.executeUpdate("DELETE o FROM " + table.relay() + " r STRAIGHT_JOIN JSON_TABLE('["
                    + list(LongStream.of(ids)) + "]', '$[*]' COLUMNS (id bigint PATH '$')) gone STRAIGHT_JOIN "
                    + table.name() + " o FORCE INDEX (PRIMARY) ON o.id = gone.id WHERE r.shard = " + shard
                    + " AND r.epoch = " + epoch);
        }
    }

    @Override
    Map<Long, String> eventIds(Connection connection, long[] ids) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT id, event_id FROM " + table.name() + " WHERE id IN ("
                        + list(LongStream.of(ids)) + ")")) {
            return texts(result);
        }
    }

    /** InnoDB makes all durable before it is confirmed, unless the server is told otherwise. */
    @Override
    void durable(Connection connection, boolean before) {}

    /*
     * MySQL has no limit for a transaction whose client is silent, only one for its session: how long it waits for the
     * next statement. So that holds while the transaction is open, and afterwards what the session had before.
     */
    @Override
    void impatient(Connection connection, Duration silence) throws SQLException {
        change(connection, SILENCES, Math.max(1, silence.toSeconds()));
    }

    @Override
    void patient(Connection connection) throws SQLException {
        changeBack(connection, SILENCES);
    }

    /** By itself it waits for a lock of a row for a minute, and for one of metadata for a day or more. */
    @Override
    void limitWaits(Connection connection, Duration patience) throws SQLException {
        change(connection, WAITS, Math.max(1, patience.toMillis() * 9 / 10_000));
    }

    @Override
    void unlimitWaits(Connection connection) throws SQLException {
        changeBack(connection, WAITS);
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Override
    String insert() {
        return "INSERT INTO " + table.name() + " (" + COLUMNS + ") VALUES (?, ?, ?, ?, ?, ?, ?)";
    }

    @Override
    void bind(PreparedStatement insert, Message message, @Nullable String headers) throws SQLException {
        bindOwn(insert, message, headers);
    }

    @Override
    String park() {
        return "INSERT IGNORE INTO " + table.parked() + " (reason, id, created, " + COLUMNS
                + ") SELECT ?, id, created, " + COLUMNS + " FROM " + table.name() + " WHERE id = ?";
    }

    @Override
    String requeue() {
        return "INSERT INTO " + table.name() + " (created, " + COLUMNS + ") SELECT created, " + COLUMNS + " FROM "
                + table.parked() + " WHERE id = ?";
    }

    @Override
    long estimate(Connection connection) throws SQLException {
        return told(connection, table, "table_rows");
    }

    /** Returns what the server tells of a table, as it is now; 0 if nothing. */
    static long told(Connection connection, OutboxTable table, String column) throws SQLException {
        var parts = table.name().split("\\.", 2);
        var schema = parts.length == 1 ? "database()" : "'" + parts[0] + "'";
        change(connection, STALENESS, 0);
        return andBack(
                () -> number(
                        connection,
                        "SELECT " + column + " FROM information_schema.tables WHERE table_schema = " + schema
                                + " AND table_name = '" + parts[parts.length - 1] + "'"),
                () -> changeBack(connection, STALENESS));
    }

    @Override
    List<OutboxAdmin.Finding> examine(Connection connection) throws SQLException {
        return new MysqlDoctor(connection, table).examine();
    }
}
