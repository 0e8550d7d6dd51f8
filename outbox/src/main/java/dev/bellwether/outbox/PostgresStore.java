package dev.bellwether.outbox;

import dev.bellwether.outbox.OutboxTable.Layout;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** An outbox in PostgreSQL, of our layout or of goharvest's. */
class PostgresStore extends Store {
    private static final List<String> SETTINGS =
            List.of("enable_seqscan = off", "jit = off", "plan_cache_mode = force_generic_plan");

    /** More of them, for tables that have parts: their rows are to come in order, one by one. */
    private static final List<String> OF_PARTS =
            List.of("enable_sort = off", "enable_bitmapscan = off", "max_parallel_workers_per_gather = 0");

    private static final String LOCKS = "lock_timeout";
    private static final String COMMITS = "synchronous_commit";
    /** What is changed for reading and deleting. */
    private static final List<String> CHANGED = Stream.concat(
                    Stream.of(SETTINGS, OF_PARTS)
                            .flatMap(List::stream)
                            .map(setting -> setting.substring(0, setting.indexOf(' '))),
                    Stream.of(COMMITS))
            .toList();

    private static final String UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

    private final Columns columns;
    private final WakeUpSql wakeUps;

    PostgresStore(OutboxTable table) {
        super(table);
        columns = table.layout() == Layout.GOHARVEST ? Columns.GOHARVEST : Columns.OWN;
        wakeUps = new WakeUpSql(table);
    }

    /** Where a layout has what we need. */
    private record Columns(
            String eventId,
            String created,
            String topic,
            String key,
            String value,
            String headers,
            String partition,
            String timestamp,
            String size) {
        static final Columns OWN = new Columns(
                "event_id",
                "created",
                "topic",
                "record_key",
                "record_value",
                "headers",
                "record_partition",
                "record_time_ms",
                "coalesce(octet_length(record_value), 0) + coalesce(octet_length(headers), 0)::bigint");
        /** It has no column for event ids: if they stand in no header, what identifies a row is made into one. */
        static final Columns GOHARVEST = new Columns(
                "coalesce(substring(kafka_header_values[array_position(kafka_header_keys, '" + GoharvestInsert.EVENT_ID
                        + "')] FROM '" + UUID + "')::uuid, md5(id || ':' || extract(epoch FROM create_time))::uuid)",
                "create_time",
                "kafka_topic",
                "convert_to(kafka_key, 'UTF8')",
                "convert_to(kafka_value, 'UTF8')",
                // those whose names and values do not pair up come out as a header without a name, which is refused
                "CASE WHEN cardinality(kafka_header_keys) = 0 AND cardinality(kafka_header_values) = 0 THEN NULL"
                        + " WHEN cardinality(kafka_header_keys) <> cardinality(kafka_header_values) THEN ': does"
                        + " not pair up'"
                        + " ELSE (SELECT string_agg('::' || " + base64("n") + " || coalesce(':: ' || " + base64("v")
                        + ", ''), E'\\n')"
                        + " FROM unnest(kafka_header_keys, kafka_header_values) AS h(n, v) WHERE n <> '"
                        + GoharvestInsert.EVENT_ID
                        + "') END",
                "NULL::integer",
                "NULL::bigint",
                "coalesce(octet_length(kafka_value), 0)::bigint");
    }

    @Override
    Optional<WakeUpSql> wakeUps() {
        return Optional.of(wakeUps);
    }

    @Override
    Store in(OutboxForm form) {
        if (form == form()) {
            return this;
        }
        if (form == OutboxForm.ROTATED && table.layout() == Layout.BELLWETHER) {
            return new RotatedStore(table, Ring.USUAL);
        }
        return form == OutboxForm.PLAIN ? new PostgresStore(table) : super.in(form);
    }

    @Override
    Store asFound(Connection connection) throws SQLException {
        try (var query = connection.prepareStatement(
                "SELECT pg_get_partkeydef(oid) FROM pg_class" + " WHERE oid = to_regclass(?) AND relkind = 'p'")) {
            query.setString(1, table.name());
            try (var result = query.executeQuery()) {
                if (!result.next()) {
                    return new PostgresStore(table);
                }
                var ring = Ring.of(result.getString(1));
                return ring.isPresent() ? new RotatedStore(table, ring.get()) : new PostgresStore(table);
            }
        }
    }

    /** Returns a condition, to stand behind others: that a row is not written down as published. */
    String unpublished() {
        return "";
    }

