package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A table in memory with the isolation of PostgreSQL, and applications that write into it: each transaction locks its
 * keys, draws ids while it goes on, and commits or rolls back whenever it likes. Things happen between any two
 * statements of the one who reads.
 */
final class World extends Store {
    private static final int KEYS = 6;

    private final Random random;
    private final TreeMap<Long, Row> visible = new TreeMap<>();
    private final List<Transaction> open = new ArrayList<>();
    private final Map<Integer, Integer> committed = new HashMap<>();
    private final HashSet<Integer> locked = new HashSet<>();
    private long sequence;
    private long now;
    private int serial;
    private boolean over;

    /** One that is open, with what it has written. */
    private static final class Transaction {
        private final String name;
        private final List<Integer> keys = new ArrayList<>();
        private final Map<Integer, Integer> next = new HashMap<>();
        private final List<Row> rows = new ArrayList<>();

        Transaction(String name) {
            this.name = name;
        }
    }

    World(Random random) {
        super(OutboxTable.named("world"));
        this.random = random;
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
        var transaction = new Transaction("t" + serial++);
        for (var i = 0; i < 1 + random.nextInt(2); i++) {
            var key = random.nextInt(KEYS);
            if (locked.add(key)) {
                transaction.keys.add(key);
                transaction.next.put(key, committed.getOrDefault(key, 0));
            }
        }
        if (!transaction.keys.isEmpty()) {
            open.add(transaction);
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
    Found read(Connection connection, Wanted wanted, Gaps gaps) {
        thingsHappen();
        var late = visible.values().stream()
                .filter(row -> row.id() <= wanted.cursor() && gaps.contains(row.id()))
                .limit(wanted.limit())
                .map(row -> inline(row, wanted.inline()))
                .toList();
        var hot = visible.tailMap(wanted.cursor(), false).values().stream()
                .limit(wanted.limit())
                .map(row -> inline(row, wanted.inline()))
                .toList();
        thingsHappen();
        return new Found(late, hot);
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
                names.add(transaction.name);
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
    void prepare(Connection connection, boolean deletes) {}

    @Override
    void restore(Connection connection, boolean deletes) {}

    @Override
    String found() {
        throw new UnsupportedOperationException();
    }

    @Override
    Tenancy raise(Connection connection, Claim claim) {
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
    void impatient(Connection connection) {
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
    String estimate() {
        throw new UnsupportedOperationException();
    }

    @Override
    List<OutboxAdmin.Finding> examine(Connection connection) {
        return List.of();
    }
}
