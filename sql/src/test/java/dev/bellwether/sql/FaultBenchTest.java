package dev.bellwether.sql;

import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PgBouncer.Mode;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes each in
 * the soak profile.
 */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofSeconds(1);

    @Test
    void noFaultMakesTwoLeadersOnPostgres(@TempDir Path folder) {
        var libfaketime = Scripts.where("libfaketime");
        try (var ground = DatabaseGround.postgres(3, folder, libfaketime)) {
            FaultBench.run(ground, Setting.of("postgres", LEASE).withSteps(libfaketime));
        }
    }

    /** Over a pool of the application's, so that nothing that we set for connections of our own helps. */
    @Test
    void noFaultMakesTwoLeadersOnMariaDb(@TempDir Path folder) {
        var libfaketime = Scripts.where("libfaketime");
        try (var ground = DatabaseGround.mysqlFamily(Kind.MARIADB_PLAIN, 3, folder, libfaketime)) {
            FaultBench.run(
                    ground, Setting.of("mariadb", LEASE).with(Pooled.class).withSteps(libfaketime));
        }
    }

    @Test
    @Tag("full")
    void noFaultMakesTwoLeadersOnMySql(@TempDir Path folder) {
        var libfaketime = Scripts.where("libfaketime");
        try (var ground = DatabaseGround.mysqlFamily(Kind.MYSQL, 3, folder, libfaketime)) {
            FaultBench.run(ground, Setting.of("mysql", LEASE).withSteps(libfaketime));
        }
    }

    @Test
    @Tag("cluster")
    void noFaultMakesTwoLeadersBehindPgBouncer() {
        try (var ground = DatabaseGround.pgBouncer(3, Mode.TRANSACTION)) {
            FaultBench.run(ground, Setting.of("pgbouncer", LEASE));
        }
    }

    @Test
    @Tag("full")
    void noFaultMakesTwoLeadersOnH2(@TempDir Path folder) {
        try (var ground = DatabaseGround.h2(3, folder)) {
            FaultBench.run(ground, Setting.of("h2", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }

    @Test
    @Tag("full")
    void noFaultMakesTwoLeadersOnSqlite(@TempDir Path folder) {
        FaultBench.run(new SqliteGround(folder.resolve("bench.db")), Setting.of("sqlite", LEASE));
    }
}