    @Override
    List<String> ddl() {
        var ddl = new ArrayList<String>();
        ddl.add(table.layout() == Layout.GOHARVEST ? goharvest() : own());
        if (table.layout() == Layout.BELLWETHER) {
            ddl.add("ALTER TABLE " + table.name() + " ALTER COLUMN record_value SET STORAGE EXTERNAL");
        }
        ddl.addAll(sideDdl());
        return ddl;
    }

    static final String VACUUM = """
            WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,
                    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off)""";

    private String own() {
        return own("PRIMARY KEY") + " " + VACUUM;
    }

    final String own(String key) {
        return """
                CREATE TABLE IF NOT EXISTS %s (
                    id bigserial %s,
                    event_id uuid NOT NULL DEFAULT gen_random_uuid(),
                    created timestamptz NOT NULL DEFAULT clock_timestamp(),
                    topic varchar(249) NOT NULL,
                    record_key bytea,
                    record_value bytea,
                    headers text,
                    record_partition integer,
                    record_time_ms bigint
                )""".formatted(table.name(), key);
    }

    private String goharvest() {
        return """
                CREATE TABLE IF NOT EXISTS %s (
                    id bigserial PRIMARY KEY,
                    create_time timestamptz NOT NULL,
                    kafka_topic varchar(249) NOT NULL,
                    kafka_key varchar(100) NOT NULL,
                    kafka_value varchar(10000),
                    kafka_header_keys text[] NOT NULL,
                    kafka_header_values text[] NOT NULL,
                    leader_id uuid
                )""".formatted(table.name());
    }

    @Override
    List<String> sideDdl() {
        return List.of("""
                CREATE TABLE IF NOT EXISTS %s (
                    shard integer PRIMARY KEY,
                    shards integer NOT NULL,
                    epoch bigint NOT NULL,
                    low bigint NOT NULL,
                    sent bigint NOT NULL,
                    rate double precision NOT NULL,
                    progress_epoch bigint NOT NULL DEFAULT 0,
                    progress_number bigint NOT NULL DEFAULT 0,
                    relay text NOT NULL,
                    since timestamptz NOT NULL,
                    seen timestamptz NOT NULL
                )""".formatted(table.relay()), """
                CREATE TABLE IF NOT EXISTS %s (
                    id bigint PRIMARY KEY,
                    event_id uuid NOT NULL,
                    created timestamptz NOT NULL,
                    topic text NOT NULL,
                    record_key bytea,
                    record_value bytea,
                    headers text,
                    record_partition integer,
                    record_time_ms bigint,
                    parked timestamptz NOT NULL,
                    reason text NOT NULL
                )""".formatted(table.parked()), """
                CREATE TABLE IF NOT EXISTS %s (
                    shard integer NOT NULL,
                    epoch bigint NOT NULL,
                    id bigint NOT NULL,
                    topic text NOT NULL,
                    waits text NOT NULL,
                    since timestamptz NOT NULL,
                    reason text NOT NULL,
                    PRIMARY KEY (shard, epoch, id)
                )""".formatted(table.blocked()));
    }

    @Override
    void prepare(Connection connection, boolean deletes) throws SQLException {
        connection.setAutoCommit(true);
        // a delete that waited for the row with the epoch must see what it waited for
        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        var settings = new ArrayList<>(SETTINGS);
        if (form() == OutboxForm.ROTATED) {
            settings.addAll(OF_PARTS);
        }
        if (deletes) {
            settings.add(commits(false));
        }
        change(connection, CHANGED, settings);
    }

