package dev.bellwether.outbox;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
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
        EVENT_IDS_ARE_NOT_COMPARED,
        LEADERS_WITHOUT_PROGRESS_ARE_NOT_NOTICED,
        MISSING_PROGRESS_IS_NOT_NOTICED,
        MARKED_BEFORE_THE_DELETE,
        EPOCHS_ARE_NOT_DURABLE,
        A_SECOND_SETTING_BACK_IS_NOT_NOTICED,
        PROGRESS_ALONG_THOUGH_COMMITS_MAY_BE_LATE
    }

    /** What the conditions of seeing each record once exclude, and that of order do not. */
    enum Trouble {
        NONE,
        /** Some leaders keep no progress. */
        FORGETFUL_LEADERS,
        /** The database is set back to a state of before, as from a backup. */
        SET_BACK,
        /** Brokers below transaction.version=2 take a commit that comes late for one of the transaction under way. */
        LATE_COMMITS
    }

    private record Backup(TreeMap<Long, String> table, long epoch, ProgressMark mark, long sequence, int events) {}

    /** Of a row that was inserted. */
    private static final ProgressMark UNMARKED = new ProgressMark(0, 0);

    private final Random random;
    private final Planted planted;
    private final Trouble trouble;

    // the database
    private final TreeMap<Long, String> table = new TreeMap<>();
    private final Map<Long, String> deletedNotDurably = new HashMap<>();
    private long epoch;
    private ProgressMark mark = UNMARKED;
    private long sequence;
    private final List<Backup> backups = new ArrayList<>();
    /** The epoch and the mark that a crash leaves. */
    private @Nullable Backup flushed;
    /** What a database that was set back does not know. */
    private final Set<String> forgotten = new HashSet<>();
    /** What such a database has deleted already: if an older state of it has sent more since, nobody can mend that. */
    private final Set<String> settled = new HashSet<>();

    // the brokers
    private final int[] fences = new int[2];
    private final List<@Nullable Appended> open = new ArrayList<>();
    private final List<Published> progress = new ArrayList<>();
    private final List<Appended> log = new ArrayList<>();
    /** The fence under which a commit was sent twice, of which one is on its way; 0 if there is none. */
    private final int[] late = new int[2];

    private final List<Leader> leaders = new ArrayList<>();
    private int favoured;
    /** For so long nobody writes. */
    private int quiet;

    /** How rarely anything fails, and how slowly the database deletes. */
    private final int calm;

    private final int slow;

    private int events;

    private record Transaction(List<Row> rows, long number, long epoch) {}

    /** What is in the log of a transaction. */
    private static final class Appended {
        private List<Row> rows = List.of();
        private @Nullable Published progress;
        private boolean committed;
    }

    OnceModel(long seed, Planted planted, Trouble trouble) {
        random = new Random(seed);
        this.planted = planted;
        this.trouble = trouble;
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
        var seen = new HashSet<>(forgotten);
        var last = 0;
        for (var event : trouble == Trouble.NONE ? committed() : lastOfEach()) {
            var number = Integer.parseInt(event);
            if (!seen.add(event)) {
                return event + " is seen twice";
            }
            if (number < last) {
                return event + " is seen after " + last;
            }
            last = settled.contains(event) ? last : number;
        }
        return !table.isEmpty()
                ? table.size() + " rows are never published"
                : seen.size() < events ? (events - seen.size()) + " of " + events + " are lost" : "";
    }

    private List<String> committed() {
        return log.stream()
                .filter(transaction -> transaction.committed)
                .flatMap(transaction -> transaction.rows.stream())
                .map(Row::eventId)
                .toList();
    }

    /** Whatever is seen again: what a reader has seen last of each key must be the newest. */
    private List<String> lastOfEach() {
        var last = new LinkedHashSet<String>();
        for (var event : committed()) {
            last.remove(event);
            last.add(event);
        }
        last.removeAll(forgotten);
        return List.copyOf(last);
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
        } else if (trouble == Trouble.LATE_COMMITS && dice == 17) {
            commitLate(random.nextInt(2));
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
        if (trouble == Trouble.SET_BACK && random.nextInt(3) == 0) {
            setBack();
            return;
        }
        switch (random.nextInt(7)) {
            case 0, 1, 2 -> leaders.remove(leaders.isEmpty() ? null : leaders.get(random.nextInt(leaders.size())));
            case 3 -> {
                table.putAll(deletedNotDurably);
                deletedNotDurably.clear();
                var left = flushed;
                if (left != null) {
                    epoch = left.epoch();
                    mark = left.mark();
                    flushed = null;
                }
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

    /** Commits what is in the log of a transaction under way, which it was not meant for. */
    private void commitLate(int id) {
        if (late[id] != 0 && late[id] == fences[id] && open.get(id) != null) {
            commit(id);
            late[id] = 0;
        }
    }

    private void commit(int id) {
        var transaction = open.set(id, null);
        if (transaction != null) {
            transaction.committed = true;
            if (transaction.progress != null) {
                progress.add(transaction.progress);
            }
        }
    }

    private void setBack() {
        if (backups.isEmpty() || random.nextInt(3) == 0) {
            backups.add(new Backup(new TreeMap<>(table), epoch, mark, sequence, events));
            return;
        }
        var to = backups.get(random.nextInt(backups.size())); // an older one, then a newer one, too
        for (var event = to.events() + 1; event <= events; event++) {
            forgotten.add(String.valueOf(event));
        }
        for (var event = 1; event <= to.events(); event++) {
            settled.add(String.valueOf(event));
        }
        settled.removeAll(to.table().values());
        table.clear();
        table.putAll(to.table());
        epoch = to.epoch();
        mark = to.mark();
        sequence = to.sequence();
        deletedNotDurably.clear();
        leaders.clear(); // each sees that its connection is broken
    }

    /** A leader, or one who believes to be. Each step is one that others may come before. */
    private final class Leader {
        private final Deque<Runnable> opening = new ArrayDeque<>();
        private final int[] fence = new int[2];
        private final Set<Long> known = new HashSet<>();
        private final Deque<Transaction> toDelete = new ArrayDeque<>();
        private final boolean keepsProgress = trouble != Trouble.FORGETFUL_LEADERS || random.nextBoolean();
        private PublishedRows found = new PublishedRows();
        private ProgressMark before = UNMARKED;
        private long unmarked;
        private long base;
        private boolean dead;
        /** As with brokers that refuse a commit that is late. */
        private final boolean sendsAlong = planted != Planted.PROGRESS_BEHIND_THE_COMMIT
                && (trouble != Trouble.LATE_COMMITS || planted == Planted.PROGRESS_ALONG_THOUGH_COMMITS_MAY_BE_LATE);

        private long ours;
        private long number;
        private long durable;
        private int turn;
        /** Begun, and its rows are on their way. */
        private @Nullable Transaction appending;

        private @Nullable Transaction appended;
        private @Nullable Transaction committing;
        private int committingOn;

        Leader() {
            var first = planted == Planted.FENCED_THE_OTHER_WAY_ROUND ? 1 : 0;
            if (planted == Planted.READ_BEFORE_THE_FENCES) {
                opening.add(this::acquire);
                opening.add(this::read);
            }
            opening.add(() -> fence(first));
            opening.add(() -> fence(1 - first));
            if (planted != Planted.READ_BEFORE_THE_FENCES) {
                opening.add(this::acquire);
                opening.add(this::read);
            }
            if (keepsProgress) {
                var early = planted == Planted.MARKED_BEFORE_THE_DELETE;
                opening.add(early ? this::mark : this::deletePublished);
                opening.add(early ? this::deletePublished : this::mark);
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
            if (planted == Planted.EPOCHS_ARE_NOT_DURABLE && !keepsProgress) {
                flushed = new Backup(new TreeMap<>(), epoch, mark, sequence, events);
            } else {
                deletedNotDurably.clear(); // this is durable, and so is all before it
                flushed = null;
            }
            ours = ++epoch;
            if (ours > 1 && keepsProgress && mark.isUnbroken(ours - 1)) { // the first inserts the row
                mark = new ProgressMark(ours, mark.number());
            }
            before = planted == Planted.LEADERS_WITHOUT_PROGRESS_ARE_NOT_NOTICED
                    ? new ProgressMark(ours, mark.number())
                    : mark;
        }

        private void read() {
            progress.forEach(published -> found.add(Published.read(published.write())));
        }

        private void deletePublished() {
            var believed = planted == Planted.MISSING_PROGRESS_IS_NOT_NOTICED
                            || (planted == Planted.A_SECOND_SETTING_BACK_IS_NOT_NOTICED
                                    && before.isUnbroken(ours)
                                    && found.isWholeAfter(before.number()))
                    ? found
                    : found.believed(before, ours);
            if (planted == Planted.EVENT_IDS_ARE_NOT_COMPARED) {
                progress.stream()
                        .skip(Math.max(0, progress.size() - ProgressTopic.WINDOW))
                        .flatMapToLong(published -> LongStream.of(published.ids()))
                        .forEach(table::remove);
            }
            var published = believed.published(new HashMap<>(table));
            if (published.length == 0) {
                return;
            }
            if (ours != epoch) {
                dead = true;
                return;
            }
            for (var id : published) {
                table.remove(id);
            }
            deletedNotDurably.clear(); // this delete is durable, and so is all before it
        }

        private void mark() {
            if (ours != epoch) {
                dead = true;
                return;
            }
            mark = found.markAfter(before, ours);
            base = found.baseAfter(before, ours);
            deletedNotDurably.clear();
            flushed = null;
            durable = mark.number();
            number = durable + 1;
        }

        /** The thread that publishes. */
        private void goOn() {
            if (appending != null) {
                appendRows(appending);
            } else if (appended == null) {
                append();
            } else if (committing == null) {
                committing = appended;
                committingOn = turn;
                appended = null;
                turn = 1 - turn;
            }
        }

        private void append() {
            if (planted != Planted.NOBODY_WAITS_FOR_DELETES
                    && keepsProgress
                    && number - ProgressTopic.WINDOW > durable) {
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
            var began = new Appended();
            open.set(turn, began);
            var transaction = new Transaction(rows, keepsProgress ? number++ : 0, ours);
            if (sendsAlong && keepsProgress) {
                began.progress = published(transaction);
            }
            if (trouble == Trouble.LATE_COMMITS) {
                appending = transaction;
            } else {
                appendRows(transaction);
            }
        }

        private void appendRows(Transaction transaction) {
            var began = open.get(turn);
            if (fence[turn] != fences[turn] || began == null) {
                dead = true; // brokers refuse what comes behind a commit that was late
                return;
            }
            began.rows = transaction.rows();
            log.add(began);
            appending = null;
            appended = transaction;
        }

        private Published published(Transaction transaction) {
            return Published.of(transaction.number(), base, transaction.epoch(), transaction.rows());
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
            if (trouble == Trouble.LATE_COMMITS && random.nextInt(5) == 0) {
                late[committingOn] = fence[committingOn];
            }
            commit(committingOn);
            if (!keepsProgress) {
                toDelete.add(transaction);
                committing = null;
                return;
            }
            if (planted == Planted.PROGRESS_BEHIND_THE_COMMIT && random.nextInt(20) == 0) {
                dead = true; // between the two
                return;
            }
            if (!sendsAlong) {
                progress.add(published(transaction)); // also if the rows were committed before, by what was late
            }
            toDelete.add(transaction);
            committing = null;
        }

        /** The thread that deletes. */
        private void delete() {
            if ((toDelete.isEmpty() && unmarked == 0) || random.nextInt(slow) > 0) {
                return;
            }
            if (ours != epoch) {
                dead = true;
                return;
            }
            if (unmarked > 0) {
                mark = new ProgressMark(ours, unmarked);
                durable = unmarked;
                unmarked = 0;
                if (planted != Planted.DELETES_ARE_NEVER_DURABLE) {
                    deletedNotDurably.clear(); // the mark is durable, and so is all before it
                    flushed = null;
                }
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
                unmarked = transaction.number();
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
