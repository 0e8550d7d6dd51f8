package dev.bellwether.shedlock;

import dev.bellwether.Elections;
import java.util.UUID;

class MemoryLockProviderTest extends LockProviderFacts {
    private final String uri = "memory:" + UUID.randomUUID();

    @Override
    Elections connect() {
        return Elections.connect(uri);
    }

    @Override
    int rounds() {
        return 100;
    }
}
