package dev.bellwether.outbox;

/** A record that can never be published stops the shard, as its policy is. */
final class HaltedException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient Row row;

    HaltedException(Row row, String reason) {
        super(reason);
        this.row = row;
    }

    Row row() {
        return row;
    }
}
