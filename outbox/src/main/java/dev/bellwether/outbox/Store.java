package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What we say to one kind of database about one outbox. Immutable; the connection is the caller's, who may be one
 * thread at a time.
 */
abstract class Store {
    final OutboxTable table;

    Store(OutboxTable table) {
        this.table = table;
    }

    /**
     * Stands in the column {@code shard} of the row that tells whose table this is: the name of the outbox as
     * {@code relay}, and how it is divided. It is made first, so that of two relays that disagree one waits for the
     * other, and is refused.
     */
    static final int WHOLE = -1;

    /** For how long a client may say nothing in a transaction that needs nobody else. */
    static final Duration SILENCE = Duration.ofSeconds(5);

    private static final int LONGEST_REASON = 10_000;

    /** The columns of a {@link Tenancy}, in their order. */
    static final String TENANCY = "epoch, low, progress_epoch, progress_number";

    /** A shard's row, when a leader has made it its own. */
    record Tenancy(long epoch, long low, ProgressMark progress) {}

    /**
     * Who wants a shard.
     *
     * @param outbox the name by which relays find each other
     * @param relay the candidate
     * @param keepsProgress whether it writes down what it publishes
     */
    record Claim(String outbox, int shard, int shards, String relay, boolean keepsProgress) {}

    /**
     * Which rows are asked for.
     *
     * @param inline rows with more bytes than this come without value and headers
     * @param published the highest id that was published before this reader began, if such rows stay in the table
     */
    record Wanted(long cursor, int limit, long inline, int shard, int shards, long published) {
        /** All rows behind the cursor are to be published. */
        Wanted(long cursor, int limit, long inline, int shard, int shards) {
            this(cursor, limit, inline, shard, shards, Long.MIN_VALUE);
        }
    }

    /** Ids of rows that were published, and are still in the table. */
    record Run(long from, long to) {}

    /**
     * Rows in the order of their ids; {@linkplain Row#ofAnotherShard of other shards' rows} only the id is known.
     *
     * @param late of the gaps, without those of other shards
     * @param published behind the cursor, beside the rows there, in their order
     * @param more whether more is certain to be there
     */
    record Found(List<Row> late, List<Row> hot, List<Run> published, boolean more) {
        Found(List<Row> late, List<Row> hot) {
            this(late, hot, List.of(), false);
        }

        /** Returns rows as those of the gaps and those behind the cursor. */
        static Found of(long cursor, List<Row> rows) {
            return new Found(
                    rows.stream().filter(row -> row.id() <= cursor).toList(),
                    rows.stream().filter(row -> row.id() > cursor).toList());
        }
    }

    /**
     * What is to be published.
     *
     * @param rows as many as were counted
     * @param oldestMillis for how long the first row has been there; 0 if there is none
     */
    record Backlog(long rows, long oldestMillis) {}

    static Store of(Connection connection, OutboxTable table) throws SQLException {
        var product = connection.getMetaData().getDatabaseProductName();
        return switch (product.toLowerCase(Locale.ROOT)) {
            case "postgresql" -> new PostgresStore(table);
            case "mysql", "mariadb" -> new MysqlStore(table);
            default ->
                throw new IllegalArgumentException(
                        "an outbox lives in PostgreSQL, MariaDB or MySQL; this is " + product);
        };
    }

    /** Returns how writers wake an idle relay; empty if this database has nothing for that. */
    Optional<WakeUpSql> wakeUps() {
        return Optional.empty();
    }

    /**
     * Returns what makes tables of a form.
     *
     * @throws IllegalArgumentException if they cannot have it here
     */
    Store in(OutboxForm form) {
        if (form == OutboxForm.ROTATED) {
            throw new IllegalArgumentException("outbox table " + table.name()
                    + " cannot be rotated: that form exists on PostgreSQL only, in our own layout. Use "
                    + "the plain form.");
        }
        return this;
    }

