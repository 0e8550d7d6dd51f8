package dev.bellwether.sql;

import dev.bellwether.Candidate;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.Order;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLDataException;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The seats of a database: each verb is one transaction for all the elections that it is about.
 *
 * <p>Immutable. An exception means that the outcome is unknown, unless it is one that {@link SqlErrors} knows.
 */
class SeatTable {
    /*
     * A row is locked, then judged here, then written: nobody can have changed it in between. What the database's clock
     * says is part of the row that was read. A row that somebody else has locked is not waited for.
     *
     * A statement that locks reads nothing else, nor does one before it in its transaction: MariaDB, with
     * innodb_snapshot_isolation, refuses to lock a row that has changed since the transaction first read anything, and
     * undoes it all.
     */
    static final String TOP =
            "(SELECT MAX(c.priority) FROM {c} c WHERE c.election = e.election AND c.until_at > {now})";
    /** What is left of a lease. No row can make it too large a number, which would fail the rows beside it too. */
    static final String LEFT = "CASE WHEN e.expires_at < 0 THEN 0 ELSE e.expires_at END - {now}";

    static final String COLUMNS = "e.election, e.token, e.candidate, e.nonce, e.priority, e.metadata, e.since_at, "
            + LEFT + ", e.term, e.stand_down, e.ended, e.era, e.listed, " + TOP + ", e.note";
    private static final String COLUMNS_OF_LOCKED = COLUMNS.replace(TOP, "NULL");
    private static final String STRIKE = "DELETE FROM {c} WHERE election = ? AND candidate = ?";
    private static final int CHUNK = 500;

    private final Dialect dialect;
    private final SqlConfig config;

    SeatTable(Dialect dialect, SqlConfig config) {
        this.dialect = dialect;
        this.config = config;
    }

    /** A claim or a lease that was judged. An unknown one met a lock of somebody else's. */
    record Judged(Verdict verdict, SeatRow row) {}

    enum Verdict {
        GRANTED,
        REFUSED,
        UNKNOWN
    }

    /**
     * What became of several, by election.
     *
     * @param news what others here should be told
     * @param announced whether it was announced to all who listen, us included
     */
    record Outcome(Map<String, Judged> judged, List<SeatRow> news, boolean announced) {
        Judged of(String election) {
            return Objects.requireNonNull(judged.get(election), election);
        }
    }

    // ---------------------------------------------------------------- the verbs

    /**
     * Judges claims, at most one for each election. Listeners are told of the seats that are held as before, where we
     * say so.
     */
    Outcome acquire(Connection connection, Collection<Claim> claims, Set<String> announced) throws SQLException {
        var elections = claims.stream().map(Claim::election).toList();
        var rows = read(connection, elections);
        var judged = new HashMap<String, Judged>();
        var promising = new LinkedHashMap<String, Claim>();
        for (var claim : claims) {
            var row = rows.get(claim.election());
            judged.put(claim.election(), new Judged(Verdict.REFUSED, orUnheld(row, claim.election())));
            if (row == null
                    || (!claim.isBefore(row.era()) && (isFree(row) || !row.listed() || row.outlastsItsTerm()))) {
                promising.put(claim.election(), claim);
            }
        }
        var news = new ArrayList<SeatRow>();
        if (!promising.isEmpty()) {
            insertRows(
                    connection,
                    promising.keySet().stream()
                            .filter(election -> !rows.containsKey(election))
                            .toList());
            var begunNanos = System.nanoTime();
            transact(connection, () -> {
                var locked = lock(connection, promising.keySet(), dialect.pathOfToken("{e} e"), dialect.lockToGrant());
                var granted = new ArrayList<String>();
                for (var row : locked.values()) {
                    var claim = Objects.requireNonNull(promising.get(row.election()));
                    if (claim.isBefore(row.era())) {
                        continue;
                    }
                    if (isFree(row)) {
                        alone(claim.election(), () -> grant(connection, claim));
                        granted.add(row.election());
                    } else {
                        mend(connection, row, begunNanos);
                    }
                }
                for (var row : read(connection, locked.keySet()).values()) {
                    judged.put(row.election(), new Judged(Verdict.REFUSED, row));
                }
                for (var election : granted) {
                    var row = Objects.requireNonNull(judged.get(election)).row();
                    judged.put(election, new Judged(Verdict.GRANTED, row));
                    news.add(row);
                }
                announce(connection, granted);
            });
        }
        return new Outcome(judged, news, !news.isEmpty() && announces());
    }