    /** A delete that a crash undoes is a record sent again, not one lost. */
    @Override
    void durable(Connection connection, boolean before) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute("SET " + commits(before));
        }
    }

    private static String commits(boolean durably) {
        return COMMITS + " = " + (durably ? "on" : "off");
    }

    @Override
    Map<Long, String> eventIds(Connection connection, long[] ids) throws SQLException {
        try (var query = connection.prepareStatement(
                "SELECT id, " + columns.eventId + " FROM " + table.name() + " WHERE id = ANY(?)" + unpublished())) {
            query.setArray(1, array(connection, ids));
            try (var result = query.executeQuery()) {
                return texts(result);
            }
        }
    }

    @Override
    void restore(Connection connection) throws SQLException {
        changeBack(connection, CHANGED);
    }

    @Override
    void limitWaits(Connection connection, Duration patience) throws SQLException {
        change(connection, List.of(LOCKS), List.of(LOCKS + " = " + Math.max(1, patience.toMillis() * 9 / 10)));
    }

    @Override
    void unlimitWaits(Connection connection) throws SQLException {
        changeBack(connection, List.of(LOCKS));
    }

    /**
     * Sets what the session is to have, in one round trip. It keeps what it had before under names of ours: RESET would
     * take away what the pool has set.
     */
    private static void change(Connection connection, List<String> names, List<String> settings) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute("SELECT "
                    + each(names, "set_config('bellwether.%1$s', current_setting('%1$s'), false)", ", ") + "; "
                    + each(settings, "SET %s", "; "));
        }
    }

    private static void changeBack(Connection connection, List<String> names) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute(
                    "SELECT " + each(names, "set_config('%1$s', current_setting('bellwether.%1$s'), false)", ", "));
        }
    }

    private static String each(List<String> all, String form, String between) {
        return all.stream().map(form::formatted).collect(Collectors.joining(between));
    }

    /** Returns the columns; of other shards' rows the id alone. */
    private String select(int shards) {
        var c = columns;
        if (shards == 1) {
            return "SELECT id, " + c.eventId + ", " + c.topic + ", " + c.key + ", CASE WHEN " + c.size + " <= ? THEN "
                    + c.value + " END, CASE WHEN " + c.size + " <= ? THEN " + c.headers + " END, " + c.partition + ", "
                    + c.timestamp + ", " + c.size + " FROM " + table.name();
        }
        return "SELECT id, CASE WHEN mine THEN " + c.eventId + " END, CASE WHEN mine THEN " + c.topic
                + " END, CASE WHEN mine THEN " + c.key + " END, CASE WHEN mine AND " + c.size + " <= ? THEN " + c.value
                + " END, CASE WHEN mine AND " + c.size + " <= ? THEN " + c.headers + " END, CASE WHEN mine THEN "
                + c.partition + " END, CASE WHEN mine THEN " + c.timestamp + " END, CASE WHEN mine THEN " + c.size
                + " END FROM ";
    }

    /** Returns a read of rows, so that whose shard a row is of is worked out once for each. */
    final String select(int shard, int shards, String where) {
        return shards == 1
                ? select(shards) + where + " ORDER BY id LIMIT ?"
                : select(shards) + "(SELECT *, " + mine(shard, shards) + " AS mine FROM " + table.name() + where
                        + " ORDER BY id LIMIT ?) AS own";
    }

    /**
     * Keys keep to a shard as long as the number of shards stays; rows without a key go anywhere. Each leader asks this
     * of all rows, so it must cost little: it is the hash that the database has for its own partitions, a fifth of the
     * price of a digest.
     */
    @Override
    final String mine(int shard, int shards) {
        var key = table.layout() == Layout.GOHARVEST ? "kafka_key" : "encode(record_key, 'hex')";
        return "(coalesce(hashtext(" + key + ") & 2147483647, abs(id % 1000000)) % " + shards + " = " + shard + ")";
    }

    @Override
    Found read(Connection connection, Wanted wanted, Gaps gaps) throws SQLException {
        var hot = select(wanted.shard(), wanted.shards(), " WHERE id > ?");
        if (gaps.isEmpty()) {
            try (var query = connection.prepareStatement(hot)) {
                bindHot(query, 1, wanted);
                try (var result = query.executeQuery()) {
                    return new Found(List.of(), rows(result, wanted.inline()));
                }
            }
        }
        /*
         * One statement, so one snapshot: if a row behind the cursor is seen, its predecessor in a gap is, too. The
         * gaps are joined in their order, one after the other, each in the order of its ids.
         */
        try (var query = connection.prepareStatement("(" + late(wanted) + ") UNION ALL (" + hot + ")")) {
            bindLate(query, 1, wanted, gaps);
            bindHot(query, 7, wanted);
            try (var result = query.executeQuery()) {
                var lateRows = new ArrayList<Row>();
                var hotRows = new ArrayList<Row>();
                while (result.next()) {
                    var row = row(result, wanted.inline());
                    (row.id() <= wanted.cursor() ? lateRows : hotRows).add(row);
                }
                return new Found(lateRows, hotRows);
            }
        }
    }

    /** Returns a read of the rows of gaps, without those of other shards, which may stay in the wide ones for long. */
    final String late(Wanted wanted) {
        return "SELECT late.* FROM unnest(?::bigint[], ?::bigint[]) AS gap(a, b) CROSS JOIN LATERAL ("
                + select(
                        wanted.shard(),
                        wanted.shards(),
                        " WHERE id BETWEEN gap.a AND gap.b" + andMine(wanted.shard(), wanted.shards()) + unpublished())
                + ") late LIMIT ?";
    }

    /** Binds the six parameters of that. */
    static void bindLate(PreparedStatement query, int at, Wanted wanted, Gaps gaps) throws SQLException {
        query.setArray(at, array(query.getConnection(), gaps.from()));
        query.setArray(at + 1, array(query.getConnection(), gaps.to()));
        query.setLong(at + 2, wanted.inline());
        query.setLong(at + 3, wanted.inline());
        query.setInt(at + 4, wanted.limit());
        query.setInt(at + 5, wanted.limit());
    }

    private static void bindHot(PreparedStatement query, int at, Wanted wanted) throws SQLException {
        query.setLong(at, wanted.inline());
        query.setLong(at + 1, wanted.inline());
        query.setLong(at + 2, wanted.cursor());
        query.setInt(at + 3, wanted.limit());
    }

    @Override
    List<Row> fetch(Connection connection, List<Row> deferred) throws SQLException {
        try (var query = connection.prepareStatement(select(1) + " WHERE id = ANY(?) ORDER BY id")) {
            query.setLong(1, Long.MAX_VALUE);
            query.setLong(2, Long.MAX_VALUE);
            query.setArray(
                    3, array(connection, deferred.stream().mapToLong(Row::id).toArray()));
            try (var result = query.executeQuery()) {
                return rows(result, Long.MAX_VALUE);
            }
        }
    }

    @Override
    long ageMillis(Connection connection, long low) throws SQLException {
        try (var query = connection.prepareStatement("SELECT (extract(epoch FROM clock_timestamp() - " + columns.created
                + ") * 1000)::bigint FROM " + table.name() + " WHERE id > ? ORDER BY id LIMIT 1")) {
            query.setLong(1, low);
            try (var result = query.executeQuery()) {
                return result.next() ? Math.max(0, result.getLong(1)) : 0;
            }
        }
    }

    @Override
    String silentMillis() {
        return "(extract(epoch FROM clock_timestamp() - seen) * 1000)::bigint";
    }

    @Override
    String millis(String column) {
        return "(extract(epoch FROM " + column + ") * 1000)::bigint";
    }

    @Override
    String atMillis() {
        return "to_timestamp(? / 1000.0)";
    }

    @Override
    Gaps gaps() {
        return new Gaps(50_000, 25_000); // each is a probe of the index
    }

    @Override
    String replicaCondition() {
        return "pg_is_in_recovery()";
    }

    @Override
    OpenWriters openWriters(Connection reading, Connection deleting) {
        return () -> Optional.of(holders(reading));
    }

    private OpenWriters.Holders holders(Connection connection) throws SQLException {
        // nextval keeps this lock until the end of the transaction, whether it is called by a default or beforehand
        var sql = "SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND mode = 'RowExclusiveLock'"
                + " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
                + " AND relation = coalesce(pg_get_serial_sequence(?, 'id'), ?)::regclass::oid";
        try (var query = connection.prepareStatement(sql)) {
            query.setString(1, table.name());
            query.setString(2, table.name());
            try (var result = query.executeQuery()) {
                var names = new HashSet<String>();
                var prepared = false;
                while (result.next()) {
                    var name = result.getString(1);
                    prepared |= name.startsWith("-1/");
                    names.add(name);
                }
                return new OpenWriters.Holders(names, prepared);
            }
        }
    }

    @Override
    String found() {
        return "INSERT INTO " + table.relay() + " (shard, shards, epoch, low, sent, rate, relay, since, seen)"
                + " VALUES (?, ?, 0, 0, 0, 0, ?, now(), now()) ON CONFLICT (shard) DO NOTHING";
    }

    @Override
    String sharing() {
        return "FOR SHARE";
    }

    @Override
    long beginning() {
        return Long.MIN_VALUE + 1;
    }

    @Override
    Tenancy raise(Connection connection, Claim claim, long first) throws SQLException {
        try (var upsert = connection.prepareStatement("INSERT INTO " + table.relay()
                + " AS r (shard, shards, epoch, low, sent, rate, relay, since, seen)"
                + " VALUES (?, ?, ?, ?, 0, 0, ?, now(), now())"
                + " ON CONFLICT (shard) DO UPDATE SET " + raiseEpoch("r.", claim.keepsProgress())
                + ", relay = excluded.relay, since = now(), seen = now(), rate = 0"
                + " RETURNING " + TENANCY)) {
            upsert.setInt(1, claim.shard());
            upsert.setInt(2, claim.shards());
            upsert.setLong(3, first);
            upsert.setLong(4, beginning());
            upsert.setString(5, claim.relay());
            try (var result = upsert.executeQuery()) {
                result.next();
                return tenancy(result);
            }
        }
    }

    @Override
    int delete(Connection connection, int shard, long epoch, long[] ids) throws SQLException {
        try (var delete = connection.prepareStatement("WITH ours AS (SELECT 1 FROM " + table.relay()
                + " WHERE shard = ? AND epoch = ? FOR SHARE) DELETE FROM " + table.name()
                + " WHERE id = ANY(?) AND EXISTS (SELECT 1 FROM ours)")) {
            delete.setInt(1, shard);
            delete.setLong(2, epoch);
            delete.setArray(3, array(connection, ids));
            return delete.executeUpdate();
        }
    }

    @Override
    void impatient(Connection connection, Duration silence) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute("SET LOCAL idle_in_transaction_session_timeout = " + silence.toMillis());
        }
    }

    @Override
    String insert() {
        if (table.layout() == Layout.GOHARVEST) {
            return "INSERT INTO " + table.name() + " (create_time, kafka_topic, kafka_key, kafka_value,"
                    + " kafka_header_keys, kafka_header_values) VALUES (clock_timestamp(), ?, ?, ?, ?, ?)";
        }
        return "INSERT INTO " + table.name() + " (event_id, topic, record_key, record_value, headers,"
                + " record_partition, record_time_ms) VALUES (?::uuid, ?, ?, ?, ?, ?, ?)";
    }

    @Override
    void bind(PreparedStatement insert, Message message, @Nullable String headers) throws SQLException {
        if (table.layout() == Layout.BELLWETHER) {
            bindOwn(insert, message, headers);
            return;
        }
        GoharvestInsert.bind(insert, message);
    }

    @Override
    String park() {
        var c = columns;
        return "INSERT INTO " + table.parked() + " (id, event_id, created, topic, record_key, record_value, headers,"
                + " record_partition, record_time_ms, parked, reason) SELECT id, " + c.eventId + ", " + c.created + ", "
                + c.topic + ", " + c.key + ", " + c.value + ", " + c.headers + ", " + c.partition + ", " + c.timestamp
                + ", now(), ? FROM " + table.name() + " WHERE id = ? ON CONFLICT (id) DO NOTHING";
    }

    @Override
    String requeue() {
        if (table.layout() == Layout.GOHARVEST) {
            var lines = "unnest(string_to_array(headers, E'\\n')) WITH ORDINALITY AS lines(l, nth) ORDER BY nth";
            return "INSERT INTO " + table.name() + " (create_time, kafka_topic, kafka_key, kafka_value,"
                    + " kafka_header_keys, kafka_header_values) SELECT created, topic, convert_from(record_key,"
                    + " 'UTF8'),"
                    + " convert_from(record_value, 'UTF8'), ARRAY(SELECT " + text("split_part(l, '::', 2)") + " FROM "
                    + lines
                    + ") || '" + GoharvestInsert.EVENT_ID + "'::text, ARRAY(SELECT CASE WHEN l LIKE '::%:: %' THEN "
                    + text("split_part(l, ':: ', 2)") + " END FROM " + lines + ") || event_id::text FROM "
                    + table.parked() + " WHERE id = ?";
        }
        return "INSERT INTO " + table.name() + " (event_id, created, topic, record_key, record_value, headers,"
                + " record_partition, record_time_ms) SELECT event_id, created, topic, record_key, record_value,"
                + " headers, record_partition, record_time_ms FROM " + table.parked() + " WHERE id = ?";
    }

    private static String base64(String text) {
        return "translate(encode(convert_to(" + text + ", 'UTF8'), 'base64'), E'\\n', '')";
    }

    private static String text(String base64) {
        return "convert_from(decode(" + base64 + ", 'base64'), 'UTF8')";
    }

    @Override
    long estimate(Connection connection) throws SQLException {
        return number(
                connection, "SELECT reltuples::bigint FROM pg_class WHERE oid = '" + table.name() + "'::regclass");
    }

    @Override
    List<OutboxAdmin.Finding> examine(Connection connection) throws SQLException {
        return new PostgresDoctor(connection, table, List.of()).examine();
    }

    static Array array(Connection connection, long[] numbers) throws SQLException {
        var boxed = new Long[numbers.length];
        for (var i = 0; i < numbers.length; i++) {
            boxed[i] = numbers[i];
        }
        return connection.createArrayOf("bigint", boxed);
    }
}
