package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an operator asks and orders. Thread-safe; a connection is borrowed for each call. What asks, and what requeues,
 * waits for each answer as long as the network timeout of the connection says, or two minutes.
 */
public final class OutboxAdmin {
    private static final Logger LOG = LoggerFactory.getLogger(OutboxAdmin.class);
    private static final long COUNTED = 1_000_000;
    private static final long COUNTED_QUICKLY = 100_000;
    /** More than brokers are waited for. */
    private static final Duration SILENCE = Duration.ofMinutes(2);

    /** How long to wait for each answer of the database, unless its connections have a limit of their own. */
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private static final String NOT_FENCED = "the producers of the old shards could not be fenced: nothing was changed";

    private final DataSource database;
    private final OutboxTable table;
    private final Duration silence;

    /**
     * Serves this table.
     *
     * @param silence the database ends a change if we say nothing for so long, as a machine that has vanished: relays
     *     wait for it
     */
    OutboxAdmin(DataSource database, OutboxTable table, Duration silence) {
        this.database = database;
        this.table = table;
        this.silence = silence;
    }

    /** Serves this table. */
    public static OutboxAdmin of(DataSource database, OutboxTable table) {
        return new OutboxAdmin(database, table, SILENCE);
    }

    /**
     * How an outbox stands.
     *
     * @param backlog rows in the table that are to be published
     * @param exact whether they were counted: beyond a million, or what {@link #quickState} counts, it is the
     *     database's estimate
     * @param oldest for how long the first row has been there
     * @param parked records in the parking table: counted up to a million, by {@link #quickState} up to 100,000; one
     *     more stands for more
     * @param blocked records that wait and hold back others, as far as the leaders have written them down
     */
    public record State(
            long backlog, boolean exact, Duration oldest, long parked, long blocked, List<ShardState> shards) {
        /** Copies the list. */
        public State {
            shards = List.copyOf(shards);
        }
    }

    /**
     * How a shard stands, as its last leader wrote it down, every second. If nobody has led it, it has stood so since
     * the outbox was divided so, and {@code epoch} is 0.
     *
     * @param relay who that was; empty if nobody has led it
     * @param seen when it did so last
     * @param silent for how long it has not, by the database's clock: while somebody publishes the shard, a second or
     *     two
     * @param published records, ever
     */
    public record ShardState(
            int shard,
            String relay,
            long epoch,
            Instant since,
            Instant seen,
            Duration silent,
            double ratePerSecond,
            long published) {
        private static final Duration LONG = Duration.ofMinutes(1);

        static ShardState notLed(int shard, ShardState whole) {
            return new ShardState(shard, "", 0, whole.since, whole.seen, whole.silent, 0, 0);
        }

        /**
         * Returns whether somebody serves the shard: its leader has written within the last minute. Otherwise nobody
         * leads, or the one who does cannot begin, or a record has halted it for longer than that.
         */
        public boolean isServed() {
            return epoch > 0 && silent.compareTo(LONG) <= 0;
        }
    }

    /**
     * A record that could not be published.
     *
     * @param eventId as it stands in the row: MariaDB and MySQL take any text for one
     */
    public record ParkedRecord(long id, String eventId, String topic, Instant parked, String reason) {}

    /**
     * A record that stays in the table and holds back others.
     *
     * @param waits what waits for it
     * @param since when its leader blocked it for the first time
     */
    public record BlockedRecord(int shard, long id, String topic, Waits waits, Instant since, String reason) {}

    /** What waits when a record does. */
    public enum Waits {
        /** All later records of its topic and key. */
        KEY,
        /** All records of its topic. */
        TOPIC,
        /** All that goes to its partition, which has no leader. */
        PARTITION,
        /** The whole shard: the relay is told to halt. */
        SHARD
    }

    /** Returns how the outbox stands. */
    public State state() throws SQLException {
        try (var lent = lend()) {
            var connection = lent.connection();
            return state(connection, store(connection, table), Long.MIN_VALUE, COUNTED);
        }
    }

