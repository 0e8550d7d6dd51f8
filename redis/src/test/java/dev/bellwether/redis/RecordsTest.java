package dev.bellwether.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.RecordFacts;
import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Written;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the store does with records, one by one. */
@Timeout(120)
class RecordsTest extends RecordFacts {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @SuppressWarnings("NullAway.Init")
    private static ValkeyServer server;

    @SuppressWarnings("NullAway.Init")
    private static RedisClient client;

    private final String election = key.election();

    @BeforeAll
    static void startServer() {
        server = ValkeyServers.start();
        client = RedisClient.create(); // with its defaults: it makes connections again, and sends again
    }

    @AfterAll
    static void stopServer() {
        client.shutdown();
        server.close();
    }

    @Override
    protected RecordStore opened(String name) {
        return open("?prefix=" + name);
    }

    @Override
    protected String within(String name) {
        return name + ":seats";
    }

    @Override
    protected boolean tellsHowFarItIs() {
        return true;
    }

    @Test
    void revisionsRiseWhenTheKeyIsDeletedAndWhenAllKeysAreLost() {
        try (var own = ValkeyServers.start();
                var store = open(own, "")) {
            var first = now(store.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE))
                    .revision();
            assertThat(own.ask("DEL", "bellwether:" + key.path())).isEqualTo("1");
            var second = now(store.write(key, 0, new Draft("two", ""), Urgency.KEEP, PATIENCE))
                    .revision();
            assertThat(own.ask("FLUSHALL")).isEqualTo("OK");
            assertThat(now(store.reached(key, PATIENCE))).isZero();
            var third = now(store.write(key, 0, new Draft("three", ""), Urgency.KEEP, PATIENCE))
                    .revision();
            assertThat(List.of(first, second, third)).isSorted().doesNotHaveDuplicates();
        }
    }

    @Test
    void revisionsRiseWhenTheServersClockGoesBack() {
        try (var store = open("")) {
            var far = 4_000_000_000_000_000L; // of the year 2096
            assertThat(server.ask("SET", "clock:state/revision", Long.toString(far)))
                    .isEqualTo("OK");
            try (var other = open("?prefix=clock")) {
                assertThat(now(other.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE))
                                .revision())
                        .isEqualTo(far + 1);
            }
            assertThat(server.ask("SET", "bellwether:" + key.path(), far + " 0\nold"))
                    .isEqualTo("OK");
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE)).revision()).isEqualTo(far);
            assertThat(now(store.write(key, far, new Draft("new", ""), Urgency.KEEP, PATIENCE))
                            .revision())
                    .isEqualTo(far + 1);
        }
    }

    @Test
    void aRevisionThatWasGivenAgainDeceivesNobody() {
        try (var store = open("")) {
            var held = now(store.write(key, 0, new Draft("held by one", ""), Urgency.KEEP, PATIENCE));
            var name = "bellwether:" + key.path();
            assertThat(server.ask("SET", name, held.revision() + " 0\nheld by two"))
                    .isEqualTo("OK");

            var written = now(
                    store.write(key, held.revision(), new Draft("held by one, renewed", ""), Urgency.KEEP, PATIENCE));

            assertThat(written).isEqualTo(Written.outdated(held.revision()));
            assertThat(server.ask("GET", name)).endsWith("held by two");
        }
    }

    @Test
    void whatIsNoRecordOfOursIsReadAsItStandsAndMayBeWrittenOver() {
        try (var store = open("")) {
            for (var garbage : List.of("garbage", "12\nx", "99999999999999999 0\nx", "-1 0\nx")) {
                assertThat(server.ask("SET", "bellwether:" + key.path(), garbage))
                        .isEqualTo("OK");
                var found = now(store.read(key, Urgency.LOOK, PATIENCE));
                assertThat(found.text()).isEqualTo(garbage);
                assertThat(now(store.write(key, found.revision(), new Draft("ours", ""), Urgency.KEEP, PATIENCE))
                                .done())
                        .as(garbage)
                        .isTrue();
            }
            assertThat(server.ask("DEL", "bellwether:" + key.path())).isEqualTo("1");
            assertThat(server.ask("SADD", "bellwether:" + key.path(), "a set")).isEqualTo("1");
            assertThatThrownBy(() -> now(store.read(key, Urgency.LOOK, PATIENCE)))
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("choose another prefix");
        }
    }

    @Test
    void databasesAndTheirChannelsAreApart() {
        var heard = new CopyOnWriteArrayList<String>();
        try (var one = open("/1");
                var two = open("/2");
                var watch = two.watch(key, found -> heard.add(found.text()))) {
            assertThat(watch).isNotNull();
            assertThat(now(one.write(key, 0, new Draft("in one", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isTrue();
            assertThat(now(two.write(key, 0, new Draft("in two", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isTrue();
            Eventually.eventually("it is heard", PATIENCE, () -> heard.contains("in two"));
            assertThat(heard).doesNotContain("in one");
        }
    }

    @Test
    void aListThatIsCutOffIsNotWholeAlthoughSomeOfItHasRunOut() {
        try (var store = open("?prefix=cut")) {
            var standbys = List.of(1, 2, 3).stream()
                    .map(priority -> RecordKey.standby("billing", priority, "ann"))
                    .toList();
            standbys.forEach(standby -> now(store.put(standby, "here", PATIENCE, PATIENCE)));
            assertThat(server.ask("DEL", "cut:" + standbys.get(0).path())).isEqualTo("1");
            var cut = now(store.list(List.of("billing"), RecordKey.OF_STANDBY, 2, PATIENCE));
            assertThat(cut.keys()).containsExactly(standbys.get(1));
            assertThat(cut.isWhole()).isFalse();
            var all = now(store.list(List.of("billing"), RecordKey.OF_STANDBY, 3, PATIENCE));
            assertThat(all.keys()).containsExactlyElementsOf(standbys.subList(1, 3));
            assertThat(all.isWhole()).isTrue();
        }
    }

    @Test
    void whatWasMissedWhileTheConnectionWasBrokenIsHeardAfterwards() {
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var watching = open("redis://127.0.0.1:" + link.port());
                var store = open("")) {
            hearsWhatItMissed(watching, link, store, new CopyOnWriteArrayList<>());
        }
    }

    @Test
    void aConnectionThatIsSilentIsGivenUp() {
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var watching = open("redis://127.0.0.1:" + link.port());
                var store = open("")) {
            var heard = new CopyOnWriteArrayList<String>();
            try (var watch = watching.watch(key, found -> heard.add(found.text()))) {
                assertThat(watch).isNotNull();
                var session = watching.session();
                link.cut();
                assertThatThrownBy(() -> now(
                                watching.write(key, 0, new Draft("late", ""), Urgency.KEEP, Duration.ofMillis(300))))
                        .isInstanceOf(UnavailableException.class)
                        .hasMessageContaining("did not answer within 300 ms");
                assertThat(watching.session()).isNotEqualTo(session);
                link.reset(); // and who was silent is gone, with what it was sent
                link.heal();
                assertThat(now(store.write(
                                        key,
                                        now(store.read(key, Urgency.LOOK, PATIENCE))
                                                .revision(),
                                        new Draft("1", ""),
                                        Urgency.KEEP,
                                        PATIENCE))
                                .done())
                        .isTrue();
                Eventually.eventually("it hears", PATIENCE, () -> heard.contains("1"));
                assertThat(now(watching.read(key, Urgency.LOOK, PATIENCE)).text())
                        .isEqualTo("1");
            }
        }
    }

    @Test
    void whatWasMissedIsReadUntilThatIsAnswered() {
        var reads = new AtomicInteger();
        try (var watches = new RedisWatch(RedisSettings.of(ConnectUri.parse(server.uri(""))), client)) {
            watches.add("missed-" + election, message -> {}, () -> {
                var read = new CompletableFuture<String>();
                if (reads.incrementAndGet() < 3) {
                    read.completeExceptionally(new UnavailableException("no answer"));
                } else {
                    read.complete("1");
                }
                return read.thenAccept(text -> {});
            });
            Eventually.eventually("it is read again", PATIENCE, () -> reads.get() == 3);
        }
    }

    @Test
    void aClientOfTheApplicationsThatWasShutDownDoesNotFillTheLog() throws Exception {
        var written = new ByteArrayOutputStream();
        var before = System.err;
        System.setErr(new PrintStream(written, true, UTF_8));
        var own = RedisClient.create();
        var settings = RedisSettings.of(ConnectUri.parse(server.uri("")));
        try (var watches = new RedisWatch(settings, own, Duration.ofMillis(50), PATIENCE)) {
            var read = new CountDownLatch(1);
            watches.add("shut-down-" + election, message -> {}, () -> {
                read.countDown();
                return CompletableFuture.completedStage(true);
            });
            assertThat(read.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            own.shutdown();
            var later = new CountDownLatch(1);
            DelayThread.after(Duration.ofMillis(500)).execute(later::countDown); // behind ten looks
            assertThat(later.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(written.toString(UTF_8)).doesNotContain("has failed", "already closed");
        } finally {
            System.setErr(before);
        }
    }

    /** As a server says for minutes that it is loading: it takes subscriptions meanwhile, and gives no sign. */
    @Test
    void whatWasMissedIsReadOnceAtATimeHoweverOftenTheConnectionBreaksMeanwhile() throws Exception {
        var reads = new LinkedBlockingQueue<CompletableFuture<String>>();
        var own = RedisClient.create();
        own.setOptions(ClientOptions.builder().autoReconnect(false).build()); // as ours
        try (var breaking = ValkeyServers.start();
                var watches = new RedisWatch(RedisSettings.of(ConnectUri.parse(breaking.uri(""))), own)) {
            watches.add("missed", message -> {}, () -> {
                var read = new CompletableFuture<String>();
                reads.add(read);
                return read.thenAccept(text -> {});
            });
            var unanswered = new ArrayList<CompletableFuture<String>>();
            for (var times = 0; times < 3; times++) {
                unanswered.add(reads.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS));
                assertThat(breaking.ask("CLIENT", "KILL", "TYPE", "pubsub")).isEqualTo("1");
            }
            unanswered.add(reads.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            unanswered.forEach(read -> read.completeExceptionally(new UnavailableException("no answer")));
            var later = new CountDownLatch(1);
            DelayThread.after(Duration.ofSeconds(1)).execute(later::countDown); // behind what is read again
            assertThat(later.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(reads).hasSize(1);
        } finally {
            own.shutdown();
        }
    }

    @Test
    void scriptsThatTheServerHasForgottenAreOfNoConsequence() {
        try (var store = open("")) {
            var first = now(store.write(key, 0, new Draft("0", ""), Urgency.KEEP, PATIENCE));
            assertThat(server.ask("SCRIPT", "FLUSH")).isEqualTo("OK");
            assertThat(now(store.write(key, first.revision(), new Draft("1", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isTrue();
        }
    }

    @Test
    void aClientThatSendsAgainWhatHadNoAnswerHasItRefused() {
        try (var own = ValkeyServers.start();
                var store = open(own, "")) { // over a client with its defaults
            var first = now(store.write(key, 0, new Draft("0", ""), Urgency.KEEP, PATIENCE));
            own.pause();
            var unanswered = store.write(key, first.revision(), new Draft("1", ""), Urgency.KEEP, PATIENCE);
            own.kill();
            own.start();
            assertThatThrownBy(() -> now(unanswered)).isInstanceOf(UnavailableException.class);
            var found = now(store.read(key, Urgency.LOOK, PATIENCE));
            assertThat(found.text()).isIn("0", "1");
            assertThat(now(store.write(key, found.revision(), new Draft("2", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isTrue();
        }
    }

    @Test
    void aListRemovesWhatHasRunOutFromTheIndex() {
        try (var store = open("?prefix=index")) {
            now(store.put(RecordKey.standby("billing", -3, "ann"), "ann", Duration.ofMillis(900), PATIENCE));
            Eventually.eventually(
                    "it is gone",
                    PATIENCE,
                    () -> now(store.list(List.of("billing"), RecordKey.OF_STANDBY, PATIENCE))
                            .keys()
                            .isEmpty());
            assertThat(server.ask("ZCARD", "index:state/standbys/")).isEqualTo("0");
        }
    }

    private static RedisRecordStore open(String rest) {
        return rest.startsWith("redis:")
                ? RedisRecordStore.open(RedisSettings.of(ConnectUri.parse(rest)), client, () -> {})
                : open(server, rest);
    }

    private static RedisRecordStore open(ValkeyServer which, String rest) {
        return RedisRecordStore.open(RedisSettings.of(ConnectUri.parse(which.uri(rest))), client, () -> {});
    }
}
