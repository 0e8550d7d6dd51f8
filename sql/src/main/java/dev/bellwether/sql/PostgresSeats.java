package dev.bellwether.sql;

import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The seats of a PostgreSQL: a verb is one statement, which also tells those who listen. What is rare goes the long
 * way.
 *
 * <p>Immutable.
 */
final class PostgresSeats extends SeatTable {
    /*
     * Locking and judging is one step of the statement, writing the next: PostgreSQL judges a row again if it has
     * changed before it could be locked. The rows that are reported as refused are those of the statement's snapshot,
     * which may be older than a lock that somebody else holds.
     *
     * FOR UPDATE, taken before a token rises, waits for a guard's FOR KEY SHARE (or rather, with SKIP LOCKED, finds
     * nothing); FOR NO KEY UPDATE, taken before a renewal, does not. A release takes FOR KEY SHARE on what is not its
     * own, to find a claim of ours that hangs in its commit: that alone has FOR UPDATE, and no renewal is disturbed.
     *
     * A token that was handed out, or a lease that was extended, must survive a crash of the server, so we commit
     * synchronously even where the user does not; and with a synchronous standby, a fail-over to it, which "local"
     * would leave out, and "remote_write" if that crashes too.
     */
    private static final String DURABLE =
            "durable AS MATERIALIZED (SELECT CASE WHEN current_setting('synchronous_commit') NOT IN ('on',"
                    + " 'remote_apply')"
                    + " THEN set_config('synchronous_commit', 'on', true) END AS done)";
    private static final int PAYLOAD_METADATA = 5_000;
    /** Stands in a notice for metadata that found no room. */
    static final String NO_ROOM = "?";

    private static final int FIELDS = 15;

    private final String insert;
    private final String acquire;
    private final String renew;
    private final String release;
    private final String announce;
    private final String probe;

    /** Announces to a channel, in the name of one store. */
    PostgresSeats(SqlConfig config, String channel, String announcer) {
        super(Dialect.POSTGRESQL, config);
        // both are made of letters, digits and underscores
        var notify = "CAST(pg_notify('" + channel + "', concat_ws(E'\\n', '" + announcer + "', e.election, e.token,"
                + " coalesce(e.candidate, ''), coalesce(e.nonce, ''), e.priority, CASE WHEN octet_length(e.metadata)"
                + " > " + PAYLOAD_METADATA
                + " THEN '" + NO_ROOM + "' ELSE coalesce(e.metadata, '') END, e.since_at, " + LEFT
                + ", e.term, e.stand_down,"
                + " e.ended, e.era, e.listed,"
                + " coalesce(" + TOP + ", " + Integer.MIN_VALUE + "), e.note)) AS text)"; // no note, no field
        // in one order, so that two who make the same rows never wait crosswise
        insert = fill("INSERT INTO {e} (election) SELECT a.election FROM unnest(?::text[]) AS a(election)"
                + " ORDER BY a.election ON CONFLICT (election) DO NOTHING");
        acquire = fill(
                "WITH " + DURABLE + ", asked AS (SELECT * FROM unnest(?::text[], ?::text[], ?::text[], ?::integer[],"
                        + " ?::text[], ?::bigint[], ?::boolean[], ?::bigint[], ?::bigint[])"
                        + " AS a(election, candidate, nonce, priority, metadata, lease, announce, era, least)),"
                        + " free AS (SELECT e.election FROM {e} e JOIN asked a ON e.election = a.election"
                        + " WHERE e.ended = 0 AND (a.era = " + Claim.ANY_ERA + " OR e.era <= a.era)"
                        + " AND e.token < 9223372036854775807 AND (e.nonce IS NULL OR e.expires_at <= {now})"
                        + " FOR UPDATE OF e SKIP LOCKED),"
                        + " granted AS (UPDATE {e} e SET"
                        + " token = CASE WHEN e.token < a.least THEN a.least ELSE e.token + 1 END,"
                        + " candidate = a.candidate, nonce = a.nonce,"
                        + " priority = a.priority, metadata = a.metadata, since_at = {now}, expires_at = {now} +"
                        + " a.lease,"
                        + " term = a.lease, stand_down = 0, listed = 1, note = NULL FROM asked a, free f"
                        + " WHERE e.election = a.election AND e.election = f.election RETURNING e.*)"
                        + " SELECT " + COLUMNS + ", true, " + notify + " FROM granted e, durable"
                        + " UNION ALL SELECT " + COLUMNS + ", false, CASE WHEN a.announce THEN " + notify + " END"
                        + " FROM {e} e JOIN asked a ON e.election = a.election"
                        + " WHERE e.election NOT IN (SELECT g.election FROM granted g)");
        renew = fill("WITH " + DURABLE
                + ", asked AS (SELECT * FROM unnest(?::text[], ?::text[], ?::bigint[], ?::bigint[], ?::text[])"
                + " AS a(election, nonce, token, term, metadata)),"
                + " ours AS (SELECT e.election, a.term, a.metadata, e.expires_at AS until, e.metadata AS was"
                + " FROM {e} e JOIN asked a ON"
                + " e.election = a.election"
                + " WHERE e.nonce = a.nonce AND e.token = a.token AND e.expires_at > {now} FOR NO KEY"
                + " UPDATE OF e SKIP LOCKED),"
                + " renewed AS (UPDATE {e} e SET expires_at = {now} + o.term, term = o.term, metadata = o.metadata"
                + " FROM ours o WHERE e.election = o.election RETURNING e.*, o.until, o.was)"
                + " SELECT " + COLUMNS.replace(TOP, "NULL::integer") + ", true, CASE WHEN e.expires_at <"
                + " e.until OR e.metadata <> coalesce(e.was, '') THEN " + notify + " END FROM renewed e, durable");
        release = fill("WITH " + DURABLE + ", asked AS (SELECT * FROM unnest(?::text[], ?::text[], ?::text[])"
                + " AS a(election, nonce, candidate)),"
                + " struck AS (DELETE FROM {c} c USING asked a WHERE c.election = a.election AND c.candidate ="
                + " a.candidate),"
                + " ours AS (SELECT e.election FROM {e} e JOIN asked a ON e.election = a.election"
                + " WHERE e.nonce = a.nonce AND e.expires_at > {now} FOR NO KEY UPDATE OF e SKIP LOCKED),"
                + " others AS (SELECT e.election FROM {e} e JOIN asked a ON e.election = a.election"
                + " WHERE e.nonce IS DISTINCT FROM a.nonce OR e.expires_at <= {now}"
                + " FOR KEY SHARE OF e SKIP LOCKED),"
                + " vacated AS (UPDATE {e} e SET candidate = NULL, nonce = NULL, stand_down = 0 FROM ours o"
                + " WHERE e.election = o.election RETURNING e.*)"
                + " SELECT " + COLUMNS + ", true, " + notify + " FROM vacated e, durable"
                + " UNION ALL SELECT " + COLUMNS
                + ", false, CAST(NULL AS text) FROM {e} e JOIN others o ON e.election = o.election"
                + " WHERE e.election NOT IN (SELECT v.election FROM vacated v)");
        probe = "SELECT pg_notify('" + channel + "', '" + announcer + "'), pg_backend_pid()";
        announce = fill("SELECT " + notify + " FROM {e} e WHERE e.election = ANY (?)");
    }

