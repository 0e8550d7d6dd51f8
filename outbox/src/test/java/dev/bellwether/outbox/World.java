package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A table in memory with the isolation of PostgreSQL or MariaDB, and applications that write into it: each transaction
 * locks its keys, draws ids while it goes on, and commits or rolls back whenever it likes. Things happen between any
 * two statements of the one who reads.
 */
final class World extends Store {
    private static final int KEYS = 6;

    /** What a read shows. */
    enum Snapshots {
        /** What was committed before one moment, as on PostgreSQL and MySQL. */
        OF_A_MOMENT,
        /** What a snapshot of MariaDB shows, which meets one open transaction after the other, completed as there. */
        COMPLETED,
        /** A planted fault: what one such snapshot shows. */
        NOT_COMPLETED,
        /** A planted fault: completed by a statement that began before the first had ended. */
        COMPLETED_TOO_EARLY,
        /** A planted fault: all that two such statements show. */
        OF_TWO_STATEMENTS;

        boolean isPlanted() {
            return this != OF_A_MOMENT && this != COMPLETED;
        }
    }

    private final Random random;
    private final Snapshots snapshots;
    private final TreeMap<Long, Row> visible = new TreeMap<>();
    private final List<Transaction> open = new ArrayList<>();
    private final Map<Integer, Integer> committed = new HashMap<>();
    private final HashSet<Integer> locked = new HashSet<>();
    private final Map<Long, Transaction> writers = new HashMap<>();
    private long sequence;
    private long now;
    private int serial;
    private boolean over;

    /** One that is open, with what it has written. */
    private static final class Transaction {
        private final int number;
        private final List<Integer> keys = new ArrayList<>();
        private final Map<Integer, Integer> next = new HashMap<>();
        private final List<Row> rows = new ArrayList<>();

        Transaction(int number) {
            this.number = number;
        }

        String name() {
            return "t" + number;
        }
    }

    World(Random random) {
        this(random, Snapshots.OF_A_MOMENT);
    }

    World(Random random, Snapshots snapshots) {
        super(OutboxTable.named("world"));
        this.random = random;
        this.snapshots = snapshots;
    }

    long nanoTime() {
        now += random.nextInt(5_000_000);
        return now;
    }

    boolean isEmpty() {
        return visible.isEmpty();
    }

    boolean isEmptyBut(String key) {
        return visible.values().stream().allMatch(row -> key(row).equals(key));
    }

    /** Returns the first row of a key that is there. */
    OptionalLong first(String key) {
        return visible.values().stream()
                .filter(row -> key(row).equals(key))
                .mapToLong(Row::id)
                .findFirst();
    }

    /** Returns how many numbers each key has got. */
    Map<String, Integer> written() {
        var written = new TreeMap<String, Integer>();
        committed.forEach((key, count) -> {
            if (count > 0) {
                written.put("k" + key, count);
            }
        });
        return written;
    }

    static String key(Row row) {
        return new String(Objects.requireNonNull(row.key()), UTF_8);
    }

    static int number(Row row) {
        return Integer.parseInt(new String(Objects.requireNonNull(row.value()), UTF_8).split(" ", 2)[0]);
    }

    /** Lets something happen. */
    void happens() {
        if (over) {
            return;
        }
        switch (random.nextInt(8)) {
            case 0, 1 -> begin();
            case 2, 3, 4, 5 -> write();
            case 6 -> end(random.nextInt(5) > 0);
            default -> sequence += random.nextInt(10) == 0 ? 3 : 0; // as a crash of the database does
        }
    }

    /** Ends what is open. */
    void end() {
        while (!open.isEmpty()) {
            end(true);
        }
        over = true;
    }

    private void begin() {
        var transaction = new Transaction(serial++);
        for (var i = 0; i < 1 + random.nextInt(2); i++) {
            lock(transaction);
        }
        if (!transaction.keys.isEmpty()) {
            open.add(transaction);
        }
    }

    private void lock(Transaction transaction) {
        lock(transaction, random.nextInt(KEYS));
    }

    private void lock(Transaction transaction, int key) {
        if (locked.add(key)) {
            transaction.keys.add(key);
            transaction.next.put(key, committed.getOrDefault(key, 0));
        }
    }

