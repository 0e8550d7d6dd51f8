package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Processes that are the first at a database, all at once. */
class FirstConnectTest {
    private static final int PROCESSES = 6;
    private static final int ROUNDS = 20;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    static Stream<Named<String>> databases() {
        return Stream.of(
                Named.of("PostgreSQL", PostgresServer.shared().uri()),
                Named.of("MariaDB", MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri()),
                Named.of("MySQL", MysqlFamilyServer.shared(Kind.MYSQL).uri()));
    }

    @ParameterizedTest
    @MethodSource("databases")
    void allOfThemConnectThoughOneAloneCanCreateTheTables(String uri) {
        for (var round = 0; round < ROUNDS; round++) {
            var table = uri + "&bellwether.table=first_" + round;
            var together = new CyclicBarrier(PROCESSES);
            var connected = IntStream.range(0, PROCESSES)
                    .mapToObj(i -> CompletableFuture.supplyAsync(
                            () -> connect(table, together), work -> new Thread(work).start()))
                    .toList();
            connected.forEach(elections -> elections.join().close());
        }
    }

    private static Elections connect(String uri, CyclicBarrier together) {
        try {
            together.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return Eventually.eventually("it connects", PATIENCE, () -> connect(uri));
    }

    /** Returns empty if the database has taken too long, as on a busy machine: a process connects again then. */
    private static Optional<Elections> connect(String uri) {
        try {
            var elections = Elections.connect(uri);
            try {
                assertThat(elections.list()).isEmpty();
                return Optional.of(elections);
            } catch (UnavailableException e) {
                elections.close();
                throw e;
            }
        } catch (UnavailableException e) {
            assertThat(e).hasMessageContaining("timeout");
            return Optional.empty();
        }
    }
}