    /** Extends leases, at most one for each election. */
    Outcome renew(Connection connection, Collection<Lease> leases) throws SQLException {
        var elections = leases.stream().map(lease -> lease.claim().election()).toList();
        var judged = new HashMap<String, Judged>();
        var news = new HashMap<String, SeatRow>();
        transact(connection, () -> {
            var locked = lockRows(connection, elections);
            var byTerm = new HashMap<Duration, List<String>>();
            for (var lease : leases) {
                var row = locked.get(lease.claim().election());
                if (row == null) {
                    continue;
                }
                if (isHeldUnder(row, lease)) {
                    var metadata = Metadata.encode(lease.claim().metadata());
                    var shown = row.withMetadata(metadata);
                    if (!row.metadata().equals(metadata)) {
                        update(connection, "UPDATE {e} SET metadata = ? WHERE election = ?", metadata, row.election());
                    }
                    byTerm.computeIfAbsent(lease.term(), term -> new ArrayList<>())
                            .add(row.election());
                    var extended = shown.extendedBy(micros(lease.term()));
                    judged.put(row.election(), new Judged(Verdict.GRANTED, extended));
                    if (extended.remaining() < row.remaining()
                            || !row.metadata().equals(metadata)) {
                        news.put(row.election(), extended); // nobody need wait as long as it believes
                    }
                } else {
                    judged.put(row.election(), new Judged(Verdict.REFUSED, row));
                }
            }
            for (var entry : byTerm.entrySet()) {
                extend(connection, entry.getKey(), entry.getValue());
            }
            addTops(connection, news);
        });
        judgeMissed(connection, leases, judged);
        return new Outcome(judged, List.copyOf(news.values()), false);
    }

    /** Judges those leases whose rows could not be locked. */
    final void judgeMissed(Connection connection, Collection<Lease> leases, Map<String, Judged> judged)
            throws SQLException {
        var missed = leases.stream()
                .filter(lease -> !judged.containsKey(lease.claim().election()))
                .toList();
        if (missed.isEmpty()) {
            return;
        }
        var rows = read(
                connection,
                missed.stream().map(lease -> lease.claim().election()).toList());
        for (var lease : missed) {
            var election = lease.claim().election();
            var row = orUnheld(rows.get(election), election);
            judged.put(election, new Judged(isHeldUnder(row, lease) ? Verdict.UNKNOWN : Verdict.REFUSED, row));
        }
    }

    /**
     * Vacates seats that are held under the nonces of these claims, one for each election, and strikes the claimants.
     */
    Outcome release(Connection connection, Collection<Claim> claims) throws SQLException {
        var elections = claims.stream().map(Claim::election).toList();
        var judged = new HashMap<String, Judged>();
        var news = new ArrayList<SeatRow>();
        transact(connection, () -> {
            var locked = lockRows(connection, elections);
            for (var claim : claims) {
                update(connection, STRIKE, claim.election(), claim.candidate());
            }
            addTops(connection, locked);
            for (var claim : claims) {
                var row = locked.get(claim.election());
                if (row == null) {
                    continue;
                }
                if (row.isHeldUnder(claim.nonce())) {
                    update(
                            connection,
                            "UPDATE {e} SET candidate = NULL, nonce = NULL, stand_down = 0 WHERE election = ?",
                            claim.election());
                    var vacant = row.withRemaining(0);
                    judged.put(claim.election(), new Judged(Verdict.GRANTED, vacant));
                    news.add(vacant);
                } else {
                    judged.put(claim.election(), new Judged(Verdict.REFUSED, row));
                }
            }
        });
        judgeLocked(connection, claims, judged);
        return new Outcome(judged, news, false);
    }