    /** Returns the store for the form that the table has, or this one if there is none. */
    Store asFound(Connection connection) throws SQLException {
        return this;
    }

    /** Returns what has the rows that are to be published, to stand behind FROM. */
    String toPublish() {
        return table.name();
    }

    /** Returns the form of the tables that this store serves. */
    OutboxForm form() {
        return OutboxForm.PLAIN;
    }

    /** Returns the highest id of a row that was published and may still be in the table. */
    long published(Connection connection) throws SQLException {
        return Long.MIN_VALUE;
    }

    /**
     * Gives storage back to the system that holds nothing but what was published, and returns whether there was any.
     *
     * @param cursor the id up to which rows were read: where it is, more are about to come
     * @param retained how long rows are kept that were published, unless their place is needed
     */
    boolean rotate(Connection connection, long cursor, Duration retained) throws SQLException {
        return false;
    }

    /** Returns the statements that make all tables. */
    abstract List<String> ddl();

    /** Returns the statements that make the tables beside one that is there. */
    abstract List<String> sideDdl();

    /** Makes a connection fit for reading or deleting. */
    abstract void prepare(Connection connection, boolean deletes) throws SQLException;

    /** Undoes that, for the pool, but for the isolation. */
    abstract void restore(Connection connection) throws SQLException;

    /**
     * Returns rows of the gaps, and rows behind the cursor, as one snapshot has them: with each row all of its key that
     * were committed before it.
     */
    abstract Found read(Connection connection, Wanted wanted, Gaps gaps) throws SQLException;

    /** Returns value and headers of such rows. */
    abstract List<Row> fetch(Connection connection, List<Row> deferred) throws SQLException;

    /** Returns the condition that a topic is exactly the one of a parameter. */
    String isTopic() {
        return "topic = ?";
    }

    /** Returns the condition that a row is of this shard, of so many. */
    abstract String mine(int shard, int shards);

    /** Returns the same as what is added to other conditions; nothing if there is one shard. */
    final String andMine(int shard, int shards) {
        return shards == 1 ? "" : " AND " + mine(shard, shards);
    }

    /** Returns ids up to the cursor that belong to the shard and are to be published, behind a given one. */
    long[] ids(Connection connection, long from, long cursor, int limit, int shard, int shards) throws SQLException {
        try (var query = connection.prepareStatement("SELECT id FROM " + table.name() + " WHERE id > ? AND id <= ?"
                + andMine(shard, shards) + " ORDER BY id LIMIT ?")) {
            query.setLong(1, from);
            query.setLong(2, cursor);
            query.setInt(3, limit);
            try (var result = query.executeQuery()) {
                return numbers(result);
            }
        }
    }

    /** Returns the condition that this server takes no writes, since it copies another. */
    abstract String replicaCondition();

    final boolean isReplica(Connection connection) throws SQLException {
        return number(connection, "SELECT CASE WHEN " + replicaCondition() + " THEN 1 ELSE 0 END") == 1;
    }

    /**
     * Refuses to read where others do not write: what was deleted is there for a while, and who is about to commit is
     * not seen. A proxy may send what only reads to another server than the rest.
     *
     * @throws IllegalStateException if it is so
     */
    final void requirePrimary(Connection reading) throws SQLException {
        if (isReplica(reading)) {
            throw new IllegalStateException(Refusals.replica(table.name()));
        }
    }

    /**
     * Returns what sees who may still commit a row whose id was drawn before now.
     *
     * @param deleting the connection that only deletes
     */
    abstract OpenWriters openWriters(Connection reading, Connection deleting) throws SQLException;

    /** Returns what remembers gaps, as many as this database can be asked for at once. */
    abstract Gaps gaps();

