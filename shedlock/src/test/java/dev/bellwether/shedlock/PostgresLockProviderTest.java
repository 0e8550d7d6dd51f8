package dev.bellwether.shedlock;

import dev.bellwether.Elections;
import dev.bellwether.fixtures.PostgresServer;

class PostgresLockProviderTest extends LockProviderFacts {
    @Override
    Elections connect() {
        return Elections.connect(PostgresServer.shared().uri());
    }

    @Override
    int rounds() {
        return 25;
    }
}