    /**
     * Judges those releases whose rows could not be locked, whatever a reading shows: a claim of ours that hangs in its
     * commit has locked the row, and its nonce is not seen before the commit is done.
     */
    final void judgeLocked(Connection connection, Collection<Claim> claims, Map<String, Judged> judged)
            throws SQLException {
        var missed = claims.stream()
                .map(Claim::election)
                .filter(election -> !judged.containsKey(election))
                .toList();
        if (missed.isEmpty()) {
            return;
        }
        var rows = read(connection, missed);
        for (var election : missed) {
            var row = rows.get(election);
            judged.put(election, new Judged(row == null ? Verdict.REFUSED : Verdict.UNKNOWN, orUnheld(row, election)));
        }
    }

    /** Reads rows without locking them. An election that was never claimed has none. */
    Map<String, SeatRow> read(Connection connection, Collection<String> elections) throws SQLException {
        return select(connection, COLUMNS, elections, "{e} e", "");
    }

    /** Reads who stands, the holder included. */
    List<Candidate> candidates(Connection connection, SeatRow row) throws SQLException {
        var candidates = new ArrayList<Candidate>();
        var holder = row.isHeld() ? row.holderName() : null;
        if (holder != null) {
            candidates.add(new Candidate(holder, row.priority(), Metadata.decode(row.metadata()), true));
        }
        var sql = "SELECT candidate, priority, metadata, heard_at FROM {c} WHERE election = ? AND until_at > {now}"
                + " ORDER BY candidate";
        try (var statement = prepare(connection, sql)) {
            statement.setString(1, row.election());
            try (var result = query(statement)) {
                while (result.next()) {
                    if (!result.getString(1).equals(holder)) {
                        candidates.add(new Candidate(
                                result.getString(1),
                                result.getInt(2),
                                Metadata.decode(result.getString(3)),
                                false,
                                heard(result.getLong(4))));
                    }
                }
            }
        }
        return candidates;
    }

    /** An older version writes none. */
    private static Optional<Instant> heard(long micros) {
        return micros == 0 ? Optional.empty() : Optional.of(Instant.EPOCH.plus(micros, ChronoUnit.MICROS));
    }

    /** Carries out an order. Returns the row if there was anybody to order. */
    Optional<SeatRow> order(Connection connection, String election, Order order) throws SQLException {
        var ordered = new ArrayList<SeatRow>();
        if ((order == Order.END || order == Order.DELETE)
                && read(connection, List.of(election)).isEmpty()) {
            insertRow(connection, election); // which may wait where there is a row, and somebody has locked it
        }
        transact(connection, () -> {
            var row = lockRows(connection, List.of(election)).get(election);
            if (row == null && !read(connection, List.of(election)).isEmpty()) {
                throw new LockedRow(election, null);
            }
            if (row != null && concerns(order, row)) {
                update(connection, sql(order), election);
                announce(connection, List.of(election));
                ordered.addAll(read(connection, List.of(election)).values());
            }
        });
        return ordered.stream().findFirst();
    }

    /** Replaces the note over a seat. Returns the row if that was done. */
    Optional<SeatRow> note(Connection connection, String election, long token, String expected, String note)
            throws SQLException {
        var noted = new ArrayList<SeatRow>();
        transact(connection, () -> {
            var locked = lockRows(connection, List.of(election));
            var row = locked.get(election);
            if (row == null && !read(connection, List.of(election)).isEmpty()) {
                throw new LockedRow(election, null);
            }
            if (row != null
                    && row.isHeld()
                    && row.token() == token
                    && row.note().equals(expected)) {
                update(connection, "UPDATE {e} SET note = NULLIF(?, '') WHERE election = ?", note, election);
                announce(connection, List.of(election));
                addTops(connection, locked);
                noted.add(Objects.requireNonNull(locked.get(election)).withNote(note));
            }
        });
        return noted.stream().findFirst();
    }

    /** Returns whether there is anybody, or anything, to order. */
    private static boolean concerns(Order order, SeatRow row) {
        return switch (order) {
            case STAND_DOWN -> row.isHeld();
            case END, DELETE -> true;
            case REOPEN -> row.ended();
        };
    }

