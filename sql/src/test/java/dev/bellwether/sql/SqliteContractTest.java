package dev.bellwether.sql;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The contract on a file of SQLite, which one writes at a time: facts side by side would wait for each other's locks. */
@Execution(ExecutionMode.SAME_THREAD)
class SqliteContractTest extends ElectionsContract {
    @TempDir
    private static Path folder;

    @Override
    protected Infrastructure infrastructure() {
        return new SqlInfrastructure("SQLite", "jdbc:sqlite:" + folder.resolve("elections.db")) {
            @Override
            public Map<Capability, String> lacks() {
                return Map.of(
                        Capability.RESTART, "it has no server",
                        Capability.PAUSE, "it has no server");
            }
        };
    }
}
