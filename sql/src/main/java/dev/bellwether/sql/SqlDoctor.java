package dev.bellwether.sql;

import static dev.bellwether.spi.Finding.error;
import static dev.bellwether.spi.Finding.ok;
import static dev.bellwether.spi.Finding.warning;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Finding.Term;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/** Diagnoses the database for {@code bellwether doctor}. Confined to one thread; waits for answers. */
final class SqlDoctor {
    private static final String REPLICATION = "replication";
    private static final String DURABILITY = "durability";
    private static final String POOLER = "pooler";
    private static final String CLOCKS = "clocks";
    private static final long NEVER_MILLIS = Duration.ofHours(1).toMillis();
    private static final Set<String> NUMBERS = Set.of("innodb_flush_log_at_trx_commit", "sync_binlog");
    private static final Set<String> NETWORK_FILES =
            Set.of("nfs", "nfs4", "cifs", "smb", "smb2", "smbfs", "fuse.sshfs", "9p", "ceph", "glusterfs");

    private final Connection connection;
    private final Dialect dialect;
    private final SqlConfig config;
    private final Pooler pooler;
    private final List<Finding> findings = new ArrayList<>();

    private SqlDoctor(Connection connection, Dialect dialect, SqlConfig config, Pooler pooler) {
        this.pooler = pooler;
        this.connection = connection;
        this.dialect = dialect;
        this.config = config;
    }

    static List<Finding> of(Source source, Connection connection, SqlConfig config, CandidacyConfig candidacy)
            throws SQLException {
        var dialect = Dialect.of(connection);
        var checkup = new SqlDoctor(
                connection,
                dialect,
                config,
                dialect == Dialect.POSTGRESQL ? Pooler.of(connection, source, patience()) : Pooler.NONE);
        checkup.vacancies(candidacy);
        checkup.clock();
        checkup.clocks(source, candidacy.standDownBudget());
        switch (checkup.dialect) {
            case POSTGRESQL -> checkup.postgres();
            case MARIADB -> checkup.mariadb();
            case H2 -> checkup.h2();
            case SQLITE -> checkup.sqlite();
        }
        checkup.isolation();
        checkup.rights();
        return checkup.findings;
    }

    private void rights() throws SQLException {
        var writable = true;
        try {
            writable = Tables.isWritable(connection, dialect, config);
        } catch (SQLException e) {
            if (SqlErrors.kindOf(e)
                    != SqlErrors.Kind.NO_TABLE) { // a database in memory loses them with the connection that made them
                throw e;
            }
        }
        if (writable) {
            findings.add(ok("rights", "we may read and write " + config.table()));
        } else {
            findings.add(error(
                    "rights",
                    "we may read " + config.table()
                            + ", and not write it: enough to look, and nobody can stand as this user",
                    "connect to the primary as a user who may, or: " + Tables.grant(connection, dialect, config)));
        }
    }

    private void vacancies(CandidacyConfig candidacy) throws SQLException {
        var told = dialect == Dialect.POSTGRESQL
                && config.listen()
                && pooler != Pooler.TRANSACTION
                && LockLimit.isOfPostgres(connection);
        var poll = new Term("poll", config.poll().orElse(dialect.poll()));
        var budget = Term.standDown(candidacy);
        findings.addAll(Finding.vacancies(
                List.of(Term.lease(candidacy), Term.retry(candidacy)), told ? List.of(budget) : List.of(budget, poll)));
        if (told) {
            findings.add(ok("news", "standbys are told by LISTEN"));
        } else {
            findings.add(ok("news", "standbys poll, every " + poll.length().toMillis() + " ms"));
        }
    }

    private void clock() throws SQLException {
        var before = System.currentTimeMillis();
        var theirs = number("SELECT " + dialect.now()) / 1000;
        var after = System.currentTimeMillis();
        var ahead = theirs - (before + after) / 2;
        findings.add(ok(
                "clock",
                "the clock of the database is %d ms %s that of this machine: only the database's counts for leases"
                        .formatted(Math.abs(ahead), ahead < 0 ? "behind" : "ahead of")));
    }