    @Override
    Outcome acquire(Connection connection, Collection<Claim> claims, Set<String> announced) throws SQLException {
        var judged = new HashMap<String, Judged>();
        var told = acquire(connection, claims, announced, judged);
        var without = claims.stream()
                .filter(claim -> !judged.containsKey(claim.election()))
                .toList();
        if (!without.isEmpty()) { // a row: theirs is the first claim ever
            insertRows(connection, without.stream().map(Claim::election).toList());
            told |= acquire(connection, without, announced, judged);
        }
        var rest = claims.stream()
                .filter(claim -> wantsMore(judged.get(claim.election())))
                .toList();
        if (!rest.isEmpty()) {
            var outcome = super.acquire(connection, rest, Set.of());
            judged.putAll(outcome.judged());
            told |= outcome.announced();
        }
        return new Outcome(judged, List.of(), told);
    }

    private boolean acquire(
            Connection connection, Collection<Claim> claims, Set<String> announced, Map<String, Judged> judged)
            throws SQLException {
        try (var statement = connection.prepareStatement(acquire)) {
            texts(statement, 1, claims.stream().map(Claim::election).toList());
            texts(statement, 2, claims.stream().map(Claim::candidate).toList());
            texts(statement, 3, claims.stream().map(Claim::nonce).toList());
            array(statement, 4, "integer", claims.stream().map(Claim::priority).toArray());
            texts(
                    statement,
                    5,
                    claims.stream()
                            .map(claim -> Metadata.encode(claim.metadata()))
                            .toList());
            array(
                    statement,
                    6,
                    "bigint",
                    claims.stream().map(claim -> micros(claim.lease())).toArray());
            array(
                    statement,
                    7,
                    "boolean",
                    claims.stream()
                            .map(claim -> announced.contains(claim.election()))
                            .toArray());
            array(statement, 8, "bigint", claims.stream().map(Claim::era).toArray());
            array(statement, 9, "bigint", claims.stream().map(Claim::least).toArray());
            return judge(statement, judged);
        }
    }

    /** All in one statement, and so in one commit. */
    @Override
    void insertRows(Connection connection, Collection<String> elections) throws SQLException {
        if (elections.isEmpty()) {
            return;
        }
        try (var statement = connection.prepareStatement(insert)) {
            texts(statement, 1, List.copyOf(elections));
            statement.execute();
        }
    }

    /** A seat without a row, one that looks free though we did not get it, or one that wants repair. */
    private static boolean wantsMore(@org.jspecify.annotations.Nullable Judged judged) {
        return judged == null
                || (judged.verdict() == Verdict.REFUSED
                        && (isFree(judged.row())
                                || !judged.row().listed()
                                || judged.row().outlastsItsTerm()));
    }

