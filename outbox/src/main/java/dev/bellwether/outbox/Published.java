package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.zip.CRC32;

/**
 * What a transaction says of itself: which rows it publishes. Written into the {@link ProgressTopic} by the transaction
 * itself, so that it is there if and only if the records are.
 *
 * @param number of the transaction, counted from 1 over all leaders of the shard
 * @param base the number of the transaction behind which all that was in the table was published again, for the last
 *     time before this one
 * @param epoch of the leader, in the database
 * @param ids of its rows, in their order
 * @param hashes of their event ids: a row with the same id and another event is another message
 */
@SuppressWarnings("ArrayRecordComponent") // nobody compares them or writes into them
record Published(long number, long base, long epoch, long[] ids, int[] hashes) {
    private static final byte VERSION = 1;
    /** No number takes more bytes than this. */
    private static final int LONGEST = 10;
    /** A row takes no more bytes than this: how far it is from the one before, how many follow it, and its hash. */
    static final int BYTES_PER_ROW = 2 * LONGEST + Integer.BYTES;

    static Published of(long number, long base, long epoch, List<Row> rows) {
        var sorted = rows.toArray(new Row[0]);
        if (!isSorted(sorted)) {
            Arrays.sort(sorted, Comparator.comparingLong(Row::id));
        }
        var ids = new long[sorted.length];
        var hashes = new int[sorted.length];
        var crc = new CRC32();
        for (var i = 0; i < sorted.length; i++) {
            ids[i] = sorted[i].id();
            hashes[i] = hash(crc, sorted[i].eventId());
        }
        return new Published(number, base, epoch, ids, hashes);
    }

    private static boolean isSorted(Row[] rows) {
        for (var i = 1; i < rows.length; i++) {
            if (rows[i].id() < rows[i - 1].id()) {
                return false;
            }
        }
        return true;
    }

    static int hash(String eventId) {
        return hash(new CRC32(), eventId);
    }

    private static int hash(CRC32 crc, String eventId) {
        crc.reset();
        crc.update(eventId.getBytes(UTF_8));
        return (int) crc.getValue();
    }

    /**
     * Ids mostly follow each other, so they are written as runs: how far the first is from the one before, how many.
     */
    byte[] write() {
        var out = ByteBuffer.allocate(1 + 4 * LONGEST + ids.length * BYTES_PER_ROW);
        out.put(VERSION);
        put(out, number);
        put(out, base);
        put(out, epoch);
        put(out, ids.length);
        var before = 0L;
        for (var i = 0; i < ids.length; ) {
            var run = 1;
            while (i + run < ids.length && ids[i + run] == ids[i] + run) {
                run++;
            }
            put(out, ids[i] - before);
            put(out, run);
            i += run;
            before = ids[i - 1];
        }
        for (var hash : hashes) {
            out.putInt(hash);
        }
        var bytes = new byte[out.flip().remaining()];
        out.get(bytes);
        return bytes;
    }

    /**
     * Reads what {@link #write} has written.
     *
     * @throws UnreadableException if it is something else
     */
    static Published read(byte[] bytes) {
        var in = ByteBuffer.wrap(bytes);
        try {
            var version = in.get();
            if (version != VERSION) {
                throw new UnreadableException("version " + version + " of a relay's progress, where " + VERSION
                        + " is known: start relays of the newer version");
            }
            var number = get(in);
            var base = get(in);
            var epoch = get(in);
            var count = get(in);
            if (count < 0 || count > bytes.length / Integer.BYTES) {
                throw new UnreadableException(
                        "a relay's progress with " + count + " rows in " + bytes.length + " bytes");
            }
            var ids = new long[(int) count];
            var last = 0L;
            for (var i = 0; i < ids.length; ) {
                last += get(in);
                var run = get(in);
                if (run < 1 || run > ids.length - i) {
                    throw new UnreadableException("a relay's progress with a run of " + run + " rows");
                }
                for (var of = 0; of < run; of++) {
                    ids[i++] = last + of;
                }
                last = ids[i - 1];
            }
            var hashes = new int[ids.length];
            for (var i = 0; i < hashes.length; i++) {
                hashes[i] = in.getInt();
            }
            return new Published(number, base, epoch, ids, hashes);
        } catch (BufferUnderflowException e) {
            throw new UnreadableException("a relay's progress that ends after " + bytes.length + " bytes");
        }
    }

    private static void put(ByteBuffer out, long number) {
        var left = number;
        while ((left & ~0x7FL) != 0) {
            out.put((byte) (left | 0x80));
            left >>>= 7;
        }
        out.put((byte) left);
    }

    private static long get(ByteBuffer in) {
        var number = 0L;
        for (var shift = 0; shift < 64; shift += 7) {
            var next = in.get();
            number |= (long) (next & 0x7F) << shift;
            if (next >= 0) {
                return number;
            }
        }
        throw new UnreadableException("a relay's progress with a number that does not end");
    }

    /** What was read is of a newer version, or no progress at all. */
    static final class UnreadableException extends IllegalArgumentException {
        private static final long serialVersionUID = 1;

        private UnreadableException(String message) {
            super(message);
        }
    }
}
