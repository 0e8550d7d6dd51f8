package dev.bellwether.zookeeper;

import java.time.Duration;

/** The one session of a client that somebody lent us, for leases of every length that it can hold. Thread-safe. */
final class LentSession implements Sessions {
    private final SeatSession session;

    LentSession(SeatSession session) {
        this.session = session;
    }

    @Override
    public SeatSession main() {
        return session;
    }

    @Override
    public SeatSession take(Duration lease) {
        return session;
    }

    @Override
    public void giveBack(Duration lease) {
        // it is not ours to close
    }

    @Override
    public void close() {
        session.close();
    }
}