    /**
     * Makes the shard the claimant's: who had it before deletes nothing any more.
     *
     * @throws IllegalStateException if the table is of another outbox, or divided otherwise
     */
    final Tenancy acquire(Connection connection, Claim claim) throws SQLException {
        requireOurs(connection, claim);
        return transaction(connection, () -> {
            try (var found = connection.prepareStatement(found())) {
                found.setInt(1, WHOLE);
                found.setInt(2, claim.shards());
                found.setString(3, claim.outbox());
                found.executeUpdate();
            }
            // and nobody divides the outbox until we are done, also if the shard has no row to lock
            var before = number(
                    connection, "SELECT epoch FROM " + table.relay() + " WHERE shard = " + WHOLE + " " + sharing());
            var tenancy = raise(connection, claim, before + 1);
            requireOurs(connection, claim); // it may have been divided, or founded, while we waited for a row
            if (asFound(connection).form() != form()) {
                throw new IllegalStateException("table " + table.name() + " was given another form in the meantime");
            }
            return tenancy;
        });
    }

    private void requireOurs(Connection connection, Claim claim) throws SQLException {
        try (var query = connection.createStatement();
                var rows =
                        query.executeQuery("SELECT shard, shards, relay FROM " + table.relay() + " ORDER BY shard")) {
            while (rows.next()) {
                if (rows.getInt(2) != claim.shards()) {
                    throw new IllegalStateException(Refusals.shards(table.name(), rows.getInt(2), claim.shards()));
                }
                // compared here, since to a database two names may be the same that are not
                if (rows.getInt(1) == WHOLE && !claim.outbox().equals(rows.getString(3))) {
                    throw new IllegalStateException(Refusals.name(table.name(), rows.getString(3), claim.outbox()));
                }
            }
        }
    }

    /** Inserts shard, shards and relay as a row that is nobody's, unless it is there; waits for who is about to. */
    abstract String found();

    /** Returns what makes a query wait for those who change its rows, and keeps others from changing them. */
    abstract String sharing();

    /**
     * Inserts the row of a shard, or raises its epoch.
     *
     * @param first its epoch if it has no row: above all that a shard has had in former divisions
     */
    abstract Tenancy raise(Connection connection, Claim claim, long first) throws SQLException;

    /** Returns the mark of a shard that nobody has led: no row is before it. */
    abstract long beginning();

    /**
     * Returns the query for the id up to which the shards together have dealt with all rows: with none, if nobody has
     * led one of them.
     */
    final String low() {
        return "SELECT CASE WHEN count(*) = max(shards) THEN min(low) ELSE " + beginning() + " END FROM "
                + table.relay() + " WHERE shard > " + WHOLE;
    }

    /** Returns who made a shard its own last. */
    final Optional<String> tenant(Connection connection, int shard) throws SQLException {
        return tenant(connection, tenant(shard));
    }

    /** Returns the name of the outbox, and locks the row that has it. */
    final Optional<String> lockedName(Connection connection) throws SQLException {
        return tenant(connection, tenant(WHOLE) + " FOR UPDATE");
    }

    private String tenant(int shard) {
        return "SELECT relay FROM " + table.relay() + " WHERE shard = " + shard;
    }

    private static Optional<String> tenant(Connection connection, String sql) throws SQLException {
        try (var query = connection.createStatement();
                var result = query.executeQuery(sql)) {
            return result.next() ? Optional.ofNullable(result.getString(1)) : Optional.empty();
        }
    }

    /** Does what changes what all relays must agree on, with the connection as that needs it. */
    <T> T changing(Connection connection, Transaction<T> change) throws SQLException {
        return isolated(connection, Connection.TRANSACTION_READ_COMMITTED, change);
    }

    /** Returns a query for rows that its transaction has locked, so that what is read later is as new as then. */
    String ofLocked(String query) {
        return query;
    }

    /**
     * Deletes rows, or writes down that they are published, if the shard is still ours, and returns how many. One
     * statement: a frozen client must not hold a lock.
     *
     * @param ids sorted
     */
    abstract int delete(Connection connection, int shard, long epoch, long[] ids) throws SQLException;

