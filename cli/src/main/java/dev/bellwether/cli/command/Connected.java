package dev.bellwether.cli.command;

import dev.bellwether.Elections;
import dev.bellwether.spi.Backend;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.function.Supplier;

/** A connection of one verb, and the time that it has for all that it asks. Confined to the thread of the verb. */
public final class Connected implements AutoCloseable {
    private final Backend backend;
    private final Elections elections;
    private final Duration timeout;
    private final Supplier<String> late;
    private long endNanos;

    /** Begins to count at {@code beganNanos}. */
    Connected(Backend backend, Elections elections, Duration timeout, long beganNanos, Supplier<String> late) {
        this.backend = backend;
        this.elections = elections;
        this.timeout = timeout;
        this.late = late;
        endNanos = beganNanos + timeout.toNanos();
    }

    public Elections elections() {
        return elections;
    }

    public Backend backend() {
        return backend;
    }

    /**
     * Gives it all of its time again: somebody has been asked, or something else has taken time that is not the
     * backend's.
     */
    public void again() {
        endNanos = System.nanoTime() + timeout.toNanos();
    }

    /** Gives it so much more time: what it asks next takes longer than an answer. */
    public void allow(Duration more) {
        endNanos += more.toNanos();
    }

    /** Asks, in what is left of the time. */
    public <T> T ask(Callable<T> question) throws Exception {
        return new Bounded(Duration.ofNanos(endNanos - System.nanoTime()), late).ask(question);
    }

    @Override
    public void close() {
        Bounded.farewell(elections::close);
    }
}