    /**
     * Returns the same at a bounded cost, for a caller that asks again and again: 100,000 rows are counted at most, and
     * as many parked records, beginning behind the mark up to which the leaders have dealt with all rows. So it walks
     * over no rows that are deleted and not yet removed, and does not count rows that appear before that mark, which
     * {@link RelayStats#strays} tells of.
     */
    public State quickState() throws SQLException {
        try (var lent = lend()) {
            return quickState(lent.connection(), table);
        }
    }

    static State quickState(Connection connection, OutboxTable table) throws SQLException {
        var store = store(connection, table);
        return state(connection, store, Store.number(connection, store.low()), COUNTED_QUICKLY);
    }

    /** Returns what serves the table in the form that it has. */
    private static Store store(Connection connection, OutboxTable table) throws SQLException {
        return Store.of(connection, table).asFound(connection);
    }

    private static State state(Connection connection, Store store, long low, long most) throws SQLException {
        var table = store.table;
        var counted = store.backlog(connection, low, most);
        var exact = counted.rows() <= most;
        var backlog = exact ? counted.rows() : Math.max(counted.rows(), store.estimate(connection));
        var oldest = Duration.ofMillis(counted.oldestMillis());
        var parked = Store.number(
                connection,
                "SELECT count(*) FROM (SELECT 1 AS one FROM " + table.parked() + " LIMIT " + (most + 1)
                        + ") AS counted");
        var shards = shards(connection, store);
        var blocked = OutboxSchema.mayBeRead(connection, table.blocked())
                ? Store.number(connection, "SELECT count(*) FROM " + blockedNow(table))
                : 0;
        return new State(backlog, exact, oldest, parked, blocked, shards);
    }