    /**
     * The same for rows that an operator may have deleted, which is no sign of another leader.
     *
     * @throws DeposedException if the shard is not ours
     */
    final int deleteLeft(Connection connection, int shard, long epoch, long[] ids)
            throws SQLException, DeposedException {
        var count = delete(connection, shard, epoch, ids);
        if (count == 0 && !isEpoch(connection, shard, epoch)) {
            throw new DeposedException(shard, epoch);
        }
        return count;
    }

    /** An epoch that is over does not come back: if it is this one now, it was before. */
    private boolean isEpoch(Connection connection, int shard, long epoch) throws SQLException {
        return tenancy(connection, shard)
                .filter(tenancy -> tenancy.epoch() == epoch)
                .isPresent();
    }

    /** Updates the row of a shard, if it is ours; returns whether it is. A driver may count only what has changed. */
    private boolean isOurs(PreparedStatement update, int shard, long epoch) throws SQLException {
        return update.executeUpdate() == 1 || isEpoch(update.getConnection(), shard, epoch);
    }

    /** Writes down the progress of a shard, and returns whether that is still ours. */
    final boolean mark(Connection connection, int shard, long epoch, ProgressMark progress) throws SQLException {
        try (var update = connection.prepareStatement("UPDATE " + table.relay()
                + " SET progress_epoch = ?, progress_number = ? WHERE shard = ? AND epoch = ?")) {
            update.setLong(1, progress.epoch());
            update.setLong(2, progress.number());
            update.setInt(3, shard);
            update.setLong(4, epoch);
            return isOurs(update, shard, epoch);
        }
    }

    /**
     * Sets the columns of a row to another leader's, in this order, because MySQL goes by it. Whether all leaders have
     * kept progress is passed on from one that does to the next that does.
     *
     * @param row what names the row as it is before
     */
    static String raiseEpoch(String row, boolean keepsProgress) {
        return (keepsProgress
                        ? "progress_epoch = CASE WHEN " + row + "progress_epoch = " + row + "epoch THEN " + row
                                + "epoch + 1 ELSE " + row + "progress_epoch END, "
                        : "")
                + "epoch = " + row + "epoch + 1";
    }

    /** Returns the event ids of those rows that are there, and not written down as published. */
    abstract Map<Long, String> eventIds(Connection connection, long[] ids) throws SQLException;

    /**
     * Makes what this connection does from now on durable before it is confirmed, with all that it did before; or soon
     * after.
     */
    abstract void durable(Connection connection, boolean before) throws SQLException;

    /** Returns the row of a shard; empty if nobody has led it. */
    final Optional<Tenancy> tenancy(Connection connection, int shard) throws SQLException {
        try (var query =
                connection.prepareStatement("SELECT " + TENANCY + " FROM " + table.relay() + " WHERE shard = ?")) {
            query.setInt(1, shard);
            try (var result = query.executeQuery()) {
                return result.next() ? Optional.of(tenancy(result)) : Optional.empty();
            }
        }
    }

    /** Reads the {@link #TENANCY}. */
    static Tenancy tenancy(ResultSet result) throws SQLException {
        return new Tenancy(
                result.getLong(1), result.getLong(2), new ProgressMark(result.getLong(3), result.getLong(4)));
    }

    static Map<Long, String> texts(ResultSet result) throws SQLException {
        var texts = new HashMap<Long, String>();
        while (result.next()) {
            texts.put(result.getLong(1), result.getString(2));
        }
        return texts;
    }

    /** Inserts statement text for a message. */
    abstract String insert();

    abstract void bind(PreparedStatement insert, Message message, @Nullable String headers) throws SQLException;

    /** What is done in a transaction. */
    interface Transaction<T> {
        T run() throws SQLException;
    }

    /** What undoes something behind that. */
    interface Undo {
        void run() throws SQLException;
    }

    final <T> T transaction(Connection connection, Transaction<T> all) throws SQLException {
        return transaction(connection, SILENCE, all);
    }

