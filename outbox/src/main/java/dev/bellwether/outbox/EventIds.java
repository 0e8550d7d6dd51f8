package dev.bellwether.outbox;

import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/** Event ids that rise with time (UUID version 7), so that an index over them stays compact. Thread-safe. */
final class EventIds {
    private EventIds() {}

    static UUID next() {
        var random = ThreadLocalRandom.current();
        var high = System.currentTimeMillis() << 16 | 0x7000 | random.nextInt(0x1000);
        var low = 0x8000000000000000L | random.nextLong() >>> 2;
        return new UUID(high, low);
    }
}
