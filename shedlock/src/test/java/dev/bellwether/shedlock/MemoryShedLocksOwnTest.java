package dev.bellwether.shedlock;

import dev.bellwether.Elections;
import java.util.UUID;

class MemoryShedLocksOwnTest extends ShedLocksOwnTests {
    @Override
    Elections connect() {
        return Elections.connect("memory:" + UUID.randomUUID());
    }
}