    private void write() {
        if (open.isEmpty()) {
            return;
        }
        var transaction = open.get(random.nextInt(open.size()));
        var key = transaction.keys.get(random.nextInt(transaction.keys.size()));
        var number = transaction.next.merge(key, 1, Integer::sum) - 1;
        var value = (number + " " + "x".repeat(random.nextInt(20) == 0 ? 3_000 : random.nextInt(40))).getBytes(UTF_8);
        writers.put(sequence + 1, transaction);
        transaction.rows.add(new Row(
                ++sequence,
                "e" + sequence,
                "t",
                ("k" + key).getBytes(UTF_8),
                value,
                null,
                -1,
                -1,
                value.length,
                false));
    }

    private void end(boolean commits) {
        if (open.isEmpty()) {
            return;
        }
        var transaction = open.remove(random.nextInt(open.size()));
        if (commits) {
            transaction.rows.forEach(row -> visible.put(row.id(), row));
            committed.putAll(transaction.next);
        }
        transaction.keys.forEach(locked::remove);
        if (snapshots != Snapshots.OF_A_MOMENT && !open.isEmpty()) {
            var waited = open.get(random.nextInt(open.size())); // it is older than a snapshot that is being taken
            transaction.keys.forEach(key -> lock(waited, key));
        }
    }

    private void thingsHappen() {
        for (var i = random.nextInt(4); i > 0; i--) {
            happens();
        }
    }

    void delete(List<Long> ids) {
        ids.forEach(visible::remove);
    }

    @Override
    Found read(Connection connection, Wanted wanted, Gaps gaps) throws SQLException {
        while (true) {
            thingsHappen();
            var early = snapshots == Snapshots.COMPLETED_TOO_EARLY
                    ? Optional.of(snapshot())
                    : Optional.<NavigableMap<Long, Row>>empty();
            var found = shown(wanted, gaps, snapshot());
            thingsHappen();
            var read = switch (snapshots) {
                case OF_A_MOMENT, NOT_COMPLETED -> Optional.of(found);
                case COMPLETED, COMPLETED_TOO_EARLY ->
                    Completion.completed(wanted, gaps, found, new Later(wanted, early));
                case OF_TWO_STATEMENTS -> Optional.of(both(wanted, found, shown(wanted, gaps, snapshot())));
            };
            if (read.isPresent()) {
                return read.get();
            }
        }
    }

    private static Found shown(Wanted wanted, Gaps gaps, NavigableMap<Long, Row> snapshot) {
        var late = snapshot.values().stream()
                .filter(row -> row.id() <= wanted.cursor() && gaps.contains(row.id()))
                .limit(wanted.limit())
                .map(row -> inline(row, wanted.inline()))
                .toList();
        var hot = snapshot.tailMap(wanted.cursor(), false).values().stream()
                .limit(wanted.limit())
                .map(row -> inline(row, wanted.inline()))
                .toList();
        return new Found(late, hot);
    }

    /** Returns all of the first, and what the second has before the end of that. */
    private static Found both(Wanted wanted, Found first, Found second) {
        var all = new TreeMap<Long, Row>();
        for (var found : List.of(second, first)) {
            found.late().forEach(row -> all.put(row.id(), row));
            found.hot().forEach(row -> all.put(row.id(), row));
        }
        var last = first.hot().isEmpty()
                ? wanted.cursor()
                : first.hot().get(first.hot().size() - 1).id();
        return Found.of(wanted.cursor(), List.copyOf(all.headMap(last, true).values()));
    }

    /** What a statement shows. On MariaDB it hides what began after it, and what it meets as open. */
    private NavigableMap<Long, Row> snapshot() {
        if (snapshots == Snapshots.OF_A_MOMENT || over) {
            return visible;
        }
        var before = serial;
        var toMeet = new ArrayList<>(open);
        Collections.shuffle(toMeet, random);
        var hidden = new HashSet<Transaction>();
        var left = random.nextInt(24);
        for (var transaction : toMeet) {
            for (var i = Math.min(left, random.nextInt(8)); i > 0; i--) {
                left--;
                happens();
            }
            if (open.contains(transaction)) {
                hidden.add(transaction);
            }
        }
        thingsHappen();
        var shown = new TreeMap<>(visible);
        shown.keySet().removeIf(id -> {
            var writer = Objects.requireNonNull(writers.get(id));
            return writer.number >= before || hidden.contains(writer);
        });
        return shown;
    }

