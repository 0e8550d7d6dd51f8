package dev.bellwether.outbox;

import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Which part of a rotated table an id belongs to: one after the other has its turn, and after the last the first again.
 * Immutable.
 *
 * @param rows ids of a turn
 * @param parts how many there are
 */
record Ring(long rows, int parts) {
    /** What a part may hold beside what is not published, and few enough parts for a read to look into each. */
    static final Ring USUAL = new Ring(1_000_000, 4);

    private static final Pattern KEY = Pattern.compile("/ (\\d+) % (\\d+)$");

    Ring {
        if (rows < 2 || parts < 2) {
            throw new IllegalArgumentException("a ring of " + parts + " parts for " + rows + " rows each");
        }
    }

    /** Returns the ring of a table, by what PostgreSQL says it is partitioned by; empty if that is none of ours. */
    static Optional<Ring> of(String partitionKey) {
        var found = KEY.matcher(partitionKey.replaceAll("::\\w+|[()']", ""));
        return partitionKey.startsWith("LIST") && found.find()
                ? Optional.of(new Ring(Long.parseLong(found.group(1)), Integer.parseInt(found.group(2))))
                : Optional.empty();
    }

    /** Returns what the table is partitioned by. */
    String key(String column) {
        return "LIST ((abs(" + column + " / " + rows + ") % " + parts + "))";
    }

    /** Returns the turn of an id; ids of different turns are never written down as one run. */
    long turn(long id) {
        return id / rows;
    }

    int part(long id) {
        return (int) (Math.abs(turn(id)) % parts);
    }

    /** Returns the part whose turn comes after that of an id. */
    int next(long id) {
        return (part(id) + (id < 0 ? parts - 1 : 1)) % parts;
    }
}
