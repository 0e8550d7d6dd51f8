package dev.bellwether.outbox;

/** A record failed, and the line was stopped before its successors could be written. */
final class LineStoppedException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient Row row;
    private final Exception failure;
    private final int index;
    private final int records;

    /**
     * Says which record of how many.
     *
     * @param index of the first that failed, in the transaction
     */
    LineStoppedException(Row row, int index, int records, Exception cause) {
        super(
                row.describe() + ", " + (index + 1) + " of " + records + " in its transaction: " + cause.getMessage(),
                cause);
        this.row = row;
        failure = cause;
        this.index = index;
        this.records = records;
    }

    Row row() {
        return row;
    }

    int index() {
        return index;
    }

    int records() {
        return records;
    }

    Exception failure() {
        return failure;
    }
}