    /** The second statement of a read. */
    private final class Later implements Completion.Later {
        private final Wanted wanted;
        private final Optional<NavigableMap<Long, Row>> early;

        Later(Wanted wanted, Optional<NavigableMap<Long, Row>> early) {
            this.wanted = wanted;
            this.early = early;
        }

        @Override
        public void show(List<Completion.Range> ranges, Completion.Viewer viewer) {
            for (var row : early.orElseGet(World.this::snapshot).values()) {
                if (ranges.stream().anyMatch(range -> range.from() <= row.id() && row.id() <= range.to())
                        && !viewer.shown(row.id(), (Row.TopicKey) row.orderKey())) {
                    return;
                }
            }
        }

        @Override
        public List<Row> rows(List<Long> ids) {
            thingsHappen();
            return ids.stream()
                    .map(visible::get)
                    .map(row -> inline(row, wanted.inline()))
                    .toList();
        }
    }

    private static Row inline(Row row, long inline) {
        return row.size() <= inline
                ? row
                : new Row(row.id(), row.eventId(), row.topic(), row.key(), null, null, -1, -1, row.size(), true);
    }

    @Override
    List<Row> fetch(Connection connection, List<Row> deferred) {
        thingsHappen();
        return deferred.stream()
                .map(row -> visible.get(row.id()))
                .filter(Objects::nonNull)
                .toList();
    }

    @Override
    String mine(int shard, int shards) {
        throw new UnsupportedOperationException();
    }

    @Override
    long[] ids(Connection connection, long from, long cursor, int limit, int shard, int shards) {
        thingsHappen();
        return visible.keySet().stream()
                .filter(id -> id > from && id <= cursor)
                .limit(limit)
                .mapToLong(Long::longValue)
                .toArray();
    }

    @Override
    Gaps gaps() {
        return new Gaps(8 + random.nextInt(100), 4);
    }

    @Override
    OpenWriters openWriters(Connection reading, Connection deleting) {
        return () -> Optional.of(holders());
    }

    OpenWriters.Holders holders() {
        thingsHappen();
        var names = new HashSet<String>();
        for (var transaction : open) {
            if (!transaction.rows.isEmpty()) {
                names.add(transaction.name());
            }
        }
        return new OpenWriters.Holders(names, false);
    }

    @Override
    List<String> ddl() {
        return List.of();
    }

    @Override
    List<String> sideDdl() {
        return List.of();
    }

    @Override
    String replicaCondition() {
        throw new UnsupportedOperationException();
    }

    @Override
    void prepare(Connection connection, boolean deletes) {}

    @Override
    void restore(Connection connection) {}

    @Override
    String found() {
        throw new UnsupportedOperationException();
    }

    @Override
    long beginning() {
        throw new UnsupportedOperationException();
    }

    @Override
    String sharing() {
        throw new UnsupportedOperationException();
    }

    @Override
    Tenancy raise(Connection connection, Claim claim, long first) {
        throw new UnsupportedOperationException();
    }

    @Override
    int delete(Connection connection, int shard, long epoch, long[] ids) {
        throw new UnsupportedOperationException();
    }

    @Override
    Map<Long, String> eventIds(Connection connection, long[] ids) {
        throw new UnsupportedOperationException();
    }

    @Override
    void durable(Connection connection, boolean before) {}

    @Override
    void impatient(Connection connection, Duration silence) {
        throw new UnsupportedOperationException();
    }

    @Override
    String insert() {
        throw new UnsupportedOperationException();
    }

    @Override
    void bind(PreparedStatement insert, Message message, @Nullable String headers) {
        throw new UnsupportedOperationException();
    }

    @Override
    String park() {
        throw new UnsupportedOperationException();
    }

    @Override
    String requeue() {
        throw new UnsupportedOperationException();
    }

    @Override
    long ageMillis(Connection connection, long low) {
        return 0;
    }

    @Override
    String silentMillis() {
        throw new UnsupportedOperationException();
    }

    @Override
    String millis(String column) {
        throw new UnsupportedOperationException();
    }

    @Override
    String atMillis() {
        throw new UnsupportedOperationException();
    }

    @Override
    long estimate(Connection connection) {
        throw new UnsupportedOperationException();
    }

    @Override
    List<OutboxAdmin.Finding> examine(Connection connection) {
        return List.of();
    }
}
