package dev.bellwether.testkit.sim;

import dev.bellwether.spi.Clock;

/**
 * The two clocks of one machine, each with its own rate and offset against true time. The monotonic one stops while the
 * machine is suspended; the wall clock can be set.
 */
final class SimClock implements Clock {
    private final Agenda agenda;
    private final double rate;
    private final double wallRate;
    private long trueBase;
    private long nanosBase;
    private long wallBase;
    private boolean stopped;

    SimClock(Agenda agenda, double rate, long nanos, double wallRate, long wallNanos) {
        this.agenda = agenda;
        this.rate = rate;
        this.wallRate = wallRate;
        trueBase = agenda.now();
        nanosBase = nanos;
        wallBase = wallNanos - (long) (agenda.now() * wallRate);
    }

    @Override
    public long nanos() {
        return stopped ? nanosBase : nanosBase + (long) ((agenda.now() - trueBase) * rate);
    }

    @Override
    public long wallMillis() {
        return Math.floorDiv(wallBase + (long) (agenda.now() * wallRate), 1_000_000L);
    }

    void stop() {
        if (!stopped) {
            nanosBase = nanos();
            stopped = true;
        }
    }

    void start() {
        if (stopped) {
            stopped = false;
            trueBase = agenda.now();
        }
    }

    boolean isStopped() {
        return stopped;
    }

    /** Sets the wall clock forward, or back. */
    void jump(long nanos) {
        wallBase += nanos;
    }

    /** Sets both clocks back: anybody who reads a server's clock does not know which it is. */
    void setBack(long nanos) {
        nanosBase -= nanos;
        wallBase -= nanos;
    }

    /** Returns how much true time passes, at least, until this clock has advanced by so much. */
    long trueNanos(long nanos) {
        return (long) Math.ceil(nanos / rate);
    }
}
