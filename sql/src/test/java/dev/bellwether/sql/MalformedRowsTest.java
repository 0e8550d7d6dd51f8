package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.View;
import dev.bellwether.testkit.Eventually;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Rows that are not as we write them, drawn from a seed ({@code -Dbellwether.seed}, 1 by default), each beside healthy
 * neighbours in one batch.
 */
class MalformedRowsTest {
    private static final Duration LEASE = Duration.ofMinutes(10);
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int NEIGHBOURS = 12;
    private static final int ROUNDS = 25;

    private static final List<String> CHANGES = List.of(
            "metadata = '%ZZ'",
            "metadata = 'noequals'",
            "metadata = 'a=1&&b'",
            "metadata = NULL",
            "candidate = NULL",
            "candidate = ''",
            "nonce = ''",
            "nonce = NULL",
            "expires_at = 9223372036854775807",
            "expires_at = -9223372036854775808",
            "expires_at = -1",
            "term = 9223372036854775807",
            "term = -9223372036854775808",
            "term = -1",
            "since_at = 9223372036854775807",
            "since_at = -9223372036854775808",
            "token = 9223372036854775807",
            "token = -5",
            "era = 9223372036854775807",
            "era = -1",
            "priority = 2147483647",
            "stand_down = 17, ended = 0",
            "listed = -1");

    @TempDir
    private static Path folder;

    private final String prefix = "rows-" + UUID.randomUUID() + "-";

    static Stream<String> databases() {
        return Stream.of(
                PostgresServer.shared().uri(),
                PostgresServer.shared().uri() + "&bellwether.listen=false",
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri(),
                MysqlFamilyServer.shared(Kind.MYSQL).uri(),
                "jdbc:h2:mem:rows;DB_CLOSE_DELAY=-1",
                "jdbc:sqlite:" + folder.resolve("rows.db"));
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aMalformedRowHurtsNobodyElse(String uri) throws Exception {
        var seed = Long.getLong("bellwether.seed", 1);
        System.out.println("malformed rows, seed " + seed);
        var random = new Random(seed);
        try (var store = (LeaseStore) ConnectUri.parse(uri).connect();
                var others = (LeaseStore) ConnectUri.parse(uri).connect()) {
            for (var round = 0; round < ROUNDS; round++) {
                round(uri, store, others, round, random);
            }
        }
    }

    /** Who stands at one store is asked to lead; who looks on does so at that one and at another. */
    private void round(String uri, LeaseStore store, LeaseStore others, int round, Random random) throws SQLException {
        var claims = IntStream.range(0, NEIGHBOURS)
                .mapToObj(i -> claim(prefix + round + "-" + i, "c"))
                .toList();
        claims.stream()
                .map(store::acquire)
                .toList()
                .forEach(answer -> assertThat(granted(answer)).isTrue());
        var told = new LinkedBlockingQueue<View>();
        var toldElsewhere = new LinkedBlockingQueue<View>();
        var watches = claims.stream()
                .flatMap(claim -> Stream.of(
                        store.watch(claim.election(), told::add), others.watch(claim.election(), toldElsewhere::add)))
                .toList();
        var sick = random.nextInt(NEIGHBOURS);
        var change = CHANGES.get(random.nextInt(CHANGES.size()));
        corrupt(uri, claims.get(sick).election(), change);
        var what = "round " + round + ", beside " + change;

        var renewed = store.renew(
                claims.stream().map(claim -> new Lease(claim, 1, LEASE)).toList());
        forHealthy(
                sick,
                i -> assertThat(granted(renewed.get(i))).as(what + ": renewed").isTrue());
        var refused = claims.stream()
                .map(claim -> store.acquire(claim(claim.election(), "d")))
                .toList();
        forHealthy(
                sick,
                i -> assertThat(answer(refused.get(i))
                                .view()
                                .heldUnder(claims.get(i).nonce()))
                        .as(what + ": refused")
                        .isTrue());
        forHealthy(
                sick,
                i -> assertThat(join(store.read(claims.get(i).election())).token())
                        .as(what + ": read")
                        .isEqualTo(1));
        var released = claims.stream().map(store::release).toList();
        forHealthy(
                sick,
                i -> assertThat(granted(released.get(i)))
                        .as(what + ": released")
                        .isTrue());
        var again = claims.stream().map(claim -> claim(claim.election(), "e")).toList();
        var taken = again.stream().map(store::acquire).toList();
        forHealthy(sick, i -> {
            var answer = answer(taken.get(i)); // refused and held under its nonce: it was sent twice
            assertThat(answer.granted() || answer.view().heldUnder(again.get(i).nonce()))
                    .as(what + ": granted again")
                    .isTrue();
            for (var heard : List.of(told, toldElsewhere)) {
                Eventually.eventually(
                        what + ": who watches is told",
                        PATIENCE,
                        () -> heard.stream()
                                .anyMatch(view -> view.heldUnder(again.get(i).nonce())));
            }
        });
        assertThat(join(store.list())).hasSizeGreaterThanOrEqualTo(NEIGHBOURS - 1);
        watches.forEach(watch -> watch.close());
    }

    private static void forHealthy(int sick, java.util.function.IntConsumer what) {
        IntStream.range(0, NEIGHBOURS).filter(i -> i != sick).forEach(what);
    }

    private static void corrupt(String uri, String election, String change) throws SQLException {
        try (var connection = DriverManager.getConnection(uri);
                var statement = connection.prepareStatement(
                        "UPDATE bellwether_election SET " + change + " WHERE election = ?")) {
            statement.setString(1, election);
            assertThat(statement.executeUpdate()).isEqualTo(1);
        }
    }

    private static Claim claim(String election, String candidate) {
        return new Claim(election, candidate, UUID.randomUUID().toString(), LEASE, LEASE, 0, Map.of("k", "v"));
    }

    private static Answer answer(CompletionStage<Answer> stage) {
        return join(stage);
    }

    private static boolean granted(CompletionStage<Answer> stage) {
        return answer(stage).granted();
    }

    private static <T> T join(CompletionStage<T> stage) {
        return ((CompletableFuture<T>) stage)
                .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .join();
    }

    /**
     * Each of the changes above, for itself: the seat is granted to somebody in the end, or a person is told what to
     * mend.
     */
    @ParameterizedTest
    @MethodSource("databases")
    void aMalformedRowIsServedOrNamed(String uri) throws Exception {
        try (var store = (LeaseStore) ConnectUri.parse(uri).connect()) {
            var outcomes = new ArrayList<String>();
            for (var i = 0; i < CHANGES.size(); i++) {
                var claim = claim(prefix + "alone-" + i, "c");
                assertThat(granted(store.acquire(claim))).isTrue();
                corrupt(uri, claim.election(), CHANGES.get(i));
                var view = join(store.read(claim.election()));
                assertThat(view.remaining()).as(CHANGES.get(i)).isBetween(Duration.ZERO, Duration.ofDays(36_600));
                var outcome = join(store.acquire(claim(claim.election(), "d"))
                        .handle((answer, error) -> error == null
                                ? (answer.granted()
                                        ? "granted"
                                        : "refused, " + answer.view().remaining())
                                : String.valueOf(error.getMessage())));
                outcomes.add(CHANGES.get(i) + " -> " + outcome);
                if (!outcome.startsWith("granted") && !outcome.startsWith("refused")) {
                    assertThat(outcome).contains(claim.election());
                }
            }
            outcomes.forEach(System.out::println);
        }
    }
}
