package dev.bellwether.outbox;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Leaders of one shard that take over from each other at any moment, are killed and frozen, or lead beside each other
 * without knowing it; brokers that keep two transactional ids; a database that may forget deletes which it was not
 * asked to make durable. What is written and read of progress is the real code.
 */
final class OnceModel {
    /** Something that is wrong on purpose. */
    enum Planted {
        NOTHING,
        PROGRESS_BEHIND_THE_COMMIT,
        FENCED_THE_OTHER_WAY_ROUND,
        READ_BEFORE_THE_FENCES,
        NOBODY_WAITS_FOR_DELETES,
        DELETES_ARE_NEVER_DURABLE,
        EVENT_IDS_ARE_NOT_COMPARED
    }

    private final Random random;
    private final Planted planted;

    // the database
    private final TreeMap<Long, String> table = new TreeMap<>();
    private final Map<Long, String> deletedNotDurably = new HashMap<>();
    private long epoch;
    private long sequence;

    // the brokers
    private final int[] fences = new int[2];
    private final List<@Nullable Transaction> open = new ArrayList<>();
    private final List<Published> progress = new ArrayList<>();
    private final List<String> committed = new ArrayList<>();

    private final List<Leader> leaders = new ArrayList<>();
    private int favoured;
    /** For so long nobody writes. */
    private int quiet;

    /** How rarely anything fails, and how slowly the database deletes. */
    private final int calm;

    private final int slow;

    private int events;

    /** One that is appended and not committed. */
    private record Transaction(List<Row> rows, long number, long epoch) {}

    OnceModel(long seed, Planted planted) {
        random = new Random(seed);
        this.planted = planted;
        open.add(null);
        open.add(null);
        calm = 1 + random.nextInt(20);
        slow = 1 + random.nextInt(40);
    }

    /** Returns what is wrong with what readers of committed records have seen; nothing if all is well. */
    String run(int steps) {
        for (var step = 0; step < steps; step++) {
            happens();
        }
        leaders.clear();
        leaders.add(new Leader());
        for (var step = 0; step < 1_000_000 && !table.isEmpty(); step++) {
            if (leaders.get(0).dead) {
                leaders.set(0, new Leader());
            }
            leaders.get(0).step();
        }
        var seen = new HashSet<String>();
        var last = 0;
        for (var event : committed) {
            var number = Integer.parseInt(event);
            if (!seen.add(event)) {
                return event + " is seen twice";
            }
            if (number < last) {
                return event + " is seen after " + last;
            }
            last = number;
        }
        return !table.isEmpty()
                ? table.size() + " rows are never published"
                : seen.size() < events ? (events - seen.size()) + " of " + events + " are lost" : "";
    }

    private void happens() {
        var dice = random.nextInt(100);
        if (dice < 15) {
            quiet--;
            for (var i = random.nextInt(4); i >= 0 && quiet < 0; i--) {
                table.put(++sequence, String.valueOf(++events));
            }
        } else if (dice == 15) {
            if (leaders.isEmpty() || random.nextInt(calm) == 0) {
                fails();
            }
        } else if (dice == 16) {
            if (leaders.size() < 3 && random.nextInt(1 + calm / 4) == 0) {
                leaders.add(new Leader());
                favoured = random.nextInt(leaders.size());
            }
        } else if (!leaders.isEmpty()) {
            if (random.nextInt(20) == 0) {
                favoured = random.nextInt(leaders.size()); // the others are frozen, or nearly so
            }
            var leader =
                    leaders.get(random.nextInt(20) == 0 ? random.nextInt(leaders.size()) : favoured % leaders.size());
            leader.step();
            if (leader.dead) {
                leaders.remove(leader);
            }
        }
    }

    private void fails() {
        switch (random.nextInt(7)) {
            case 0, 1, 2 -> leaders.remove(leaders.isEmpty() ? null : leaders.get(random.nextInt(leaders.size())));
            case 3 -> {
                table.putAll(deletedNotDurably);
                deletedNotDurably.clear();
                leaders.clear(); // each sees that its connection is broken
            }
            default -> {
                if (table.isEmpty()) { // it is set up again, and gives ids again
                    leaders.clear();
                    deletedNotDurably.clear();
                    sequence = Math.max(0, sequence - random.nextInt(50));
                } else {
                    quiet = random.nextInt(100);
                }
            }
        }
    }