    @Override
    Outcome renew(Connection connection, Collection<Lease> leases) throws SQLException {
        var judged = new HashMap<String, Judged>();
        boolean told;
        try (var statement = connection.prepareStatement(renew)) {
            texts(
                    statement,
                    1,
                    leases.stream().map(lease -> lease.claim().election()).toList());
            texts(
                    statement,
                    2,
                    leases.stream().map(lease -> lease.claim().nonce()).toList());
            array(statement, 3, "bigint", leases.stream().map(Lease::token).toArray());
            array(
                    statement,
                    4,
                    "bigint",
                    leases.stream().map(lease -> micros(lease.term())).toArray());
            texts(
                    statement,
                    5,
                    leases.stream()
                            .map(lease -> Metadata.encode(lease.claim().metadata()))
                            .toList());
            told = judge(statement, judged);
        }
        judgeMissed(connection, leases, judged);
        return new Outcome(judged, List.of(), told);
    }

    @Override
    Outcome release(Connection connection, Collection<Claim> claims) throws SQLException {
        var judged = new HashMap<String, Judged>();
        boolean told;
        try (var statement = connection.prepareStatement(release)) {
            texts(statement, 1, claims.stream().map(Claim::election).toList());
            texts(statement, 2, claims.stream().map(Claim::nonce).toList());
            texts(statement, 3, claims.stream().map(Claim::candidate).toList());
            told = judge(statement, judged);
        }
        judgeLocked(connection, claims, judged);
        return new Outcome(judged, List.of(), told);
    }

    @Override
    void begin(Connection connection) throws SQLException {
        super.begin(connection);
        // Who vanishes silently in the middle must not leave a locked row for hours.
        try (var statement = connection.prepareStatement("WITH " + DURABLE + " SELECT done,"
                + " set_config('idle_in_transaction_session_timeout', '5s', true) FROM durable")) {
            statement.execute();
        }
    }

    @Override
    void announce(Connection connection, Collection<String> elections) throws SQLException {
        try (var statement = connection.prepareStatement(announce)) {
            texts(statement, 1, List.copyOf(elections));
            statement.execute();
        }
    }

    @Override
    boolean announces() {
        return true;
    }

    @Override
    int probe(Connection connection) throws SQLException {
        try (var statement = connection.prepareStatement(probe);
                var result = statement.executeQuery()) {
            result.next();
            return result.getInt(2);
        }
    }

    /** Names the channel of a table: by its name, since that is what a restored table keeps. */
    static String channel(String qualifiedTable) {
        try {
            var digest = MessageDigest.getInstance("SHA-256").digest(qualifiedTable.getBytes(StandardCharsets.UTF_8));
            return "bellwether_" + HexFormat.of().formatHex(digest, 0, 16);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Reads what was announced, and by which process; empty if it is none of ours. Anybody who may connect can send
     * anything.
     */
    static Optional<Announcement> parse(String payload) {
        var fields = payload.split("\n", -1);
        if (fields.length != FIELDS && fields.length != FIELDS + 1) {
            return Optional.empty();
        }
        try {
            return Optional.of(new Announcement(
                    fields[0],
                    new SeatRow(
                            fields[1],
                            Long.parseLong(fields[2]),
                            fields[3].isEmpty() ? null : fields[3],
                            fields[4].isEmpty() ? null : fields[4],
                            Integer.parseInt(fields[5]),
                            fields[6],
                            Long.parseLong(fields[7]),
                            Long.parseLong(fields[8]),
                            Long.parseLong(fields[9]),
                            !fields[10].equals("0"),
                            !fields[11].equals("0"),
                            Long.parseLong(fields[12]),
                            !fields[13].equals("0"),
                            Integer.parseInt(fields[14]),
                            fields.length > FIELDS ? fields[FIELDS] : "")));
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    /**
     * What came by NOTIFY: a hint, which says nothing about the seat that is not looked up before it is obeyed.
     *
     * @param row the seat as it is said to be; without its metadata if they found no room
     */
    record Announcement(String announcer, SeatRow row) {}

    /** Returns whether anything was announced. */
    private static boolean judge(PreparedStatement statement, Map<String, Judged> judged) throws SQLException {
        var announced = false;
        try (ResultSet result = statement.executeQuery()) {
            while (result.next()) {
                var row = row(result);
                judged.put(row.election(), new Judged(result.getBoolean(16) ? Verdict.GRANTED : Verdict.REFUSED, row));
                announced |= result.getString(17) != null;
            }
        }
        return announced;
    }

    private static void texts(PreparedStatement statement, int index, List<String> values) throws SQLException {
        array(statement, index, "text", values.toArray());
    }

    private static void array(PreparedStatement statement, int index, String type, Object[] values)
            throws SQLException {
        statement.setArray(index, statement.getConnection().createArrayOf(type, values));
    }
}
