package dev.bellwether.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.http.Json;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RequestLimiter;
import dev.bellwether.testkit.servers.Ports;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** By which HTTP client is asked, by a clock that is set by hand. */
@Timeout(240)
class ReplacedClientTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final Duration PAUSE = Duration.ofSeconds(2);
    private static final int MOST_FORMER = 8;

    private final SetClock clock = new SetClock();
    private final ExecutorService threads = Executors.newFixedThreadPool(4);
    private final List<HttpClient> made = new CopyOnWriteArrayList<>(); // none of which is ever collected

    private static final class SetClock implements Clock {
        private final AtomicLong nanos = new AtomicLong();

        void pass(Duration time) {
            nanos.addAndGet(time.toNanos());
        }

        @Override
        public long nanos() {
            return nanos.get();
        }

        @Override
        public long wallMillis() {
            return nanos.get() / 1_000_000;
        }
    }

    @AfterEach
    void endThreads() {
        threads.shutdownNow();
    }

    @Test
    void aClientWhoseThreadHasEndedBeforeItHadAnAnswerIsReplacedAMinuteLater() {
        try (var servers = EtcdServers.start(1)) {
            var client = client(servers.uri(""), ReplaceableClient.by(() -> made.isEmpty() ? dead() : alive(), clock));
            clock.pass(Duration.ofSeconds(59));
            assertThat(look(client, SHORT)).failsWithin(PATIENCE);
            assertThat(made).as("there is none in each second of an outage").hasSize(1);
            clock.pass(PAUSE);
            var unused = look(client, SHORT).handle((answer, error) -> 0).join(); // newer JDKs say that it has ended
            assertThat(look(client, PATIENCE)).succeedsWithin(PATIENCE);
            assertThat(made).hasSize(2);
        }
    }

    @Test
    void aServerThatIsGoneForLongLeavesRoomForConnectionsThatAreForgotten() {
        try (var servers = EtcdServers.start(1)) {
            var http = ReplaceableClient.by(this::alive, clock);
            var gone = client("etcd://127.0.0.1:" + Ports.free(), http);
            for (var minute = 0; minute < 20; minute++) {
                clock.pass(Duration.ofMinutes(1));
                assertThat(look(gone, PATIENCE)).failsWithin(PATIENCE);
            }
            assertThat(made).hasSizeLessThan(MOST_FORMER);
            assertThat(isReplaced(client(servers.uri(""), http), gone)).isTrue();
        }
    }

    /** A JVM that has memory enough does not look for years at what has become old. */
    @Test
    void formerClientsThatAreNeverCollectedKeepNobodyFromTheNextForMoreThanAnHour() {
        try (var servers = EtcdServers.start(1)) {
            var http = ReplaceableClient.by(this::alive, clock);
            var there = client(servers.uri(""), http);
            var gone = client("etcd://127.0.0.1:" + Ports.free(), http);
            for (var outage = 0; outage < MOST_FORMER; outage++) {
                assertThat(isReplaced(there, gone)).isTrue();
            }
            assertThat(isReplaced(there, gone)).as("there are too many").isFalse();
            clock.pass(Duration.ofHours(1));
            assertThat(isReplaced(there, gone)).isTrue();
        }
    }

    /** As while a process may open no more files. */
    @Test
    void aClientThatCannotBeMadeForAWhileIsMadeLater() {
        try (var servers = EtcdServers.start(1)) {
            var isFull = new AtomicBoolean();
            var http = ReplaceableClient.by(
                    () -> {
                        if (isFull.get()) {
                            throw new InternalError("Too many open files");
                        }
                        return alive();
                    },
                    clock);
            var there = client(servers.uri(""), http);
            var gone = client("etcd://127.0.0.1:" + Ports.free(), http);
            isFull.set(true);
            for (var outage = 0; outage < MOST_FORMER; outage++) {
                assertThat(isReplaced(there, gone)).isFalse();
            }
            isFull.set(false);
            assertThat(isReplaced(there, gone)).isTrue();
        }
    }

    /** Whether there is another client, after one server has answered and the other has not. */
    private boolean isReplaced(EtcdClient there, EtcdClient gone) {
        var before = made.size();
        assertThat(look(there, PATIENCE)).succeedsWithin(PATIENCE);
        clock.pass(PAUSE);
        assertThat(look(gone, PATIENCE)).failsWithin(PATIENCE);
        return made.size() > before;
    }

    private static EtcdClient client(String uri, ReplaceableClient http) {
        return new EtcdClient(EtcdSettings.of(ConnectUri.parse(uri)), http);
    }

    private static CompletableFuture<Json> look(EtcdClient client, Duration timeout) {
        return client.read(RequestLimiter.Urgency.LOOK, "kv/range", "{\"key\":\"YQ==\"}", timeout);
    }

    private HttpClient alive() {
        var client = HttpClient.newBuilder().executor(threads).build();
        made.add(client);
        return client;
    }

    /** One whose thread has ended, as it does without memory, or if something interrupts all threads. */
    private HttpClient dead() {
        var group = new ThreadGroup("of a client");
        var maker = new Thread(group, this::alive);
        try {
            maker.start();
            maker.join();
            var own = new Thread[2];
            assertThat(group.enumerate(own)).isEqualTo(1);
            own[0].interrupt();
            own[0].join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return made.get(0);
    }
}
