package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Proofs;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What somebody else interrupts. */
@Timeout(120)
class InterruptsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(20));

    /** As a container may do that stops one of its applications. */
    @Test
    void whoInterruptsAllThreadsOfAConnectionEndsNoMandateAndMakesNobodyDeaf() throws Exception {
        var threads = new ThreadGroup("of a connection");
        try (var server = NatsServers.alone();
                var elections = connected(threads, server.uri("bucket=interrupted"));
                var leader = elections.stand("interrupted", CONFIG)) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            threads.interrupt();
            var since = System.nanoTime();
            Eventually.eventually("its lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, since));
            assertThat(leader.mandate()).contains(mandate);
            assertThat(ofClient(threads)).isNotEmpty();
        }
        Eventually.eventually(
                "its threads have ended", PATIENCE, () -> ofClient(threads).isEmpty());
    }

    private static List<Thread> ofClient(ThreadGroup threads) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread instanceof ConnectionThread && threads.equals(thread.getThreadGroup()))
                .toList();
    }

    private static Elections connected(ThreadGroup threads, String uri) throws Exception {
        var connected = new CompletableFuture<Elections>();
        new Thread(threads, () -> connected.completeAsync(() -> Elections.connect(uri), Runnable::run)).start();
        return connected.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
}