    /** A leader, or one who believes to be. Each step is one that others may come before. */
    private final class Leader {
        private final Deque<Runnable> opening = new ArrayDeque<>();
        private final int[] fence = new int[2];
        private final Set<Long> known = new HashSet<>();
        private final Deque<Transaction> toDelete = new ArrayDeque<>();
        private boolean dead;
        private long ours;
        private long number;
        private long durable;
        private int turn;
        private @Nullable Transaction appended;
        private @Nullable Transaction committing;
        private int committingOn;

        Leader() {
            var first = planted == Planted.FENCED_THE_OTHER_WAY_ROUND ? 1 : 0;
            Runnable recover = this::recover;
            if (planted == Planted.READ_BEFORE_THE_FENCES) {
                opening.add(this::acquire);
                opening.add(recover);
            }
            opening.add(() -> fence(first));
            opening.add(() -> fence(1 - first));
            if (planted != Planted.READ_BEFORE_THE_FENCES) {
                opening.add(this::acquire);
                opening.add(recover);
            }
        }

        void step() {
            if (!opening.isEmpty()) {
                opening.remove().run();
                return;
            }
            switch (random.nextInt(4)) {
                case 0 -> delete();
                case 1 -> finishCommit();
                default -> goOn();
            }
        }

        private void fence(int id) {
            fence[id] = ++fences[id];
            open.set(id, null); // aborted
        }

        private void acquire() {
            ours = ++epoch;
        }

        private void recover() {
            var found = new PublishedRows();
            progress.forEach(published -> found.add(Published.read(published.write())));
            var there = new HashMap<>(table);
            if (planted == Planted.EVENT_IDS_ARE_NOT_COMPARED) {
                progress.stream()
                        .skip(Math.max(0, progress.size() - ProgressTopic.WINDOW))
                        .flatMapToLong(published -> LongStream.of(published.ids()))
                        .forEach(table::remove);
            }
            var published = found.published(there);
            if (published.length > 0 && ours != epoch) {
                dead = true;
                return;
            }
            for (var id : published) {
                table.remove(id);
            }
            deletedNotDurably.clear(); // this delete is durable, and so is all before it
            number = found.last() + 1;
            durable = found.last();
        }

        /** The thread that publishes. */
        private void goOn() {
            if (appended == null) {
                if (planted != Planted.NOBODY_WAITS_FOR_DELETES && number - ProgressTopic.WINDOW > durable) {
                    return;
                }
                var rows = table.entrySet().stream()
                        .filter(row -> known.add(row.getKey()))
                        .limit(3)
                        .map(row -> new Row(row.getKey(), row.getValue(), "t", null, null, null, -1, -1, 0, false))
                        .toList();
                if (rows.isEmpty()) {
                    return;
                }
                known.retainAll(table.keySet());
                rows.forEach(row -> known.add(row.id()));
                if (fence[turn] != fences[turn]) {
                    dead = true;
                    return;
                }
                appended = new Transaction(rows, 0, ours);
                open.set(turn, appended);
            } else if (committing == null) {
                committing = new Transaction(appended.rows(), number++, ours);
                committingOn = turn;
                appended = null;
                turn = 1 - turn;
            }
        }

        /** The thread that commits. */
        private void finishCommit() {
            var transaction = committing;
            if (transaction == null) {
                return;
            }
            if (fence[committingOn] != fences[committingOn]) {
                dead = true;
                return;
            }
            open.set(committingOn, null);
            transaction.rows().forEach(row -> committed.add(row.eventId()));
            if (planted != Planted.PROGRESS_BEHIND_THE_COMMIT || random.nextInt(20) > 0) {
                progress.add(Published.of(transaction.number(), transaction.epoch(), transaction.rows()));
            } else {
                dead = true; // between the two
                return;
            }
            toDelete.add(transaction);
            committing = null;
        }

        /** The thread that deletes. */
        private void delete() {
            if (toDelete.isEmpty() || random.nextInt(slow) > 0) {
                return;
            }
            if (ours != epoch) {
                dead = true;
                return;
            }
            var transaction = toDelete.remove();
            while (!toDelete.isEmpty() && random.nextBoolean()) {
                var next = toDelete.remove();
                remove(transaction);
                transaction = next;
            }
            var durably = transaction.number() - durable >= ProgressTopic.WINDOW / 4;
            remove(transaction);
            if (durably) {
                if (planted != Planted.DELETES_ARE_NEVER_DURABLE) {
                    deletedNotDurably.clear();
                }
                durable = transaction.number();
            }
        }

        private void remove(Transaction transaction) {
            for (var row : transaction.rows()) {
                if (table.remove(row.id(), row.eventId())) {
                    deletedNotDurably.put(row.id(), row.eventId());
                }
            }
        }
    }
}