    /** The clock of each node that may take over, where the address names them. */
    private void clocks(Source source, Duration margin) {
        var nodes = source.nodes();
        if (nodes.size() < 2) {
            return;
        }
        var least = Long.MAX_VALUE;
        var most = Long.MIN_VALUE;
        var silent = new ArrayList<String>();
        for (var node : nodes) {
            try (var one = node.open();
                    var statement = one.createStatement()) {
                statement.execute("SELECT 1"); // what a first statement takes longer is not in the measurement
                var before = System.currentTimeMillis();
                try (var result = statement.executeQuery("SELECT " + dialect.now())) {
                    result.next();
                    var theirs = result.getLong(1) / 1_000;
                    var after = System.currentTimeMillis();
                    least = Math.min(least, theirs - before); // ahead by no more than this
                    most = Math.max(most, theirs - after); // ahead by this at least
                }
            } catch (SQLException e) {
                silent.add(node.name());
            }
        }
        var apart = Math.max(0, most - least);
        if (apart > margin.toMillis()) {
            findings.add(error(
                    CLOCKS,
                    "the clocks of the nodes are " + apart + " ms apart, more than the stand-down budget ("
                            + margin.toMillis() + " ms): after a fail-over a lease ends too soon, and two may lead",
                    "keep the nodes' clocks together (chrony, NTP), and fail over only while they are"));
        } else if (!silent.isEmpty()) {
            findings.add(warning(
                    CLOCKS,
                    "the clock of " + source.redact(String.join(", ", silent))
                            + " could not be asked: after a fail-over to a node whose clock is"
                            + " ahead by more than the stand-down budget, two may lead",
                    "ask again when all nodes answer"));
        } else {
            findings.add(ok(
                    CLOCKS,
                    "the clocks of " + nodes.size() + " nodes are together to " + Math.max(1, apart)
                            + " ms: a fail-over cuts no lease short"));
        }
    }

    private void pooler() {
        switch (pooler) {
            case NONE -> {}
            case SESSION ->
                findings.add(ok(
                        POOLER,
                        "there is one between us and the server, and each connection has a session of its" + " own"));
            case TRANSACTION -> {
                var says =
                        "there is one between us and the server that gives a session to one connection now and another"
                                + " then (as pool_mode = transaction): elections are as safe, but LISTEN does not work";
                findings.add(
                        config.listen()
                                ? warning(
                                        POOLER,
                                        says,
                                        "give the server's own address, or one with pool_mode = session; or set"
                                                + " bellwether.listen=false to accept it")
                                : ok(POOLER, says));
            }
        }
    }

    private void postgres() throws SQLException {
        pooler();
        if (text("SHOW fsync").equals("off")) {
            findings.add(error(
                    DURABILITY,
                    "fsync is off: when the server's machine crashes, tokens and leases may be lost, or the whole"
                            + " database",
                    "set fsync = on"));
        } else {
            findings.add(ok(DURABILITY, "commits are on disk before they count"));
        }
        var standbys = number("SELECT count(*) FROM pg_stat_replication");
        var awaited = text("SHOW synchronous_standby_names");
        if (!awaited.isEmpty()
                && number("SELECT count(*) FROM pg_stat_replication"
                                + " WHERE coalesce(sync_state, '?') NOT IN ('async', 'potential')") // which not
                        // all may
                        // see
                        == 0) {
            findings.add(warning(
                    REPLICATION,
                    "synchronous, to " + awaited
                            + ", of which none is connected: nobody can be elected, and no lease extended, until"
                            + " one is",
                    "start a standby whose application_name is among synchronous_standby_names"));
        } else if (!awaited.isEmpty()) {
            findings.add(ok(
                    REPLICATION,
                    "synchronous, to " + awaited
                            + ": a fail-over to one that pg_stat_replication calls sync, or by quorum to"
                            + " the one that has most, loses nothing"));
        } else if (standbys > 0) {
            findings.add(warning(
                    REPLICATION,
                    standbys
                            + " standbys, all asynchronous: a fail-over loses the last commits, so that two"
                            + " may lead for a lease, and tokens fall",
                    "set synchronous_standby_names, or see \"Asynchronous replication\" in docs/sql.md"
                            + " before a fail-over"));
        } else {
            findings.add(ok(
                    REPLICATION,
                    "none is seen: while this server is down nobody leads, and its disk holds the tokens"));
        }
    }

    private void mariadb() throws SQLException {
        var flush = variable("innodb_flush_log_at_trx_commit").orElse("1");
        var sync = variable("sync_binlog").orElse("1");
        if (!flush.equals("1")) {
            findings.add(error(
                    DURABILITY,
                    "innodb_flush_log_at_trx_commit is " + flush
                            + ": when the server's machine crashes, tokens and leases of the last second are lost",
                    "set innodb_flush_log_at_trx_commit = 1"));
        } else if (variable("log_bin").filter("ON"::equals).isPresent() && !sync.equals("1")) {
            findings.add(error(
                    DURABILITY,
                    "sync_binlog is " + sync
                            + ": with a binary log InnoDB does not flush at commit, so when the server's machine"
                            + " crashes, the last tokens and leases are lost",
                    "set sync_binlog = 1"));
        } else {
            findings.add(ok(DURABILITY, "commits are on disk before they count"));
        }
        findings.add(replication(this::variable, this::status));
    }

