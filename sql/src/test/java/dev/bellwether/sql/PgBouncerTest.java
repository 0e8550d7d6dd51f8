package dev.bellwether.sql;

import static dev.bellwether.fixtures.Doctor.only;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Phase;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.fixtures.PgBouncer;
import dev.bellwether.fixtures.PgBouncer.Mode;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A line each of what docs/sql.md says of PgBouncer. */
@Timeout(180)
class PgBouncerTest {
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String NO_POLL = "&bellwether.poll=PT5M";

    private final PostgresServer server = PostgresServer.shared();
    private final String election = "bouncer-" + UUID.randomUUID();

    @Test
    void inSessionModeStandbysAreToldByListen() throws Exception {
        try (var bouncer = PgBouncer.before(server, Mode.SESSION);
                var elections = Elections.connect(bouncer.uri() + NO_POLL);
                var others = Elections.connect(bouncer.uri() + NO_POLL);
                var leader = elections.stand(election, config())) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            try (var standby = others.stand(election, config())) {
                follows(standby);
                leader.resign();
                // the lease was given back; to find that out by looking takes five minutes, or its end
                assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
            }
            var found = only(find(bouncer.uri()), "pooler");
            assertThat(found.level()).isEqualTo(Finding.Level.OK);
            assertThat(only(find(bouncer.uri()), "news").says()).contains("LISTEN");
        }
    }

    /**
     * Without prepared statements in the pooler, which was so before 1.21: who used them would find those of others in
     * the sessions that it shares.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 200})
    void inTransactionModeElectionsGoOnThoughOthersUseTheSessions(int prepared) throws Exception {
        try (var bouncer = PgBouncer.before(
                        server,
                        Mode.TRANSACTION,
                        "default_pool_size = 3",
                        "server_round_robin = 1",
                        "max_prepared_statements = " + prepared);
                var auditor = new LeadershipAuditor()) {
            var open = new ArrayList<Elections>();
            try {
                var candidates = new ArrayList<Candidacy>();
                for (var i = 0; i < 4; i++) {
                    var elections = Elections.connect(bouncer.uri());
                    open.add(elections);
                    for (var j = 0; j < 3; j++) {
                        var candidacy = elections.stand(election + j, config());
                        auditor.audit(candidacy);
                        candidates.add(candidacy);
                    }
                }
                var tokens = 0L;
                for (var round = 0; round < 3; round++) {
                    var leader = leader(candidates, 0);
                    var token = leader.mandate().orElseThrow().token();
                    assertThat(token).as("NEVER: a token that does not rise").isGreaterThan(tokens);
                    tokens = token;
                    Eventually.throughout(
                            "it goes on leading",
                            LEASE,
                            () -> leader.isLeader() && leader.failure().isEmpty());
                    var operator = open.get(round % open.size()).election(election + 0);
                    Eventually.eventually("the order is answered", PATIENCE, operator::standDown);
                    Eventually.eventually("it stands down", PATIENCE, () -> !leader.isLeader());
                }
                open.get(0).election(election + 0).end();
                Eventually.eventually(
                        "all hear that it is over",
                        PATIENCE,
                        () -> candidates.stream()
                                        .filter(candidacy -> candidacy.status().phase() == Phase.CLOSED)
                                        .count()
                                == 4);
            } finally {
                open.forEach(Elections::close);
            }
        }
    }

    @Test
    void inTransactionModeTheDoctorSaysThatStandbysPoll() {
        try (var bouncer = PgBouncer.before(server, Mode.TRANSACTION)) {
            var found = only(find(bouncer.uri()), "pooler");
            assertThat(found.level()).isEqualTo(Finding.Level.WARNING);
            assertThat(found.says()).contains("pool_mode = transaction", "LISTEN");
            assertThat(found.remedy()).contains("bellwether.listen=false");
            assertThat(only(find(bouncer.uri()), "news").says()).contains("poll, every 500 ms");
            var known = only(find(bouncer.uri() + "&bellwether.listen=false"), "pooler");
            assertThat(known.level()).isEqualTo(Finding.Level.OK);
        }
    }

    @Test
    void inTransactionModeNoSessionOfOthersIsLeftListening() throws Exception {
        try (var bouncer = PgBouncer.before(server, Mode.TRANSACTION, "default_pool_size = 4");
                var elections = Elections.connect(bouncer.uri());
                var leader = elections.stand(election, config())) {
            assertThat(leader.await(PATIENCE)).isPresent();
            Eventually.throughout("it has had the time to listen", LEASE, leader::isLeader);
            var all = new ArrayList<Connection>();
            try {
                for (var i = 0; i < 3; i++) { // which leaves one for the leader
                    var one = DriverManager.getConnection(bouncer.uri());
                    all.add(one);
                    one.setAutoCommit(false);
                    try (var statement = one.createStatement();
                            var channels = statement.executeQuery("SELECT pg_listening_channels()")) {
                        assertThat(channels.next()).as("a session that listens").isFalse();
                    }
                }
            } finally {
                for (var one : all) {
                    one.close();
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Mode.class,
            names = {"SESSION", "TRANSACTION"})
    void theGuardHoldsInTheTransactionOfItsUser(Mode mode) throws Exception {
        try (var bouncer = PgBouncer.before(server, mode);
                var elections = Elections.connect(bouncer.uri());
                var others = Elections.connect(server.uri());
                var leader = elections.stand(election, config());
                var connection = DriverManager.getConnection(bouncer.uri())) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            connection.setAutoCommit(false);
            SqlGuard.defaults().check(connection, mandate);
            leader.resign();
            try (var standby = others.stand(election, config())) {
                Eventually.throughout("nobody is granted the seat", LEASE, () -> !standby.isLeader());
                connection.commit();
                assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
            }
        }
    }

    @Test
    void statementModeIsRefusedByName() {
        try (var bouncer = PgBouncer.before(server, Mode.STATEMENT)) {
            assertThatThrownBy(() -> Elections.connect(bouncer.uri()))
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("statement mode")
                    .hasMessageContaining("pool_mode = transaction");
        }
    }

    @Test
    void withoutAPoolerTheDoctorSaysNothingOfOne() {
        assertThat(find(server.uri())).noneMatch(finding -> finding.about().equals("pooler"));
    }

    private Candidacy leader(List<Candidacy> candidates, int number) {
        return Eventually.eventually(
                "somebody leads",
                PATIENCE,
                () -> candidates.stream()
                        .filter(candidacy -> candidacy.election().equals(election + number) && candidacy.isLeader())
                        .findFirst());
    }

    private static void follows(Candidacy standby) {
        Eventually.eventually(
                "it follows", PATIENCE, () -> standby.status().following().isPresent());
    }

    private static CandidacyConfig config() {
        return CandidacyConfig.ofLease(LEASE);
    }

    private static List<Finding> find(String uri) {
        return Doctor.find(uri, config());
    }
}
