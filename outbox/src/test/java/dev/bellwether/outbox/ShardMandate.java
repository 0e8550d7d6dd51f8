package dev.bellwether.outbox;

import dev.bellwether.Mandate;
import java.time.Duration;

/** A mandate for a shard that no election has, which is valid until it is told that it is over. */
final class ShardMandate implements Mandate {
    private volatile boolean over;

    /** Has the shard lead while something is done. */
    static void during(Shard shard, Runnable work) throws InterruptedException {
        var mandate = new ShardMandate();
        var thread = new Thread(() -> shard.lead(mandate));
        thread.start();
        try {
            work.run();
        } finally {
            mandate.end();
            thread.join();
        }
    }

    /** Returns one that is over. */
    static ShardMandate past() {
        var mandate = new ShardMandate();
        mandate.end();
        return mandate;
    }

    void end() {
        over = true;
    }

    @Override
    public String election() {
        return "x";
    }

    @Override
    public String candidate() {
        return "relay";
    }

    @Override
    public long token() {
        return 1;
    }

    @Override
    public boolean isValid() {
        return !over;
    }

    @Override
    public Duration remaining() {
        return over ? Duration.ZERO : Duration.ofSeconds(10);
    }

    @Override
    public void ensure(Duration atLeast) {}
}
