package dev.bellwether.spi;

/** A reading of both clocks of a process. */
public record Moment(long nanos, long wallMillis) {

    /** Returns the nanoseconds on the monotonic clock from then until this; negative if then is later. */
    public long nanosSince(Moment then) {
        return nanos - then.nanos;
    }
}
