package dev.bellwether.shedlock;

import dev.bellwether.Elections;
import dev.bellwether.fixtures.PostgresServer;

class PostgresShedLocksOwnTest extends ShedLocksOwnTests {
    @Override
    Elections connect() {
        return Elections.connect(PostgresServer.shared().uri());
    }
}
