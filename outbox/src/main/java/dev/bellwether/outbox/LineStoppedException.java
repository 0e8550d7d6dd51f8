package dev.bellwether.outbox;

/** A record failed, and the line was stopped before its successors could be written. */
final class LineStoppedException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient Row row;
    private final Exception failure;
    private final int index;
    private final int records;
    private final boolean inDoubt;

    /**
     * Says which record of how many.
     *
     * @param index of the first that failed, in the transaction
     * @param inDoubt whether it may have been the fault of what was sent along with the rows
     */
    LineStoppedException(Row row, int index, int records, Exception cause, boolean inDoubt) {
        super(
                row.describe() + ", " + (index + 1) + " of " + records + " in its transaction: " + cause.getMessage(),
                cause);
        this.row = row;
        failure = cause;
        this.index = index;
        this.records = records;
        this.inDoubt = inDoubt;
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

    /** Returns whether it may have been no row's fault. */
    boolean inDoubt() {
        return inDoubt;
    }

    Exception failure() {
        return failure;
    }
}
