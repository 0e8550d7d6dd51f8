package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/**
 * How writers on PostgreSQL wake a relay that is idle: the statements of both sides. Immutable.
 *
 * <p>Thread-safe; the connection is the caller's.
 */
final class WakeUpSql {
    /*
     * A transaction that has sent a NOTIFY takes a lock of the whole server to commit, so all such commits wait for one
     * another. Therefore a writer sends one only if a relay is idle. It finds that out by an advisory lock, of which an
     * idle relay holds the exclusive mode, and writers try the shared one, for their transaction:
     *
     *   - who does not get it, sees an idle relay, and notifies when it commits;
     *   - who gets it keeps it until its transaction is over, and so keeps the relay from becoming idle.
     *
     * So when a relay has got the exclusive mode, all writers that did not notify are over, and what they committed was
     * visible before their lock went. It looks for rows once more, and may then wait for a notification. Nobody waits
     * for these locks, and they go with their session: where no relay is idle, or none runs, nobody notifies.
     *
     * Of several shards the leader of the first holds the lock. The others are idle only while it is, and hear each
     * notification, since there is one channel for all. When it goes on without one, it sends one itself; and its
     * successor does when it begins, since one that has died cannot.
     */
    private static final int LOCK = 0x62774f62;

    /** What writers notify. */
    static final String ROWS = "";
    /** What the leader of the first shard notifies: that writers notify nobody any more. */
    static final String BUSY = "busy";
    /**
     * What is notified when another table takes the place of this one: the channel is named after it, and so the lock.
     */
    static final String MOVED = "moved";

    private static final String TRIGGER = "bellwether_wake";

    private final OutboxTable table;
    private final String oid;
    private final String lock;

    WakeUpSql(OutboxTable table) {
        this.table = table;
        oid = "'" + table.name() + "'::regclass::oid";
        lock = "(" + oid + "::int4, " + LOCK + ")";
    }

    private String channelName() {
        return "'bellwether_outbox_' || " + oid;
    }

    /** Returns the query for the channel, which needs no quotes. */
    String channel() {
        return "SELECT " + channelName();
    }

    /**
     * Returns what a writer says in its transaction, which wakes an idle relay when it commits.
     *
     * @param unlessPrepared not on a server where transactions can be prepared: one that notifies cannot
     */
    String announce(boolean unlessPrepared) {
        var isIdle = "NOT pg_try_advisory_xact_lock_shared" + lock;
        return "SELECT pg_notify(" + channelName() + ", '" + ROWS + "') WHERE "
                + (unlessPrepared
                        ? "CASE WHEN current_setting('max_prepared_transactions') = '0' THEN " + isIdle
                                + " ELSE false END"
                        : isIdle);
    }

    /** Returns the statements that make a trigger, which says the same for each INSERT. */
    List<String> trigger() {
        return List.of(
                // each on one line, since they are also taken apart at the ends of lines
                "CREATE OR REPLACE FUNCTION " + function() + " RETURNS trigger LANGUAGE plpgsql AS $wake$ BEGIN"
                        + " IF NOT pg_try_advisory_xact_lock_shared(TG_RELID::int4, " + LOCK + ") THEN"
                        + " PERFORM pg_notify('bellwether_outbox_' || TG_RELID, '" + ROWS
                        + "'); END IF; RETURN NULL; END $wake$",
                "DROP TRIGGER IF EXISTS " + TRIGGER + " ON " + table.name(),
                triggerOn(table.name()));
    }

    private String function() {
        return table.name() + "_wake()";
    }

    /** Returns the statement that gives a table the trigger; its function is there. */
    String triggerOn(String name) {
        return "CREATE TRIGGER " + TRIGGER + " AFTER INSERT ON " + name + " FOR EACH STATEMENT EXECUTE FUNCTION "
                + function();
    }

    /** Returns the condition on {@code pg_trigger} for the trigger that this makes. */
    String isTrigger() {
        return "(tgname = '" + TRIGGER + "' AND tgenabled = 'O' AND tgfoid IS NOT DISTINCT FROM to_regprocedure('"
                + function() + "')::oid)";
    }

    /** Returns whether writers notify from now on; those that do not are over, and their rows can be seen. */
    boolean beginIdle(Connection connection, int shard) throws SQLException {
        return ask(
                connection,
                shard == 0
                        ? "SELECT pg_try_advisory_lock" + lock
                        // what the first shard's leader holds, nobody else can share
                        : "SELECT CASE WHEN pg_try_advisory_lock_shared" + lock + " THEN NOT pg_advisory_unlock_shared"
                                + lock + " ELSE true END");
    }

    /**
     * Writers need not notify any more.
     *
     * @param others whether other shards may be idle, and have not been notified
     */
    void endIdle(Connection connection, int shard, boolean others) throws SQLException {
        if (shard > 0) {
            return;
        }
        ask(connection, "SELECT pg_advisory_unlock" + lock);
        if (others) {
            notify(connection, BUSY);
        }
    }

    /** Sends a text to all who listen. */
    void notify(Connection connection, String text) throws SQLException {
        try (var notify = connection.prepareStatement("SELECT pg_notify(" + channelName() + ", ?)")) {
            notify.setString(1, text);
            notify.execute();
        }
    }

    private static boolean ask(Connection connection, String question) throws SQLException {
        try (var query = connection.prepareStatement(question);
                var answer = query.executeQuery()) {
            return answer.next() && answer.getBoolean(1);
        }
    }
}
