package dev.bellwether.testkit.faults;

import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** One that stands in an election, of whatever make: what the bench starts in a process of its own. */
public interface Contestant extends LeadershipSampler.Subject, AutoCloseable {

    /**
     * Stands no more, in order. It is looked at until this returns; if this thread is interrupted, for a lease more.
     */
    @Override
    void close();

    /** How to make one. Has a constructor without parameters, since the process knows it by name only. */
    interface Maker {
        /** Stands. Waits for a server that is away. */
        Contestant stand(Orders orders) throws Exception;
    }

    /**
     * What a contestant is told.
     *
     * @param held is to be called by its listener, as the work of the application: returns at once, or when the
     *     listener is no longer blocked
     * @param stubborn whether work ends only when its thread is interrupted; so it is when the thread that closes is
     *     interrupted
     * @param faults is to be told of what must not be
     */
    record Orders(
            String uri,
            String election,
            String candidate,
            Duration lease,
            Runnable held,
            BooleanSupplier stubborn,
            Consumer<String> faults) {}
}