    /** Judges how a MariaDB or MySQL with these variables, in this status, replicates. */
    static Finding replication(Function<String, Optional<String>> variable, Function<String, Optional<String>> status) {
        if (variable.apply("wsrep_on").filter("ON"::equals).isPresent()) {
            return error(
                    REPLICATION,
                    "Galera: a guard's lock is on its own node only, so that a guarded transaction may be committed"
                            + " after another was granted the seat; each node judges leases by a clock of its own,"
                            + " and an update may be lost in a healthy cluster, so that two may lead",
                    "hold elections elsewhere: on one MariaDB with semi-synchronous replicas, PostgreSQL,"
                            + " ZooKeeper, NATS or Kafka");
        }
        if (variable.apply("group_replication_group_name")
                .filter(name -> !name.isEmpty())
                .isPresent()) {
            return variable.apply("group_replication_single_primary_mode")
                            .filter("ON"::equals)
                            .isPresent()
                    ? warning(
                            REPLICATION,
                            "Group Replication, single-primary: no fail-over of it was ever tested with elections,"
                                    + " so nothing is promised about tokens and leases after one",
                            "use semi-synchronous replication, or treat a fail-over as \"Asynchronous replication\""
                                    + " in docs/sql.md says")
                    : error(
                            REPLICATION,
                            "Group Replication, multi-primary: each node has a clock and row locks of its own, so"
                                    + " that two may lead",
                            "set group_replication_single_primary_mode = ON, or hold elections elsewhere");
        }
        var semi = either(variable, "rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled")
                .filter("ON"::equals)
                .isPresent();
        if (!semi) {
            return variable.apply("log_bin").filter("ON"::equals).isPresent()
                    ? warning(
                            REPLICATION,
                            "there is a binary log, so there may be replicas, and commits do not wait for them: a"
                                    + " fail-over loses the last commits, so that two may lead for a lease, and"
                                    + " tokens fall",
                            "make it semi-synchronous, or see \"Asynchronous replication\" in docs/sql.md before a"
                                    + " fail-over")
                    : ok(REPLICATION, "none: while this server is down nobody leads, and its disk holds the tokens");
        }
        var point = either(variable, "rpl_semi_sync_master_wait_point", "rpl_semi_sync_source_wait_point")
                .orElse("?");
        if (!point.equals("AFTER_SYNC")) {
            return warning(
                    REPLICATION,
                    "semi-synchronous, " + point
                            + ": a commit is visible before a replica has it, so after a fail-over two may lead"
                            + " for a lease, and tokens fall",
                    "set rpl_semi_sync_master_wait_point (MySQL: rpl_semi_sync_source_wait_point) = AFTER_SYNC");
        }
        var timeout = either(variable, "rpl_semi_sync_master_timeout", "rpl_semi_sync_source_timeout")
                .orElse("0");
        if (Long.parseLong(timeout) < NEVER_MILLIS) {
            return warning(
                    REPLICATION,
                    "semi-synchronous, but after " + timeout
                            + " ms without a replica commits no longer wait for one: a fail-over then loses the last"
                            + " commits, so that two may lead for a lease, and tokens fall",
                    "set rpl_semi_sync_master_timeout (MySQL: rpl_semi_sync_source_timeout) to an hour or more");
        }
        if (either(variable, "rpl_semi_sync_master_wait_no_slave", "rpl_semi_sync_source_wait_for_no_replica")
                .filter("OFF"::equals)
                .isPresent()) {
            return warning(
                    REPLICATION,
                    "semi-synchronous, but while too few replicas are connected commits do not wait for one: a"
                            + " fail-over then loses the last commits, so that two may lead for a lease, and tokens"
                            + " fall",
                    "set rpl_semi_sync_master_wait_no_slave (MySQL: rpl_semi_sync_source_wait_for_no_replica) = ON");
        }
        if (either(status, "Rpl_semi_sync_master_status", "Rpl_semi_sync_source_status")
                .filter("OFF"::equals)
                .isPresent()) {
            return warning(
                    REPLICATION,
                    "semi-synchronous, but it is off at present (Rpl_semi_sync_master_status, MySQL:"
                            + " Rpl_semi_sync_source_status): commits do not wait for a replica, and a fail-over loses"
                            + " the last of them, so that two may lead for a lease, and tokens fall",
                    "see why in the server's log, and connect a replica with rpl_semi_sync_slave_enabled (MySQL:"
                            + " rpl_semi_sync_replica_enabled) = ON");
        }
        return ok(REPLICATION, "semi-synchronous, and visible only when a replica has it");
    }

