package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Waits;
import dev.bellwether.testkit.nats.NatsServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Thousands of elections in one process. */
class ManyElectionsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final Duration LEASE = Duration.ofSeconds(60);
    private static final String BUCKET = "many";

    @Test
    void thousandsOfElectionsAreLedOverOneConsumerAndADepartureAmongThemIsNoticedAtOnce() {
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port());
                var ours = Elections.connect(server.uri("bucket=" + BUCKET));
                var others = Elections.connect(server.uri("bucket=" + BUCKET))) {
            var leaders = stand(ours, 3_000);
            Eventually.eventually("all lead", PATIENCE, () -> leaders.stream().allMatch(Candidacy::isLeader));
            var standbys = stand(others, 300);
            Eventually.eventually(
                    "all follow",
                    PATIENCE,
                    () -> standbys.stream()
                            .allMatch(standby -> standby.status().following().isPresent()));
            Eventually.eventually("one consumer each, or two", PATIENCE, () -> consumers(admin) <= 3);
            leaders.get(7).close();
            leaders.get(250).close();
            Eventually.eventually(
                    "long before the lease is over",
                    LEASE.dividedBy(2),
                    () -> standbys.get(7).isLeader() && standbys.get(250).isLeader());
            standbys.subList(10, standbys.size()).forEach(Candidacy::resign);
            Eventually.eventually(
                    "those who are few have one each again, and one for the session of the others",
                    PATIENCE,
                    () -> consumers(admin) == 1 + 10 + 1);
            leaders.get(3).close();
            Eventually.eventually(
                    "long before the lease is over",
                    LEASE.dividedBy(2),
                    () -> standbys.get(3).isLeader());
        }
    }

    @Test
    void whoAsksIsNotHeldUpByAServerThatReadsNothing() {
        try (var server = NatsServers.alone()) {
            try (var store = store(server)) {
                server.pause();
                try {
                    var before = Waits.millis();
                    for (var i = 0; i < 20_000; i++) {
                        var unused = store.acquire(claim("e" + i, "c", 0));
                    }
                    assertThat(Waits.millis() - before)
                            .as("milliseconds in which the thread that asks has waited for others")
                            .isLessThan(1_000);
                } finally {
                    server.resume();
                }
            }
        }
    }

    @Test
    void ofManyElectionsTooTheHighestPriorityThatStandsIsKnown() {
        try (var server = NatsServers.alone();
                var low = store(server);
                var high = store(server)) {
            var claims = IntStream.range(0, 100)
                    .mapToObj(i -> claim("e" + i, "low", 1))
                    .toList();
            var held = claims.stream()
                    .map(claim -> low.acquire(claim).toCompletableFuture().join())
                    .toList();
            assertThat(held).allMatch(Answer::granted);
            for (var i = 0; i < 100; i++) {
                var unused = high.acquire(claim("e" + i, "high", i % 2 == 0 ? 2 : 3));
            }
            Eventually.eventually(
                    "all are known",
                    PATIENCE,
                    () -> IntStream.range(0, 100).allMatch(i -> {
                        var answer =
                                low.acquire(claims.get(i)).toCompletableFuture().join();
                        return answer.view().topPriority() == (i % 2 == 0 ? 2 : 3);
                    }));
        }
    }

    private static LeaseStore store(NatsServer server) {
        var config = NatsConfig.builder()
                .bucket(BUCKET)
                .presence(Duration.ofSeconds(8))
                .build();
        return LeaseStore.over(NatsRecordStore.open(
                BucketClient.owning(Admin.of(server.port()).connection(), "nats://test", config), config));
    }

    private static Claim claim(String election, String candidate, int priority) {
        return new Claim(election, candidate, candidate + "-1", LEASE, LEASE, priority, Map.of());
    }

    private static List<Candidacy> stand(Elections elections, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> elections.stand("election" + i, CandidacyConfig.ofLease(LEASE)))
                .toList();
    }

    private static long consumers(Admin admin) {
        return admin.ask(connection -> connection
                .jetStreamManagement()
                .getStreamInfo("KV_" + BUCKET)
                .getStreamState()
                .getConsumerCount());
    }
}