    private static String sql(Order order) {
        return switch (order) {
            case STAND_DOWN -> "UPDATE {e} SET stand_down = 1 WHERE election = ?";
            case END -> "UPDATE {e} SET ended = 1, listed = 1 WHERE election = ?";
            case DELETE -> "UPDATE {e} SET era = era + 1, ended = 0, listed = 0 WHERE election = ?";
            case REOPEN -> "UPDATE {e} SET era = era + 1, ended = 0, listed = 1 WHERE election = ?";
        };
    }

    /** Returns the names of the elections that were claimed since they were last deleted. */
    List<String> list(Connection connection) throws SQLException {
        var elections = new ArrayList<String>();
        try (var statement = prepare(connection, "SELECT election FROM {e} WHERE listed = 1 ORDER BY election");
                var result = query(statement)) {
            while (result.next()) {
                elections.add(result.getString(1));
            }
        }
        return elections;
    }

    /** Lists candidates for another while, and forgets those who gave no sign for theirs. */
    void enrol(Connection connection, Collection<Claim> claims) throws SQLException {
        transact(connection, () -> {
            try (var statement = prepare(connection, dialect.enrol())) {
                for (var claim : claims) {
                    statement.setString(1, claim.election());
                    statement.setString(2, claim.candidate());
                    statement.setInt(3, claim.priority());
                    statement.setString(4, Metadata.encode(claim.metadata()));
                    statement.setLong(5, micros(presence(claim)));
                    statement.addBatch();
                }
                statement.executeBatch();
            }
        });
    }

    /** Lists these candidates no more. */
    void strike(Connection connection, Collection<Claim> claims) throws SQLException {
        transact(connection, () -> {
            try (var statement = prepare(connection, STRIKE)) {
                for (var claim : claims) {
                    statement.setString(1, claim.election());
                    statement.setString(2, claim.candidate());
                    statement.addBatch();
                }
                statement.executeBatch();
            }
        });
    }

    /**
     * Forgets candidates who gave no sign for their presence, some of them if they are many. They are found without a
     * lock: MariaDB and MySQL lock all rows among which they look for those to delete, and wait for each.
     */
    void forget(Connection connection) throws SQLException {
        var gone = new ArrayList<List<String>>();
        var sql = "SELECT election, candidate FROM {c} WHERE until_at <= {now} ORDER BY election, candidate LIMIT "
                + CHUNK; // in one order, so that two who do it never wait crosswise
        try (var statement = prepare(connection, sql);
                var result = query(statement)) {
            while (result.next()) {
                gone.add(List.of(result.getString(1), result.getString(2)));
            }
        }
        if (gone.isEmpty()) {
            return;
        }
        transact(connection, () -> {
            try (var statement = prepare(connection, STRIKE + " AND until_at <= {now}")) { // or it is back since
                for (var one : gone) {
                    statement.setString(1, one.get(0));
                    statement.setString(2, one.get(1));
                    statement.addBatch();
                }
                statement.executeBatch();
            }
        });
    }

    /** Returns whether those who listen are told. */
    boolean announces() {
        return false;
    }

    /** Returns whether this error says that somebody else was at it just then, and nothing was done. */
    boolean isLocked(SQLException e) {
        return e instanceof LockedRow || dialect.isBusy(e);
    }

    /** Somebody else has locked the row, or the place for it in an index. */
    static final class LockedRow extends SQLTransientException {
        private static final long serialVersionUID = 1;

        private final String election;

        private LockedRow(String election, @Nullable SQLException cause) {
            super("another transaction has locked the row of \"" + election + "\", perhaps under a guard", cause);
            this.election = election;
        }

        String election() {
            return election;
        }
    }

    /** Runs a statement about this row alone. */
    private void alone(String election, Work statement) throws SQLException {
        var sentNanos = System.nanoTime();
        try {
            statement.run();
        } catch (SQLException e) {
            var after = Duration.ofNanos(System.nanoTime() - sentNanos);
            throw dialect.isPlaceLocked(e, after) ? new LockedRow(election, e) : e;
        }
    }