    /**
     * Does all of it, or nothing. If its client says nothing for so long, the database ends it: nobody must wait for
     * one that is frozen.
     */
    final <T> T transaction(Connection connection, Duration silence, Transaction<T> all) throws SQLException {
        connection.setAutoCommit(false);
        return andBack(
                () -> {
                    try {
                        impatient(connection, silence);
                        var done = all.run();
                        connection.commit();
                        return done;
                    } catch (SQLException | RuntimeException | Error e) { // else the change of mode would commit
                        also(e, connection::rollback);
                        throw e;
                    }
                },
                () -> {
                    connection.setAutoCommit(true);
                    patient(connection);
                });
    }

    /** Does all of it while the connection has this isolation. */
    static <T> T isolated(Connection connection, int isolation, Transaction<T> all) throws SQLException {
        var before = connection.getTransactionIsolation();
        connection.setTransactionIsolation(isolation);
        return andBack(all, () -> connection.setTransactionIsolation(before));
    }

    /**
     * Does all of it, and then puts the connection back as it was. If both fail, as they do when it breaks, this says
     * why the first did.
     */
    static <T> T andBack(Transaction<T> all, Undo back) throws SQLException {
        T done;
        try {
            done = all.run();
        } catch (SQLException | RuntimeException | Error e) {
            also(e, back);
            throw e;
        }
        back.run();
        return done;
    }

    private static void also(Throwable failed, Undo back) {
        try {
            back.run();
        } catch (SQLException | RuntimeException e) {
            failed.addSuppressed(e);
        }
    }

    /** Lets the database end the transaction that begins if its client says nothing for so long. */
    abstract void impatient(Connection connection, Duration silence) throws SQLException;

    /** Undoes that behind the transaction, unless it ends with it. */
    void patient(Connection connection) throws SQLException {}

    /**
     * Lets the database give up statements that wait for a lock before their client does: what a client has given up
     * waits on in the server, with its connection.
     *
     * @param patience the client's
     */
    void limitWaits(Connection connection, Duration patience) throws SQLException {}

    /** Undoes that, for the pool. */
    void unlimitWaits(Connection connection) throws SQLException {}

    /** Returns the reading of rows by id, for parking. */
    abstract String park();

    abstract String requeue();

    /** Returns what is to be published behind a mark; of more rows than {@code most}, that there is one more. */
    Backlog backlog(Connection connection, long low, long most) throws SQLException {
        return new Backlog(count(connection, low, most), ageMillis(connection, low));
    }

    /** Returns for how many milliseconds the first row behind a mark has been there; 0 if there is none. */
    abstract long ageMillis(Connection connection, long low) throws SQLException;

    private long count(Connection connection, long low, long most) throws SQLException {
        try (var query = connection.prepareStatement("SELECT count(*) FROM (SELECT 1 AS one FROM " + table.name()
                + " WHERE id > ? ORDER BY id LIMIT " + (most + 1) + ") AS counted")) {
            query.setLong(1, low);
            try (var result = query.executeQuery()) {
                return result.next() ? result.getLong(1) : 0;
            }
        }
    }

    /** Returns the expression that tells for how many milliseconds the leader of a shard has not written. */
    abstract String silentMillis();

    /**
     * Returns when this column says that something was, in milliseconds since 1970: drivers take the local time of a
     * session for one of their own zone.
     */
    abstract String millis(String column);

    /** Returns an expression for the moment that a parameter of milliseconds since 1970 names. */
    abstract String atMillis();

    /** Returns about how many rows there are, as the database estimates it. */
    abstract long estimate(Connection connection) throws SQLException;

    /** Looks for what breaks the order, or costs speed. */
    abstract List<OutboxAdmin.Finding> examine(Connection connection) throws SQLException;

