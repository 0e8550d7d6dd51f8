package dev.bellwether.sql;

import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import dev.bellwether.testkit.servers.Scripts;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes each in the soak profile. */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofSeconds(1);

    @Test
    void noFaultMakesTwoLeadersOnPostgres() {
        try (var ground = new PostgresGround(3)) {
            FaultBench.run(ground, Setting.of("postgres", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }

    @Test
    void noFaultMakesTwoLeadersOnSqlite(@TempDir Path folder) {
        FaultBench.run(new SqliteGround(folder.resolve("bench.db")), Setting.of("sqlite", LEASE));
    }
}
