package dev.bellwether.spi;

/** A turn that sets itself again before it runs. Confined to its loop. */
final class Repeating implements Loop.Timer, Runnable {
    private final Loop loop;
    private final long nanos;
    private final Runnable turn;
    private Loop.Timer next;

    Repeating(Loop loop, long nanos, Runnable turn) {
        this.loop = loop;
        this.nanos = nanos;
        this.turn = turn;
        next = loop.at(loop.clock().nanos() + nanos, this);
    }

    @Override
    public void run() {
        next = loop.at(loop.clock().nanos() + nanos, this); // first: whatever the turn throws, it comes again
        turn.run();
    }

    @Override
    public void cancel() {
        next.cancel();
    }
}
