package dev.bellwether.outbox;

/** What was read and is not yet deleted, and the bound on it. Thread-safe. */
final class InFlight {
    private final int maxRecords;
    private final long maxBytes;

    private int records;

    private long bytes;

    InFlight(int maxRecords, long maxBytes) {
        this.maxRecords = maxRecords;
        this.maxBytes = maxBytes;
    }

    synchronized int records() {
        return records;
    }

    synchronized long bytes() {
        return bytes;
    }

    /** Returns how many more records may be read now. */
    synchronized int room() {
        return bytes >= maxBytes ? 0 : maxRecords - records;
    }

    /** Returns how many more bytes may be read now; one record may always exceed them. */
    synchronized long byteRoom() {
        return records == 0 ? maxBytes : maxBytes - bytes;
    }

    synchronized void add(int moreRecords, long moreBytes) {
        records += moreRecords;
        bytes += moreBytes;
    }

    synchronized void remove(int fewerRecords, long fewerBytes) {
        records -= fewerRecords;
        bytes -= fewerBytes;
    }
}
