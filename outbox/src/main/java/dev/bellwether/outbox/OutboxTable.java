package dev.bellwether.outbox;

import java.util.regex.Pattern;

/**
 * The table that messages are written into, and how it is laid out. Three tables stand beside it: {@code name_relay},
 * with a row per shard, {@code name_parked}, for records that cannot be published, and {@code name_blocked}, which
 * tells what waits and why. A {@linkplain OutboxForm#ROTATED rotated} one has {@code name_done}, and its parts, {@code
 * name_0} and so on, besides.
 *
 * @param name {@code table} or {@code schema.table}
 * @param layout which columns it has
 */
public record OutboxTable(String name, Layout layout) {
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,49}(\\.[A-Za-z_][A-Za-z0-9_]{0,49})?");

    /** Which columns a table has. */
    public enum Layout {
        /** Ours: keys and values are bytes, each message has an event id. */
        BELLWETHER,
        /** That of goharvest, on PostgreSQL: text only. Its {@code leader_id} is left as it is. */
        GOHARVEST
    }

    /** Refuses what is no name of a table. */
    public OutboxTable {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException("outbox table \"" + name
                    + "\": it must be a name, or schema.name, of letters, digits and underscores, at most 50 each");
        }
    }

    /** Returns a table of our own layout. */
    public static OutboxTable named(String name) {
        return new OutboxTable(name, Layout.BELLWETHER);
    }

    /** Returns a table that was made for goharvest. */
    public static OutboxTable ofGoharvest(String name) {
        return new OutboxTable(name, Layout.GOHARVEST);
    }

    String relay() {
        return name + "_relay";
    }

    String parked() {
        return name + "_parked";
    }

    String blocked() {
        return name + "_blocked";
    }

    /** Where a rotated table has what was published. */
    String done() {
        return name + "_done";
    }
}