    /** Writes down that more records were published, and returns whether the shard is still ours. */
    final boolean addSent(Connection connection, int shard, long epoch, long sent) throws SQLException {
        try (var update = connection.prepareStatement(
                "UPDATE " + table.relay() + " SET sent = sent + ? WHERE shard = ? AND epoch = ?")) {
            update.setLong(1, sent);
            update.setInt(2, shard);
            update.setLong(3, epoch);
            return isOurs(update, shard, epoch);
        }
    }

    /** Writes down how far we are, and returns whether the shard is still ours. */
    boolean report(Connection connection, int shard, long epoch, long low, long sent, double rate) throws SQLException {
        try (var update = connection.prepareStatement("UPDATE " + table.relay()
                + " SET low = ?, sent = sent + ?, rate = ?, seen = CURRENT_TIMESTAMP WHERE shard = ? AND epoch = ?")) {
            update.setLong(1, low);
            update.setLong(2, sent);
            update.setDouble(3, rate);
            update.setInt(4, shard);
            update.setLong(5, epoch);
            return isOurs(update, shard, epoch);
        }
    }

    /** Moves a row to the parking table, if the shard is still ours; returns whether it is. */
    boolean park(Connection connection, int shard, long epoch, Row row, String reason) throws SQLException {
        return transaction(connection, () -> parkNow(connection, shard, epoch, row, reason));
    }

    private boolean parkNow(Connection connection, int shard, long epoch, Row row, String reason) throws SQLException {
        try (var ours = connection.prepareStatement(
                        "SELECT epoch FROM " + table.relay() + " WHERE shard = ? AND epoch = ? FOR UPDATE");
                var park = connection.prepareStatement(park());
                var aside = connection.prepareStatement(aside());
                var delete = connection.prepareStatement("DELETE FROM " + table.name() + " WHERE id = ?")) {
            ours.setInt(1, shard);
            ours.setLong(2, epoch);
            try (var found = ours.executeQuery()) {
                if (!found.next()) {
                    return false;
                }
            }
            park.setString(1, cut(reason));
            park.setLong(2, row.id());
            if (park.executeUpdate() == 0 && !isSameParked(connection, row)) {
                // ids were given out again, as after a restore: the other keeps its place under a number that no row
                // has
                aside.setLong(1, row.id());
                aside.executeUpdate();
                if (park.executeUpdate() == 0) {
                    throw new SQLException(row.describe() + " could not be parked: another has its id");
                }
            }
            delete.setLong(1, row.id());
            delete.executeUpdate();
            return true;
        }
    }

    private String aside() {
        return "UPDATE " + table.parked()
                + " SET id = (SELECT least(coalesce(min(p.id), 0), 0) - 1 FROM (SELECT id FROM " + table.parked()
                + ") AS p) WHERE id = ?";
    }

    /** Whether what is parked under this id is this record. */
    private boolean isSameParked(Connection connection, Row row) throws SQLException {
        try (var query = connection.prepareStatement("SELECT event_id FROM " + table.parked() + " WHERE id = ?")) {
            query.setLong(1, row.id());
            try (var result = query.executeQuery()) {
                return !result.next() || row.eventId().equals(result.getString(1));
            }
        }
    }

    /** Returns as much of a reason as every database takes: MariaDB and MySQL up to 64 KB. */
    private static String cut(String reason) {
        if (reason.length() <= LONGEST_REASON) {
            return reason;
        }
        var end = Character.isHighSurrogate(reason.charAt(LONGEST_REASON - 1)) ? LONGEST_REASON - 1 : LONGEST_REASON;
        return reason.substring(0, end) + '…';
    }

