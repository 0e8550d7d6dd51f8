package dev.bellwether.outbox;

import dev.bellwether.outbox.OutboxAdmin.Finding;
import dev.bellwether.outbox.OutboxAdmin.Severity;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Looks at an outbox in MariaDB or MySQL for what breaks the order, or costs speed. Confined to one thread. */
final class MysqlDoctor {
    private static final String COARSE = "until then order is kept, but ids that are never used cost each read more";

    private final Connection connection;
    private final OutboxTable table;
    private final List<Finding> findings = new ArrayList<>();

    MysqlDoctor(Connection connection, OutboxTable table) {
        this.connection = connection;
        this.table = table;
    }

    List<Finding> examine() throws SQLException {
        var old = MetadataLocks.tooOld(connection, table.name());
        if (old.isPresent()) { // nor may there be what else is looked at
            error(old.get(), "upgrade it");
            return findings;
        }
        var mariaDb = MetadataLocks.isMariaDb(connection);
        var nodes = MetadataLocks.severalNodes(connection, mariaDb);
        nodes.ifPresent(several -> findings.add(
                new Finding(Severity.ERROR, Refusals.nodes(table.name(), several), "let one node write all messages")));
        writers(mariaDb);
        prepared();
        counters();
        durability();
        return findings;
    }

    private void writers(boolean mariaDb) throws SQLException {
        var source = MetadataLocks.source(connection, mariaDb);
        if (source.isEmpty()) {
            warn(
                    " it is not visible which transactions write: this server lists no metadata locks",
                    mariaDb
                            ? "INSTALL SONAME 'metadata_lock_info' (no restart, no right for the relay); " + COARSE
                            : "start it with performance_schema=ON; " + COARSE);
            return;
        }
        if (source.get() == MetadataLocks.Source.PLUGIN) {
            well("writing transactions are seen by the plugin metadata_lock_info");
            return;
        }
        try {
            number("SELECT count(*) FROM performance_schema.metadata_locks WHERE FALSE");
        } catch (SQLException e) {
            if (!MetadataLocks.isRefusal(e)) {
                throw e;
            }
            warn(
                    " it is not visible which transactions write: " + e.getMessage(),
                    "GRANT SELECT ON performance_schema.metadata_locks to the relay's user; " + COARSE);
            return;
        }
        instruments(mariaDb);
    }

    private void instruments(boolean mariaDb) throws SQLException {
        try {
            var off = number("SELECT count(*) FROM performance_schema.setup_instruments WHERE name ="
                            + " 'wait/lock/metadata/sql/mdl' AND enabled <> 'YES'")
                    + number("SELECT count(*) FROM performance_schema.setup_consumers WHERE name ="
                            + " 'global_instrumentation' AND enabled <> 'YES'");
            if (off > 0) {
                warn(
                        " it is not visible which transactions write: the performance schema does not watch metadata"
                                + " locks",
                        "start the server with performance-schema-instrument='wait/lock/metadata/sql/mdl=ON'"
                                + (mariaDb ? ", or INSTALL SONAME 'metadata_lock_info'" : "")
                                + "; if you switch it on while it runs, end all transactions that write first: they"
                                + " stay unseen");
            } else {
                well("writing transactions are seen by performance_schema.metadata_locks");
            }
        } catch (SQLException e) {
            if (!MetadataLocks.isRefusal(e)) {
                throw e;
            }
            warn(
                    "this user cannot see whether metadata locks are watched: " + e.getMessage(),
                    "GRANT SELECT ON performance_schema.setup_instruments and setup_consumers to it");
        }
        var lost = number("SHOW GLOBAL STATUS LIKE 'Performance_schema_metadata_lock_lost'", 2)
                + number("SHOW GLOBAL STATUS LIKE 'Performance_schema_thread_instances_lost'", 2);
        if (lost > 0) {
            warn(
                    "the performance schema had no room for " + lost + " locks or threads",
                    "raise performance_schema_max_metadata_locks and performance_schema_max_thread_instances, and"
                            + " restart; "
                            + COARSE);
        }
    }

    private void prepared() throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery("XA RECOVER")) {
            if (result.next()) {
                warn(
                        "there are prepared transactions (XA RECOVER): until they end, ids that are never used cost"
                                + " each read more",
                        "commit them or roll them back");
            }
        } catch (SQLException e) {
            if (!MetadataLocks.isRefusal(e)) {
                throw e;
            }
            warn(
                    "prepared transactions cannot be seen: " + e.getMessage(),
                    "GRANT XA_RECOVER_ADMIN to the relay's user; " + COARSE);
        }
    }

    private void counters() throws SQLException {
        var increment = number("SELECT @@auto_increment_increment");
        if (increment != 1) {
            warn(
                    "auto_increment_increment is " + increment + ": each message leaves " + (increment - 1)
                            + " ids unused, and ids of several nodes have no common order",
                    "set it to 1 where one node writes; where several do, do not keep an outbox");
        }
        if (!OutboxSchema.exists(connection, table.relay())) { // no relay has been there yet
            return;
        }
        var low = number("SELECT coalesce(max(low), 0) FROM " + table.relay());
        var highest = number("SELECT coalesce(max(id), 0) FROM " + table.name());
        var next = MysqlStore.told(connection, table, "auto_increment");
        if (next > 0 && low >= next && highest < next) {
            error(
                    "rows up to id " + low + " were published, and the next id is " + next + ": it was set back",
                    // InnoDB raises the counter for an id that is given, and leaves it there. ALTER TABLE would set it
                    // back if it were obeyed late, or once more
                    "START TRANSACTION; INSERT INTO " + table.name() + " (id, topic) VALUES (" + low
                            + ", 'none'); ROLLBACK");
        }
    }

    private void durability() throws SQLException {
        var flush = number("SELECT @@innodb_flush_log_at_trx_commit");
        var logged = number("SELECT @@log_bin") == 1;
        var sync = number("SELECT @@GLOBAL.sync_binlog");
        var lost = "set it to 1: otherwise a crash of the database loses messages that were committed";
        if (flush != 1) {
            error("innodb_flush_log_at_trx_commit is " + flush, lost);
        }
        if (logged && sync != 1) { // then InnoDB leaves the flush at commit to the binary log
            error("sync_binlog is " + sync, lost);
        }
        if (flush == 1 && (!logged || sync == 1)) {
            well("commits are durable");
        }
        if (!logged) {
            error(
                    "there is no binary log, so rows are shown before their commit is durable: a crash of the database"
                            + " may undo transactions whose messages were published",
                    "start the server with log_bin, and with sync_binlog=1");
        }
    }

    private void well(String what) {
        findings.add(Finding.well(what));
    }

    private void warn(String what, String remedy) {
        findings.add(new Finding(Severity.WARNING, what, remedy));
    }

    private void error(String what, String remedy) {
        findings.add(new Finding(Severity.ERROR, what, remedy));
    }

    private long number(String sql) throws SQLException {
        return number(sql, 1);
    }

    private long number(String sql, int column) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            return result.next() ? result.getLong(column) : 0;
        }
    }
}
