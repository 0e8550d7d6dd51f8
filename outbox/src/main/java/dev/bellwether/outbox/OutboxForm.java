package dev.bellwether.outbox;

/** How the table of an outbox is stored. A relay serves whatever form it finds. */
public enum OutboxForm {
    /** One table, out of which rows are deleted when they are published. */
    PLAIN,
    /**
     * On PostgreSQL, in our own layout: parts in a ring. What is published is written down as runs of ids; a part in
     * which nothing else is left is emptied by TRUNCATE. No row is deleted, so none is dead while a transaction stays
     * open.
     */
    ROTATED
}
