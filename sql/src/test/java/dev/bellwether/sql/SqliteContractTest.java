package dev.bellwether.sql;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.io.TempDir;

/** The contract on files of SQLite: one writes to a file at a time, so each fact has its own and waits for no other. */
class SqliteContractTest extends ElectionsContract {
    private static final AtomicInteger SERIAL = new AtomicInteger();

    @TempDir
    private static Path folder;

    @Override
    protected Infrastructure infrastructure() {
        return new SqlInfrastructure(
                "SQLite", "jdbc:sqlite:" + folder.resolve("elections-" + SERIAL.incrementAndGet() + ".db")) {
            @Override
            public Map<Capability, String> lacks() {
                return Map.of(
                        Capability.RESTART, "it has no server",
                        Capability.PAUSE, "it has no server");
            }
        };
    }
}
