package dev.bellwether.outbox;

/**
 * How many records the next transaction may have: more while a backlog fills each, and each ends soon; fewer when one
 * failed, or took long. Confined to the thread of its shard.
 */
final class TransactionSize {
    /*
     * A transaction that is too long to end before the brokers abort it would be tried at the same size forever. After
     * a failure the size is half of what failed, and from there on it grows by a tenth, or ten, at a time, no longer by
     * doubling.
     */
    private static final int FIRST = 5_000;

    private final int most;
    private final long timeoutNanos;
    private int records;
    private int doublesBelow;
    private int last;
    private int underWay;

    /**
     * Begins with a size of which the first transactions are not long in coming.
     *
     * @param timeoutNanos when brokers abort a transaction that is still open
     */
    TransactionSize(int most, long timeoutNanos) {
        this.most = most;
        this.timeoutNanos = timeoutNanos;
        records = Math.min(FIRST, most);
        doublesBelow = most;
    }

    int records() {
        return records;
    }

    void begins(int count) {
        last = count;
        underWay++;
    }

    /** One went through, and took so long. */
    void succeeded(int count, long nanos) {
        underWay = Math.max(0, underWay - 1);
        if (nanos > timeoutNanos / 4) {
            shrink(count);
        } else if (nanos < timeoutNanos / 20 && count >= records) {
            var more = records < doublesBelow
                    ? Math.min(2L * records, doublesBelow)
                    : records + Math.max(10L, records / 10);
            records = (int) Math.min(most, more);
        }
    }

    /** The session failed, with what was under way. */
    void failed() {
        if (underWay > 0) {
            shrink(last);
        }
        forget();
    }

    /** What was under way is so no more, and not because of its size. */
    void forget() {
        underWay = 0;
    }

    private void shrink(int count) {
        records = Math.max(1, Math.min(records, count) / 2);
        doublesBelow = records;
    }
}
