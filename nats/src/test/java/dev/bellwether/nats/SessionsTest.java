package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Link;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What the leader of many elections writes, and who succeeds it, on a real server. */
class SessionsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final String BUCKET = "sessions";
    private static final int ELECTIONS = 20;

    @Test
    void oneKeyKeepsManySeatsUntilWhoSucceedsTheirHolderHasEndedIt() throws Exception {
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port());
                var proxy = FaultProxy.to("127.0.0.1", server.port());
                var auditor = new LeadershipAuditor();
                var ours = Elections.connect("nats://127.0.0.1:" + proxy.port() + "?bucket=" + BUCKET);
                var others = Elections.connect(server.uri("bucket=" + BUCKET));
                var operator = Elections.connect(server.uri("bucket=" + BUCKET))) {
            var leaders = stand(ours, auditor);
            Eventually.eventually("all lead", PATIENCE, () -> leaders.stream().allMatch(Candidacy::isLeader));
            Eventually.eventually(
                    "all share a session",
                    PATIENCE,
                    () -> seats(admin).stream().allMatch(seat -> seat.contains("&session=")));
            var session = sessions(admin).get(0);
            var seats = revisions(admin);
            for (var renewals = 0; renewals < 3; renewals++) {
                var last = revision(admin, session);
                Eventually.eventually("it is renewed", PATIENCE, () -> revision(admin, session) > last);
            }
            assertThat(revisions(admin)).as("no seat was written").isEqualTo(seats);

            var standbys = stand(others, auditor);
            operator.election("election7").standDown();
            Eventually.eventually(
                    "the standby leads", PATIENCE, () -> standbys.get(7).isLeader());
            leaders.get(3).close();
            Eventually.eventually(
                    "the standby leads", PATIENCE, () -> standbys.get(3).isLeader());
            assertThat(leaders.get(5).isLeader()).as("a neighbour").isTrue();

            var last = leaders.get(5).mandate().orElseThrow().token();
            proxy.cut(Link.Way.BOTH);
            Eventually.eventually("all moved", PATIENCE, () -> standbys.stream().allMatch(Candidacy::isLeader));
            assertThat(standbys.get(5).mandate().orElseThrow().token()).isGreaterThan(last);
            assertThat(text(admin, session)).contains("state=vacant");
            proxy.heal();
            Eventually.eventually(
                    "what is over is removed", PATIENCE, () -> !sessions(admin).contains(session));
            assertThat(auditor.violations()).isEmpty();
        }
    }

    private static List<Candidacy> stand(Elections elections, LeadershipAuditor auditor) {
        return IntStream.range(0, ELECTIONS)
                .mapToObj(i -> {
                    var candidacy = elections.stand("election" + i, CandidacyConfig.ofLease(LEASE));
                    auditor.audit(candidacy);
                    return candidacy;
                })
                .toList();
    }

    private static List<String> sessions(Admin admin) {
        return admin.ask(connection -> connection.keyValue(BUCKET).keys("session.*"));
    }

    private static List<String> seats(Admin admin) {
        return admin.ask(connection -> connection.keyValue(BUCKET).keys("*")).stream()
                .map(key -> text(admin, key))
                .toList();
    }

    private static List<Long> revisions(Admin admin) {
        return IntStream.range(0, ELECTIONS)
                .mapToObj(i -> revision(admin, "election" + i))
                .toList();
    }

    private static String text(Admin admin, String key) {
        return admin.ask(
                connection -> new String(connection.keyValue(BUCKET).get(key).getValue(), StandardCharsets.UTF_8));
    }

    private static long revision(Admin admin, String key) {
        return admin.ask(connection -> connection.keyValue(BUCKET).get(key).getRevision());
    }
}
