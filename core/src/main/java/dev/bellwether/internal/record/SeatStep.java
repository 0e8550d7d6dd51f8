package dev.bellwether.internal.record;

import org.jspecify.annotations.Nullable;

/**
 * What a {@link SeatRequest} wants next. Immutable.
 *
 * @param confirming of a reading, whether it is to find out what an earlier one means that contradicts what was known
 * @param expected of a writing, the revision at which the record must still be; 0 for none
 * @param next of a writing, what to write
 * @param session of a look at a session, which one
 * @param ending of a look at a session, whether to end it if it was seen for its lease
 * @param value of the end, the answer
 * @param error of the end, why there is none
 */
record SeatStep<T>(
        Kind kind,
        boolean confirming,
        long expected,
        SeatRecord next,
        String session,
        boolean ending,
        @Nullable T value,
        @Nullable RuntimeException error) {

    /** What kind of step. */
    enum Kind {
        /** Read the record, from the leader of the data. */
        READ,
        /** Write a record, if the key is at this revision. */
        WRITE,
        /** Look at a session, and tell when that is done. */
        SETTLE,
        /** This is the answer. */
        DONE,
        /** There is no answer. */
        FAILED
    }

    static <T> SeatStep<T> read(boolean confirming) {
        return new SeatStep<>(Kind.READ, confirming, 0, SeatRecord.ABSENT, "", false, null, null);
    }

    static <T> SeatStep<T> write(long expected, SeatRecord next) {
        return new SeatStep<>(Kind.WRITE, false, expected, next, "", false, null, null);
    }

    static <T> SeatStep<T> settle(String session, boolean ending) {
        return new SeatStep<>(Kind.SETTLE, false, 0, SeatRecord.ABSENT, session, ending, null, null);
    }

    static <T> SeatStep<T> done(T value) {
        return new SeatStep<>(Kind.DONE, false, 0, SeatRecord.ABSENT, "", false, value, null);
    }

    static <T> SeatStep<T> failed(RuntimeException error) {
        return new SeatStep<>(Kind.FAILED, false, 0, SeatRecord.ABSENT, "", false, null, error);
    }
}