    /** Returns what MariaDB calls so, or MySQL so. */
    private static Optional<String> either(Function<String, Optional<String>> lookup, String mariadbs, String mysqls) {
        return lookup.apply(mariadbs).or(() -> lookup.apply(mysqls));
    }

    /** PostgreSQL has no such thing, whatever it is told: it reads what is committed. */
    private void isolation() throws SQLException {
        if (dialect != Dialect.POSTGRESQL
                && connection.getTransactionIsolation() == Connection.TRANSACTION_READ_UNCOMMITTED) {
            findings.add(error(
                    "isolation",
                    "connections are READ UNCOMMITTED: a claim or a release is seen that may be undone, so that two may"
                            + " lead",
                    "set the isolation of the pool, or of the server, to READ COMMITTED or higher"));
        }
    }

    private void memory(String remedy) {
        findings.add(error(
                DURABILITY,
                "the database is in the memory of one process: when that ends, tokens begin again, and two may lead",
                remedy));
    }

    private void h2() throws SQLException {
        if (dialect.isInMemory(connection)) {
            memory("use a file (jdbc:h2:FILE), or a server that has one");
            return;
        }
        var delay = number("SELECT COALESCE(MAX(CAST(SETTING_VALUE AS integer)), 500) FROM INFORMATION_SCHEMA.SETTINGS"
                + " WHERE SETTING_NAME = 'WRITE_DELAY'");
        if (delay > 0) {
            findings.add(error(
                    DURABILITY,
                    "WRITE_DELAY is " + delay + " ms: a process that is killed loses its last commits, and tokens fall",
                    "put ;WRITE_DELAY=0 into the URL"));
        } else {
            findings.add(warning(
                    DURABILITY,
                    "commits are written before they count, and yet H2 sometimes loses the last ones when"
                            + " its process is killed (seen on 2.5.252): then tokens fall, and two may lead"
                            + " for a lease",
                    "end H2 in order and wait for a lease after a kill, or use a database that keeps what"
                            + " it has committed"));
        }
    }

    private void sqlite() throws SQLException {
        if (dialect.isInMemory(connection)) {
            memory("use a file (jdbc:sqlite:FILE)");
            return;
        }
        var level = number("PRAGMA synchronous");
        if (level < 2) {
            findings.add(error(
                    DURABILITY,
                    "PRAGMA synchronous is " + (level == 0 ? "OFF" : "NORMAL")
                            + ": when the power fails, tokens that were granted are lost",
                    "remove synchronous from the URL, or set synchronous=FULL"));
        } else {
            findings.add(ok(DURABILITY, "commits are on disk before they count"));
        }
        var file = Path.of(text("SELECT file FROM pragma_database_list WHERE name = 'main'"));
        try {
            var kind = Files.getFileStore(file).type().toLowerCase(Locale.ROOT);
            if (NETWORK_FILES.contains(kind)) {
                findings.add(error(
                        REPLICATION,
                        "the file is on a network (" + kind + "), where locks are not kept: two may lead",
                        "use a local file, or a database with a server"));
            } else {
                findings.add(ok(REPLICATION, "none: it is for the processes of this machine (" + kind + ")"));
            }
        } catch (IOException e) {
            throw new SQLException("cannot look at " + file, e);
        }
    }

    private Optional<String> variable(String name) {
        try {
            return Optional.of(text("SELECT @@GLOBAL." + name)).map(value -> switch (value) {
                case "1", "0" ->
                    NUMBERS.contains(name) || name.endsWith("timeout") ? value : value.equals("1") ? "ON" : "OFF";
                default -> value;
            });
        } catch (SQLException unknown) {
            return Optional.empty(); // to this kind of server
        }
    }

    private Optional<String> status(String name) {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery("SHOW GLOBAL STATUS LIKE '" + name + "'")) {
            return result.next() ? Optional.of(result.getString(2)) : Optional.empty();
        } catch (SQLException unknown) {
            return Optional.empty();
        }
    }

    private long number(String sql) throws SQLException {
        return Long.parseLong(text(sql));
    }

    private String text(String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            return result.next() && result.getString(1) != null ? result.getString(1) : "";
        }
    }

    /** Returns how long to wait for all of it. */
    static Duration patience() {
        return Duration.ofSeconds(5);
    }
}
