package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.Durations;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import dev.bellwether.testkit.nats.NatsServer;
import io.nats.client.JetStreamApiException;
import io.nats.client.KeyValue;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Beside candidates that keep Choria's rules. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for an election of its own
class ChoriaTest {
    private static final Duration TTL = Duration.ofSeconds(4);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(2));
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String QUERY = "choria=true&bucket=choria&ttl=PT4S";
    private static final int MOST_TURNS = 7;
    private static final AtomicLong SERIAL = new AtomicLong();

    @SuppressWarnings("NullAway.Init")
    private static NatsServer server;

    private final String election = "provisioner-" + SERIAL.incrementAndGet();

    @SuppressWarnings("NullAway.Init")
    private Elections elections;

    @SuppressWarnings("NullAway.Init")
    private Admin admin;

    @SuppressWarnings("NullAway.Init")
    private KeyValue bucket;

    @BeforeAll
    static void startServer() {
        server = NatsServers.alone();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void connect() throws Exception {
        elections = Elections.connect(server.uri(QUERY));
        admin = Admin.of(server.port());
        bucket = admin.ask(connection -> connection.keyValue("choria"));
    }

    @AfterEach
    void close() throws Exception {
        elections.close();
        admin.close();
    }

    @Test
    void theBucketOfThatNameIsMadeAsChoriaMakesIt() throws Exception {
        try (var made = Elections.connect(server.uri("choria=true"))) {
            assertThat(made.list()).isEmpty();
        }
        var found = admin.ask(connection -> connection
                .jetStreamManagement()
                .getStreamInfo("KV_CHORIA_LEADER_ELECTION")
                .getConfiguration());
        assertThat(found.getMaxAge()).isEqualTo(Duration.ofMinutes(1));
        assertThat(found.getMaxMsgsPerSubject()).isEqualTo(1);
        assertThat(found.getMaximumMessageSize()).isEqualTo(1024);
        assertThat(found.getDenyDelete()).isTrue();
    }

    @Test
    void theValueIsTheNameOfTheLeaderAndNothingElse() throws Exception {
        try (var ours = elections.stand(
                election, CONFIG.toBuilder().candidate("c1.example.net").build())) {
            assertThat(ours.await(PATIENCE)).isPresent();
            assertThat(bucket.get(election).getValueAsString()).isEqualTo("c1.example.net");
        }
    }

    @Test
    void aWinnerLeadsNoSoonerThanAWinnerOfChorias() throws Exception {
        var began = System.nanoTime();
        try (var ours = elections.stand(election, CONFIG)) {
            assertThat(ours.await(PATIENCE)).isPresent();
            assertThat(Duration.ofNanos(System.nanoTime() - began))
                    .isGreaterThanOrEqualTo(TTL.multipliedBy(3).dividedBy(4).plusMillis(200));
        }
    }

    @Test
    void oursAndChoriasNeverLeadTogetherWhileLeadersAreEvictedAndLeave() throws Exception {
        var both = new AtomicBoolean();
        try (var theirs = new ChoriaLike(bucket, election, "theirs", TTL, Duration.ZERO);
                var ours = elections.stand(election, CONFIG);
                var auditor = new Auditor(theirs::isLeader, ours, both)) {
            assertThat(auditor.thread.isAlive()).isTrue();
            var oursLed = 0;
            for (var turns = 0; turns < 4 || (turns < MOST_TURNS && (oursLed == 0 || oursLed == turns)); turns++) {
                Eventually.eventually("somebody leads", PATIENCE, () -> theirs.isLeader() || ours.isLeader());
                oursLed += ours.isLeader() ? 1 : 0;
                evict();
                Eventually.eventually("it is heard", PATIENCE, () -> !theirs.isLeader() && !ours.isLeader());
            }
        }
        assertThat(both).as(Never.mark("both led at once")).isFalse();
    }

    @Test
    void aLeaderOfChoriasIsFollowedByItsNameAndSucceededWhenItStops() throws Exception {
        var tries = 1;
        while (!isFollowedAndSucceeded(election + '-' + tries)) {
            assertThat(++tries)
                    .as("tries, in each of which theirs came too late")
                    .isLessThan(6);
        }
    }

    /** Returns whether it has shown that; not if a busy machine had theirs come too late. */
    private boolean isFollowedAndSucceeded(String election) throws Exception {
        try (var theirs = new ChoriaLike(bucket, election, "theirs", TTL, Duration.ZERO)) {
            Eventually.eventually("it leads", PATIENCE, theirs::isLeader);
            try (var ours = elections.stand(election, CONFIG)) {
                Eventually.eventually(
                        "ours follows",
                        PATIENCE,
                        () -> ours.status().following().filter("theirs"::equals).isPresent());
                Eventually.throughout(
                        "and goes on following", TTL.multipliedBy(2), () -> !ours.isLeader() || theirs.hasBeenLate());
                assertThat(elections.list()).contains(election);
                var leader = elections.election(election).leader();
                if (theirs.hasBeenLate()) {
                    return false;
                }
                assertThat(leader.orElseThrow().candidate()).isEqualTo("theirs");
                theirs.stop();
                assertThat(ours.await(PATIENCE)).isPresent();
                return true;
            }
        }
    }

    @Test
    void standDownEvictsALeaderOfChorias() throws Exception {
        try (var theirs = new ChoriaLike(bucket, election, "theirs", TTL, Duration.ZERO)) {
            Eventually.eventually("it leads", PATIENCE, theirs::isLeader);
            assertThat(elections.election(election).standDown()).isTrue();
            Eventually.eventually("it leads no more", PATIENCE, () -> !theirs.isLeader());
        }
    }

    @Test
    void choriasCandidateWinsWhenOursLeaves() throws Exception {
        var ours = elections.stand(election, CONFIG);
        assertThat(ours.await(PATIENCE)).isPresent();
        try (var theirs = new ChoriaLike(bucket, election, "theirs", TTL, Duration.ZERO)) {
            ours.close();
            Eventually.eventually("it leads", PATIENCE, theirs::isLeader);
        }
    }

    @Test
    void aLeaseOfMoreThanThreeQuartersOfTheTtlIsRefused() {
        assertThatThrownBy(() -> elections.stand(election, CandidacyConfig.ofLease(Duration.ofMillis(3_001))))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("three quarters of the TTL 4 s");
    }

    @Test
    void namesThatAreNoKeysAndOrdersThatChoriaDoesNotKnowAreRefused() {
        assertThatThrownBy(() -> elections.stand("with spaces", CONFIG))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("no key of a bucket");
        assertThatThrownBy(() -> elections.election(election).end())
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("neither end");
    }

    @Test
    void aTtlThatChoriaRefusesIsRefused() throws Exception {
        for (var ttl : new String[] {"1s", "2h"}) {
            assertThatThrownBy(() -> Elections.connect(server.uri("choria=true&bucket=wrong" + ttl + "&ttl=" + ttl)))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(Durations.show(Durations.parse(ttl).orElseThrow()));
        }
    }

    /** As choria election evict does; again if a busy server does not answer in time. */
    private void evict() {
        Eventually.eventually("it is evicted", PATIENCE, () -> {
            try {
                bucket.delete(election);
                return true;
            } catch (JetStreamApiException e) {
                throw new IllegalStateException(e);
            } catch (IOException e) {
                return false;
            }
        });
    }

    /** Looks all the time whether both lead. */
    static final class Auditor implements AutoCloseable {
        private final Thread thread;
        private volatile boolean stopped;

        Auditor(BooleanSupplier theirs, Candidacy ours, AtomicBoolean both) {
            thread = new Thread(() -> {
                while (!stopped) {
                    if (ours.isLeader() && theirs.getAsBoolean() && ours.isLeader()) {
                        both.set(true);
                    }
                    LockSupport.parkNanos(200_000); // it leaves the machine to those at whom it looks
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void close() {
            stopped = true;
        }
    }
}