    /** Tells those who listen, when the transaction commits. */
    void announce(Connection connection, Collection<String> elections) throws SQLException {}

    /** Sends what tells the listening connection that it hears. Returns the process of the server that has sent it. */
    int probe(Connection connection) throws SQLException {
        return 0;
    }

    /** Returns for how long a claimant is listed. */
    Duration presence(Claim claim) {
        return claim.patience().compareTo(config.presence()) > 0 ? claim.patience() : config.presence();
    }

    // ---------------------------------------------------------------- what they are made of

    static boolean isFree(SeatRow row) {
        return !row.isHeld() && !row.ended();
    }

    private static boolean isHeldUnder(SeatRow row, Lease lease) {
        return row.isHeldUnder(lease.claim().nonce()) && row.token() == lease.token();
    }

    private static SeatRow orUnheld(@Nullable SeatRow row, String election) {
        return row == null ? SeatRow.unheld(election) : row;
    }

    /** Makes rows for elections that had none when we looked. */
    void insertRows(Connection connection, Collection<String> elections) throws SQLException {
        for (var election : elections) {
            insertRow(connection, election);
        }
    }

    private void insertRow(Connection connection, String election) throws SQLException {
        try {
            transact(connection, () -> alone(election, () -> update(connection, dialect.insertRow(), election)));
        } catch (SQLException e) {
            if (e.getSQLState() == null || !e.getSQLState().startsWith("23")) {
                throw e;
            }
            // somebody else made it at the same time, which not every database takes for success
        }
    }

    private void grant(Connection connection, Claim claim) throws SQLException {
        var sql = "UPDATE {e} SET token = CASE WHEN token < ? THEN ? ELSE token + 1 END, candidate = ?, nonce = ?,"
                + " priority = ?, metadata = ?,"
                + " since_at = {now}, expires_at = {now} + ?, term = ?, stand_down = 0, listed = 1, note = NULL"
                + " WHERE election = ? AND token < 9223372036854775807";
        try (var statement = prepare(connection, sql)) {
            statement.setLong(1, claim.least());
            statement.setLong(2, claim.least());
            statement.setString(3, claim.candidate());
            statement.setString(4, claim.nonce());
            statement.setInt(5, claim.priority());
            statement.setString(6, Metadata.encode(claim.metadata()));
            statement.setLong(7, micros(claim.lease()));
            statement.setLong(8, micros(claim.lease()));
            statement.setString(9, claim.election());
            if (statement.executeUpdate() != 1) {
                throw new SQLDataException(
                        "the token of \"" + claim.election() + "\" has reached the largest possible number", "22003");
            }
        }
    }

    private void extend(Connection connection, Duration term, List<String> elections) throws SQLException {
        for (var chunk : chunks(elections)) {
            var sql = "UPDATE " + dialect.pathOfRow("{e}") + " SET expires_at = {now} + ?, term = ? WHERE election IN ("
                    + marks(chunk.size()) + ")";
            try (var statement = prepare(connection, sql)) {
                statement.setLong(1, micros(term));
                statement.setLong(2, micros(term));
                for (var i = 0; i < chunk.size(); i++) {
                    statement.setString(3 + i, chunk.get(i));
                }
                if (statement.executeUpdate() != chunk.size()) {
                    throw new SQLException("of " + chunk.size() + " locked rows, not all were updated");
                }
            }
        }
    }

    /** Does to a row that stays as it is what a claim does anyway. */
    private void mend(Connection connection, SeatRow row, long begunNanos) throws SQLException {
        update(connection, "UPDATE {e} SET listed = 1 WHERE election = ? AND listed = 0", row.election());
        // On H2 the clock of a transaction stands still, and the lease may have been given since.
        var age = Duration.ofNanos(2 * (System.nanoTime() - begunNanos)); // by whatever clock
        if (!row.outlastsItsTerm() || row.remaining() - row.term() <= micros(age)) {
            return;
        }
        // The clock was set back. The lease was given before now, so it ends, in truth, a term from now at the latest.
        try (var statement = prepare(connection, "UPDATE {e} SET expires_at = {now} + ? WHERE election = ?")) {
            statement.setLong(1, row.term());
            statement.setString(2, row.election());
            statement.executeUpdate();
        }
    }