    /**
     * Writes down what waits in a shard, in the place of what stood there; that of an earlier leader is not shown. Each
     * statement by itself: a client that is frozen between two must hold no lock that its successor would wait for.
     */
    final void writeBlocked(Connection connection, int shard, long epoch, List<OutboxAdmin.BlockedRecord> blocked)
            throws SQLException {
        connection.setAutoCommit(true);
        try (var forget = connection.prepareStatement(
                        "DELETE FROM " + table.blocked() + " WHERE shard = ? AND epoch <= ?");
                var insert = connection.prepareStatement("INSERT INTO " + table.blocked()
                        + " (shard, epoch, id, topic, waits, since, reason) VALUES (?, ?, ?, ?, ?, " + atMillis()
                        + ", ?)")) {
            forget.setInt(1, shard);
            forget.setLong(2, epoch);
            forget.executeUpdate();
            for (var one : blocked) {
                insert.setInt(1, shard);
                insert.setLong(2, epoch);
                insert.setLong(3, one.id());
                insert.setString(4, one.topic());
                insert.setString(5, one.waits().name());
                insert.setLong(6, one.since().toEpochMilli());
                insert.setString(7, cut(one.reason()));
                insert.addBatch();
            }
            if (!blocked.isEmpty()) {
                insert.executeBatch();
            }
        }
    }

    /**
     * Inserts messages; the transaction is the caller's.
     *
     * @param announcement a query that is sent with them; null for none
     */
    void stash(Connection connection, Collection<Message> messages, @Nullable String announcement) throws SQLException {
        if (messages.size() == 1) {
            var message = messages.iterator().next();
            // one statement of two commands is one round trip
            try (var insert =
                    connection.prepareStatement(announcement == null ? insert() : insert() + "; " + announcement)) {
                bind(insert, message, HeaderLines.write(message.headers()));
                insert.execute();
            }
            return;
        }
        try (var insert = connection.prepareStatement(insert())) {
            for (var message : messages) {
                bind(insert, message, HeaderLines.write(message.headers()));
                insert.addBatch();
            }
            insert.executeBatch();
        }
        if (announcement != null) {
            try (var announce = connection.prepareStatement(announcement)) {
                announce.execute();
            }
        }
    }

    static void bindOwn(PreparedStatement insert, Message message, @Nullable String headers) throws SQLException {
        insert.setString(1, message.eventId().toString());
        insert.setString(2, message.topic());
        insert.setBytes(3, message.key());
        insert.setBytes(4, message.value());
        insert.setString(5, headers);
        if (message.partition().isPresent()) {
            insert.setInt(6, message.partition().getAsInt());
        } else {
            insert.setNull(6, Types.INTEGER);
        }
        if (message.timestamp().isPresent()) {
            insert.setLong(7, message.timestamp().get().toEpochMilli());
        } else {
            insert.setNull(7, Types.BIGINT);
        }
    }

    /** Reads the columns id, event id, topic, key, value, headers, partition, timestamp, size. */
    static Row row(ResultSet result, long inline) throws SQLException {
        var id = result.getLong(1);
        var topic = result.getString(3);
        if (topic == null) {
            return Row.ofAnotherShard(id);
        }
        var size = result.getLong(9);
        var partition = result.getInt(7);
        var hasPartition = !result.wasNull();
        var timestamp = result.getLong(8);
        var hasTimestamp = !result.wasNull();
        return new Row(
                id,
                result.getString(2),
                topic,
                result.getBytes(4),
                result.getBytes(5),
                result.getString(6),
                hasPartition ? partition : -1,
                hasTimestamp ? timestamp : -1,
                size,
                size > inline);
    }

    static List<Row> rows(ResultSet result, long inline) throws SQLException {
        var rows = new ArrayList<Row>();
        while (result.next()) {
            rows.add(row(result, inline));
        }
        return rows;
    }

    /** Asks for one number; 0 if there is none. */
    static long number(Connection connection, String query) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(query)) {
            return result.next() ? result.getLong(1) : 0;
        }
    }

    static long[] numbers(ResultSet result) throws SQLException {
        var numbers = new long[64];
        var count = 0;
        while (result.next()) {
            if (count == numbers.length) {
                numbers = java.util.Arrays.copyOf(numbers, count * 2);
            }
            numbers[count++] = result.getLong(1);
        }
        return java.util.Arrays.copyOf(numbers, count);
    }
}