    private static List<ShardState> shards(Connection connection, Store store) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT shard, relay, epoch, " + store.millis("since") + ", "
                        + store.millis("seen") + ", " + store.silentMillis() + ", rate, sent, shards FROM "
                        + store.table.relay() + " ORDER BY shard")) {
            var shards = new TreeMap<Integer, ShardState>();
            while (result.next()) {
                var row = new ShardState(
                        result.getInt(1),
                        result.getString(2),
                        result.getLong(3),
                        Instant.ofEpochMilli(result.getLong(4)),
                        Instant.ofEpochMilli(result.getLong(5)),
                        Duration.ofMillis(Math.max(0, result.getLong(6))),
                        result.getDouble(7),
                        result.getLong(8));
                if (row.shard() == Store.WHOLE) { // comes first, and tells how many there are
                    for (var shard = 0; shard < result.getInt(9); shard++) {
                        shards.put(shard, ShardState.notLed(shard, row));
                    }
                } else {
                    shards.put(row.shard(), row);
                }
            }
            return List.copyOf(shards.values());
        }
    }

    /** What an earlier leader has written is not so any more. */
    private static String blockedNow(OutboxTable table) {
        return table.blocked() + " b JOIN " + table.relay() + " r ON r.shard = b.shard AND r.epoch = b.epoch";
    }

    /**
     * Returns the records that wait and hold back others, those of one shard after another, at most so many: what the
     * leaders have written down, within about a second. None if the table for that is missing, which {@link
     * OutboxSchema#migrate} makes, or may not be read.
     */
    public List<BlockedRecord> blocked(int most) throws SQLException {
        try (var lent = lend()) {
            var connection = lent.connection();
            if (!OutboxSchema.mayBeRead(connection, table.blocked())) {
                return List.of();
            }
            try (var query = connection.prepareStatement("SELECT b.shard, b.id, b.topic, b.waits, "
                    + Store.of(connection, table).millis("b.since") + ", b.reason FROM " + blockedNow(table)
                    + " ORDER BY b.shard, b.id LIMIT ?")) {
                query.setInt(1, most);
                try (var result = query.executeQuery()) {
                    var blocked = new ArrayList<BlockedRecord>();
                    while (result.next()) {
                        blocked.add(new BlockedRecord(
                                result.getInt(1),
                                result.getLong(2),
                                result.getString(3),
                                Waits.valueOf(result.getString(4)),
                                Instant.ofEpochMilli(result.getLong(5)),
                                result.getString(6)));
                    }
                    return blocked;
                }
            }
        }
    }

    /** Returns the parked records, the oldest first, at most so many. */
    public List<ParkedRecord> parked(int most) throws SQLException {
        try (var lent = lend();
                var query = lent.connection()
                        .prepareStatement("SELECT id, event_id, topic, "
                                + Store.of(lent.connection(), table).millis("parked") + ", reason FROM "
                                + table.parked()
                                + " ORDER BY id LIMIT ?")) {
            query.setInt(1, most);
            try (var result = query.executeQuery()) {
                var parked = new ArrayList<ParkedRecord>();
                while (result.next()) {
                    parked.add(new ParkedRecord(
                            result.getLong(1),
                            result.getString(2),
                            result.getString(3),
                            Instant.ofEpochMilli(result.getLong(4)),
                            result.getString(5)));
                }
                return parked;
            }
        }
    }

    /**
     * Puts a parked record at the end of the table, with the same event id; returns whether there was one. It comes
     * after those of its key that were published meanwhile.
     */
    public boolean requeue(long id) throws SQLException {
        try (var lent = lend()) {
            return requeue(lent.connection(), List.of(id)) == 1;
        }
    }

    /**
     * Each is locked before it is copied, so that of two who requeue it one finds it gone. The ids that this draws hold
     * up those behind them.
     */
    private int requeue(Connection connection, List<Long> ids) throws SQLException {
        var store = Store.of(connection, table);
        return store instanceof PostgresStore // where who waits for a row and finds it gone fails in any higher one
                ? Store.isolated(
                        connection, Connection.TRANSACTION_READ_COMMITTED, () -> requeue(connection, store, ids))
                : requeue(connection, store, ids);
    }

    private int requeue(Connection connection, Store store, List<Long> ids) throws SQLException {
        try (var lock = connection.prepareStatement("SELECT id FROM " + table.parked() + " WHERE id = ? FOR UPDATE");
                var requeue = connection.prepareStatement(store.requeue());
                var forget = connection.prepareStatement("DELETE FROM " + table.parked() + " WHERE id = ?")) {
            return store.transaction(connection, () -> {
                var count = 0;
                for (var id : ids) {
                    lock.setLong(1, id);
                    try (var found = lock.executeQuery()) {
                        if (!found.next()) {
                            continue;
                        }
                    }
                    requeue.setLong(1, id);
                    requeue.executeUpdate();
                    forget.setLong(1, id);
                    forget.executeUpdate();
                    count++;
                }
                wake(connection);
                return count;
            });
        }
    }

    private void wake(Connection connection) throws SQLException {
        var wakeUps = Store.of(connection, table).wakeUps();
        if (wakeUps.isPresent()) {
            try (var announce = connection.prepareStatement(wakeUps.get().announce(false))) {
                announce.execute();
            }
        }
    }

    /**
     * Divides the outbox into another number of shards. Relays that are set to the old number end what they do and are
     * refused from then on: nothing is published until others come that are set to the new one.
     *
     * @param name of the outbox, as the relays have it
     * @param kafka properties of Kafka's clients
     * @throws IllegalStateException if the outbox has another name
     */
    public void divide(String name, int shards, Map<String, Object> kafka) throws SQLException {
        var config = RelayConfig.named(name).shards(shards).build();
        change(name, connection -> {
            try (var update = connection.prepareStatement("UPDATE " + table.relay() + " SET shards = ?, low = ?,"
                    + " seen = CASE WHEN shard = " + Store.WHOLE + " THEN CURRENT_TIMESTAMP ELSE seen END")) {
                // rows change their shard, so what was decided for one says nothing of another
                var store = store(connection, table);
                var low = Store.number(connection, store.ofLocked(store.low()));
                var before = division(connection, store);
                update.setInt(1, shards);
                update.setLong(2, low);
                update.executeUpdate();
                fence(config, Math.max(before, shards), kafka);
                forgetPublished(connection, config, before, kafka, false);
            }
            try (var keep = connection.prepareStatement(
                            "UPDATE " + table.relay() + " SET epoch = ? WHERE shard = " + Store.WHOLE);
                    var forget =
                            connection.prepareStatement("DELETE FROM " + table.relay() + " WHERE shard >= " + shards)) {
                // a shard that there is again one day gets no epoch by which somebody may still delete
                keep.setLong(1, Store.number(connection, "SELECT max(epoch) FROM " + table.relay()));
                keep.executeUpdate();
                forget.executeUpdate();
            }
        });
    }

    /**
     * Gives the outbox another name, after which elections and transactional ids are named. Relays that are set to the
     * old name end what they do and are refused from then on: nothing is published until others come that are set to
     * the new one.
     *
     * @param kafka properties of Kafka's clients
     * @throws IllegalStateException if the outbox has another name than the old one
     */
    public void rename(String from, String to, Map<String, Object> kafka) throws SQLException {
        var old = RelayConfig.named(from).build();
        var name = RelayConfig.named(to).build().name();
        change(from, connection -> {
            try (var update = connection.prepareStatement(
                    "UPDATE " + table.relay() + " SET relay = ? WHERE shard = " + Store.WHOLE)) {
                update.setString(1, name);
                update.executeUpdate();
            }
            var shards = division(connection, store(connection, table));
            fence(old, shards, kafka);
            forgetPublished(connection, old, shards, kafka, true);
        });
    }

    /**
     * Gives the table another form, while writers go on: they wait for as long as what is not yet published is copied,
     * and never longer than a fifth of a second for that to begin. It begins when nobody has an open transaction that
     * has used the table, which is tried again and again until then. Relays that lead end what they do, and begin again
     * with the new form; all of them must know it.
     *
     * @param patience how long it is tried
     * @return whether it had another form
     * @throws IllegalStateException if there is too much to copy, or if the table has what would be lost: triggers,
     *     policies, publications, indexes of its own; nothing was changed then
     * @throws SQLException if it could not begin in time, or failed; nothing was changed then
     */
    public boolean migrate(OutboxForm form, Duration patience) throws SQLException {
        try (var own = connect()) {
            var connection = own.connection();
            var from = store(connection, table);
            var to = from.in(form);
            return from.form() != form && new Migration(connection, from, to).within(patience);
        }
    }

    /**
     * Publishes again what was published and is still there, into the topics that it was published into: from an id or
     * a time on, all of it, or all of one topic. Returns how many records. They come out as after a rewind: in their
     * order, each with its event id, and those that are written meanwhile behind them; so the last record of a key is
     * its newest. Readers of committed records see them again, too. Relays that lead end what they do, and the next
     * publish these records before all that comes.
     *
     * @param kafka properties of Kafka's clients
     * @throws IllegalArgumentException if later ones are left out: an old record could be the last of its key
     * @throws IllegalStateException if some of them are not kept any more, or the table is not {@linkplain
     *     OutboxForm#ROTATED rotated}; nothing was changed then
     */
    public long replay(Replay which, Map<String, Object> kafka) throws SQLException {
        if (!which.isOpen()) {
            throw new IllegalArgumentException(
                    which + " ends before the newest record, so an old one could be the last of"
                            + " its key. Leave the end away, or publish into another topic");
        }
        var name = tenant();
        if (name.isEmpty()) {
            return 0;
        }
        var config = RelayConfig.named(name.get()).build();
        var count = new AtomicLong();
        Change keep = connection -> new Republisher(connection, rotated(connection), which).keep();
        change(name.get(), keep, connection -> {
            var rotated = rotated(connection);
            var shards = division(connection, rotated);
            // what is published and not yet written down is written down first, or it would be taken for published
            // later
            fence(config, shards, kafka);
            forgetPublished(connection, config, shards, kafka, false);
            count.set(new Republisher(connection, rotated, which).unpublish());
        });
        return count.get();
    }

    /**
     * Publishes what was published and is still there into another topic, in its order, with the same event ids and
     * partitions, if rows name one; returns how many records. Relays go on. It goes a page at a time, each in a
     * transaction of the transactional id {@code outbox.NAME.replay}; if it fails, what it says tells where to go on.
     *
     * <p>The header of the event id is {@code event-id}.
     *
     * @param kafka properties of a producer of Kafka
     * @throws IllegalArgumentException if the table has records of that topic: an old one could be the last of its key
     * @throws IllegalStateException if the brokers do not answer, or refuse a record, if the database fails when some
     *     are published, or if the table is not {@linkplain OutboxForm#ROTATED rotated}
     */
    public long replayInto(String topic, Replay which, Map<String, Object> kafka) throws SQLException {
        var config =
                RelayConfig.named(tenant().orElse(table.name())).producer(kafka).build();
        try (var own = connect()) {
            var connection = own.connection();
            var again = new Republisher(connection, rotated(connection), which);
            if (again.has(topic)) {
                throw new IllegalArgumentException("topic " + topic + " has records from " + table.name()
                        + ": an old one could be the last of its key there. Name a topic of its own for this, or none");
            }
            var id = "outbox." + config.name() + ".replay";
            try (var into = new Republisher.Into(
                    new TransactionalSender(
                            new KafkaProducer<>(ProducerSettings.of(config, id)), config.eventIdHeader()),
                    topic)) {
                try {
                    again.read(into, silence);
                } catch (SQLException e) {
                    if (into.count() == 0) {
                        throw e;
                    }
                    throw into.stopped("the database answered no more (" + e.getMessage() + ")", e);
                }
                return into.count();
            }
        }
    }

    /** Returns the name under which relays serve the table; empty if none has yet. */
    private Optional<String> tenant() throws SQLException {
        try (var lent = lend()) {
            return store(lent.connection(), table).tenant(lent.connection(), Store.WHOLE);
        }
    }

    private RotatedStore rotated(Connection connection) throws SQLException {
        if (store(connection, table) instanceof RotatedStore rotated) {
            return rotated;
        }
        throw new IllegalStateException("table " + table.name() + " is plain, so nothing is kept of what was published."
                + " On PostgreSQL a rotated one keeps it: bellwether outbox migrate --to rotated");
    }

    private interface Change {
        void in(Connection connection) throws SQLException;
    }

    private void change(String name, Change change) throws SQLException {
        change(name, connection -> {}, change);
    }

    /**
     * Changes what all relays must agree on, while none of them deletes, reports or begins.
     *
     * @param before what may wait for others, in the same transaction: no relay waits for it yet
     */
    private void change(String name, Change before, Change change) throws SQLException {
        try (var own = connect()) {
            var connection = own.connection();
            var store = store(connection, table);
            store.changing(connection, () -> {
                var patience = connection.getNetworkTimeout();
                if (patience == 0) {
                    return changed(connection, store, name, before, change);
                }
                store.limitWaits(connection, Duration.ofMillis(patience));
                return Store.andBack(
                        () -> changed(connection, store, name, before, change), () -> store.unlimitWaits(connection));
            });
        }
    }

    private boolean changed(Connection connection, Store store, String name, Change before, Change change)
            throws SQLException {
        try (var lock = connection.prepareStatement("UPDATE " + table.relay() + " SET " + Store.raiseEpoch("", true))) {
            return store.transaction(connection, silence, () -> {
                before.in(connection);
                var there = store.lockedName(connection); // first, as those who acquire a shard do
                lock.executeUpdate(); // nobody deletes or reports from here on, so what is read now stays
                if (there.isPresent() && !there.get().equals(name)) {
                    throw new IllegalStateException(Refusals.name(table.name(), there.get(), name));
                }
                change.in(connection);
                return true;
            });
        }
    }

    /** Returns into how many shards the outbox is divided; 1 if nobody has led one yet. */
    private static int division(Connection connection, Store store) throws SQLException {
        return (int) Store.number(
                connection,
                store.ofLocked("SELECT coalesce(max(shards), 1) FROM " + store.table.relay() + " WHERE shard > "
                        + Store.WHOLE));
    }

    /**
     * What was published and is still in the table will not be looked for where the old relays wrote it down.
     *
     * @param anew whether progress will be written into another topic
     */
    private void forgetPublished(
            Connection connection, RelayConfig config, int shards, Map<String, Object> kafka, boolean anew)
            throws SQLException {
        var progress = config.progress(KafkaTopics.common(new TreeMap<>(kafka)));
        var store = store(connection, table);
        try {
            var known = Math.min(shards, progress.partitions());
            for (var shard = 0; shard < known; shard++) {
                forgetPublished(connection, store, progress, shard, anew);
            }
        } catch (ExecutionException | TimeoutException | DeposedException e) {
            throw new IllegalStateException(
                    "what the old relays have published is not known from topic " + progress.name()
                            + ": nothing was changed",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while reading topic " + progress.name(), e);
        }
    }

    /**
     * Deletes what is certain to be published. If nothing is, anybody who leads next is to doubt it, too, and say so.
     */
    private void forgetPublished(Connection connection, Store store, ProgressTopic progress, int shard, boolean anew)
            throws SQLException, DeposedException, InterruptedException, ExecutionException, TimeoutException {
        var row = store.tenancy(connection, shard);
        if (row.isEmpty()) {
            return;
        }
        var tenancy = row.get();
        var epoch = tenancy.epoch();
        var before = tenancy.progress();
        var found = progress.recover(shard, before.number());
        found.believed(before, epoch).delete(store, connection, shard, epoch);
        if (found.doubt(before, epoch).isEmpty()) {
            var after = found.markAfter(before, epoch);
            store.mark(connection, shard, epoch, anew ? new ProgressMark(epoch, 0) : after);
        }
    }

    /** No producer of a relay that knows the old division writes any more, when the new one holds. */
    private void fence(RelayConfig config, int shards, Map<String, Object> kafka) {
        Admin admin;
        try {
            admin = Admin.create(KafkaTopics.common(new TreeMap<>(kafka)));
        } catch (KafkaException e) {
            throw new IllegalStateException(NOT_FENCED + " (" + BrokerDoctor.reason(e) + ")", e);
        }
        try {
            admin.fenceProducers(IntStream.range(0, shards)
                            .boxed()
                            .flatMap(shard -> config.transactionalIds(shard).stream())
                            .toList())
                    .all()
                    .get(silence.toMillis() / 2, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new IllegalStateException(NOT_FENCED, e.getCause());
        } catch (TimeoutException e) {
            throw new IllegalStateException(NOT_FENCED, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while fencing", e);
        } finally {
            admin.close(Duration.ZERO); // which would wait for brokers that do not answer
        }
    }

    /**
     * {@linkplain #requeue(long) Requeues} all records of a topic that are parked now, the oldest first; returns how
     * many. For when the reason why they were parked has gone, such as a topic that was missing.
     */
    public int requeueTopic(String topic) throws SQLException {
        var last = lastParked(topic);
        var count = 0;
        for (var more = last.isPresent(); more; ) {
            var some = requeueTopic(topic, last.getAsLong(), 1_000);
            count += some;
            more = some > 0;
        }
        return count;
    }

    /** Returns the id of the last parked record of a topic; empty if there is none. */
    public OptionalLong lastParked(String topic) throws SQLException {
        try (var lent = lend();
                var query = lent.connection()
                        .prepareStatement("SELECT max(id) FROM " + table.parked() + " WHERE "
                                + Store.of(lent.connection(), table).isTopic())) {
            query.setString(1, topic);
            try (var result = query.executeQuery()) {
                var last = result.next() ? result.getLong(1) : 0;
                return result.wasNull() ? OptionalLong.empty() : OptionalLong.of(last);
            }
        }
    }

    /**
     * The same in parts, for topics of many: requeues the oldest up to an id, at most so many, in one transaction;
     * returns how many, 0 only if there are none. Begin with {@link #lastParked}, and go on until there are none: what
     * is parked again meanwhile gets a higher id, and is left.
     */
    public int requeueTopic(String topic, long last, int most) throws SQLException {
        try (var lent = lend()) {
            var connection = lent.connection();
            while (true) {
                var oldest = parkedOf(connection, topic, last, most);
                var count = requeue(connection, oldest);
                if (count > 0 || oldest.isEmpty()) {
                    return count;
                }
                // somebody else has requeued all of these, and has committed that, which we have waited for
            }
        }
    }

    private List<Long> parkedOf(Connection connection, String topic, long last, int most) throws SQLException {
        try (var query = connection.prepareStatement("SELECT id FROM " + table.parked() + " WHERE "
                + Store.of(connection, table).isTopic() + " AND id <= ? ORDER BY id LIMIT ?")) {
            query.setString(1, topic);
            query.setLong(2, last);
            query.setInt(3, most);
            try (var result = query.executeQuery()) {
                var ids = new ArrayList<Long>();
                while (result.next()) {
                    ids.add(result.getLong(1));
                }
                return ids;
            }
        }
    }

    /** Looks for what breaks the order, the fences or the speed. */
    public List<Finding> examine(Optional<Map<String, Object>> kafka) throws SQLException {
        try (var lent = lend()) {
            var connection = lent.connection();
            var store = store(connection, table);
            var findings = new ArrayList<>(store.examine(connection));
            if (store.isReplica(connection)) {
                findings.add(new Finding(
                        Severity.ERROR, Refusals.replica(table.name()), "ask at the address that the relays have"));
            }
            if (kafka.isPresent()) {
                var name = OutboxSchema.exists(connection, table.relay())
                        ? store.tenant(connection, Store.WHOLE)
                        : Optional.<String>empty();
                var progress = name.map(
                        outbox -> RelayConfig.named(outbox).build().progress().name());
                findings.addAll(new BrokerDoctor(kafka.get()).examine(topics(connection, store), progress));
            }
            if (OutboxSchema.exists(connection, table.relay())
                    && !OutboxSchema.mayBeRead(connection, table.blocked())) {
                findings.add(new Finding(
                        Severity.WARNING,
                        "table " + table.blocked()
                                + " is missing, or this user may not read it: which records are"
                                + " blocked, and why, is only in the relay's log",
                        "make it with bellwether outbox migrate, and grant SELECT on it, and to the relay"
                                + " INSERT and DELETE"));
            }
            return findings;
        }
    }

    /** Told apart here, since to a database two topics may be the same that are not. */
    private Set<String> topics(Connection connection, Store store) throws SQLException {
        var column = table.layout() == OutboxTable.Layout.GOHARVEST ? "kafka_topic" : "topic";
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(
                        "SELECT " + column + " FROM " + store.toPublish() + " AS r ORDER BY id LIMIT 1000")) {
            var topics = new TreeSet<String>();
            while (result.next()) {
                topics.add(result.getString(1));
            }
            return topics;
        }
    }

    /**
     * Something that an operator should know.
     *
     * @param remedy what to do; null if all is well
     */
    public record Finding(
            Severity severity, String what, @Nullable String remedy) {
        static Finding well(String what) {
            return new Finding(Severity.OK, what, null);
        }
    }

    /** How bad it is. */
    public enum Severity {
        /** As it should be. */
        OK,
        /** It costs speed, or may cost more on a bad day. */
        WARNING,
        /** What we promise does not hold. */
        ERROR
    }

    /**
     * Lends a connection for what takes a moment. It gives up what it does not get in time, and so does the server,
     * which would keep a session that waits for a lock even when its client has gone: who looks again and again would
     * use up all that it has.
     */
    private LentConnection lend() throws SQLException {
        var connection = database.getConnection();
        int limit;
        try {
            limit = connection.getNetworkTimeout();
        } catch (SQLException | RuntimeException | Error e) {
            connection.close();
            throw e;
        }
        return LentConnection.of(connection, table, limit > 0 ? Duration.ofMillis(limit) : PATIENCE);
    }

    /** Each call commits what it does, whatever the pool is set to. */
    private Own connect() throws SQLException {
        var connection = database.getConnection();
        try {
            var own = new Own(connection, connection.getAutoCommit());
            connection.setAutoCommit(true);
            return own;
        } catch (SQLException | RuntimeException | Error e) {
            connection.close();
            throw e;
        }
    }

    /** A connection that commits each statement unless a transaction is begun, and is given back as it was. */
    private record Own(Connection connection, boolean commits) implements AutoCloseable {
        @Override
        public void close() throws SQLException {
            try {
                connection.setAutoCommit(commits);
            } catch (SQLException e) { // what was changed is changed anyway
                LOG.debug("a connection was broken when it was given back", e);
            } finally {
                connection.close();
            }
        }
    }
}