    /** Locks rows whose tokens stay, those that nobody else has locked. They come without the highest priority. */
    private Map<String, SeatRow> lockRows(Connection connection, Collection<String> elections) throws SQLException {
        return lock(connection, elections, dialect.pathOfRow("{e} e"), dialect.lockToRenew());
    }

    private Map<String, SeatRow> lock(Connection connection, Collection<String> elections, String table, String lock)
            throws SQLException {
        return select(connection, COLUMNS_OF_LOCKED, elections, table, lock);
    }

    /** Adds the highest priorities to rows that are locked by now. */
    private void addTops(Connection connection, Map<String, SeatRow> locked) throws SQLException {
        var seen = read(connection, locked.keySet());
        locked.replaceAll((election, row) ->
                row.withTop(orUnheld(seen.get(election), election).topPriority()));
    }

    private Map<String, SeatRow> select(
            Connection connection, String columns, Collection<String> elections, String table, String lock)
            throws SQLException {
        var rows = new LinkedHashMap<String, SeatRow>();
        for (var chunk : chunks(List.copyOf(elections))) {
            var sql = "SELECT " + columns + " FROM " + table + " WHERE e.election IN (" + marks(chunk.size()) + ")"
                    + lock;
            try (var statement = prepare(connection, sql)) {
                for (var i = 0; i < chunk.size(); i++) {
                    statement.setString(i + 1, chunk.get(i));
                }
                try (var result = query(statement)) {
                    while (result.next()) {
                        var row = row(result);
                        rows.put(row.election(), row);
                    }
                }
            }
        }
        return rows;
    }

    private ResultSet query(PreparedStatement statement) throws SQLException {
        return dialect.patiently(Dialect.PATIENCE, statement::executeQuery);
    }

    static SeatRow row(ResultSet result) throws SQLException {
        var metadata = result.getString(6);
        var top = result.getInt(14);
        var topKnown = !result.wasNull();
        var note = result.getString(15);
        return new SeatRow(
                result.getString(1),
                result.getLong(2),
                result.getString(3),
                result.getString(4),
                result.getInt(5),
                metadata == null ? "" : metadata,
                result.getLong(7),
                result.getLong(8),
                result.getLong(9),
                result.getInt(10) != 0,
                result.getInt(11) != 0,
                result.getLong(12),
                result.getInt(13) != 0,
                topKnown ? top : Integer.MIN_VALUE,
                note == null ? "" : note);
    }

    private int update(Connection connection, String sql, String... parameters) throws SQLException {
        try (var statement = prepare(connection, sql)) {
            for (var i = 0; i < parameters.length; i++) {
                statement.setString(i + 1, parameters[i]);
            }
            return dialect.patiently(Dialect.PATIENCE, statement::executeUpdate);
        }
    }

    private PreparedStatement prepare(Connection connection, String sql) throws SQLException {
        return connection.prepareStatement(fill(sql));
    }

    final String fill(String sql) {
        return dialect.fill(sql, config);
    }

    private void transact(Connection connection, Work work) throws SQLException {
        begin(connection);
        try {
            work.run();
            dialect.commit(connection);
        } catch (SQLException | RuntimeException | Error e) { // else a session that is lent keeps what is set for it
            try {
                dialect.rollback(connection);
            } catch (SQLException again) {
                e.addSuppressed(again);
            }
            throw e;
        }
    }

    void begin(Connection connection) throws SQLException {
        dialect.begin(connection);
    }

    /** What is done in a transaction. */
    private interface Work {
        void run() throws SQLException;
    }

    final long micros(Duration duration) {
        return duration.toNanos() / 1_000 + dialect.stepMicros();
    }

    private static String marks(int count) {
        return "?" + ", ?".repeat(count - 1);
    }

    private static List<List<String>> chunks(List<String> all) {
        var chunks = new ArrayList<List<String>>();
        for (var from = 0; from < all.size(); from += CHUNK) {
            chunks.add(all.subList(from, Math.min(all.size(), from + CHUNK)));
        }
        return chunks;
    }
}
