package dev.bellwether.outbox;

/** What to do with a record that can never be published: too large, for an unknown topic, malformed. */
public enum Poison {
    /** Publish nothing more of its shard until it can be published or is gone; try again from time to time. */
    HALT,
    /** Leave it, and all later records of its topic and key, in the table; publish the others. */
    BLOCK_KEY,
    /** Move it to the parking table, with the reason, and go on; its successors are published without it. */
    PARK
}
