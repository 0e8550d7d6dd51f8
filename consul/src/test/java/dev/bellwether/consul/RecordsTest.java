package dev.bellwether.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RecordStore.What;
import dev.bellwether.spi.RecordStore.Written;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.net.http.HttpClient;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the store does with records, one by one. */
@Timeout(120)
class RecordsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @SuppressWarnings("NullAway.Init")
    private static ConsulServers servers;

    private final RecordKey key = RecordKey.seat("records-" + UUID.randomUUID());

    @BeforeAll
    static void startServer() {
        servers = ConsulServers.start(1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @Test
    void writesGoByTheIndexThatTheyName() {
        try (var store = open("/records")) {
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE))).isEqualTo(Found.NOTHING);
            var first = now(store.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE));
            assertThat(first.done()).isTrue();
            assertThat(now(store.write(key, 0, new Draft("two", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isFalse();
            var second = now(store.write(key, first.revision(), new Draft("two", ""), Urgency.KEEP, PATIENCE));
            assertThat(second.revision()).isGreaterThan(first.revision());
            assertThat(now(store.write(key, first.revision(), new Draft("three", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isFalse();
            var read = now(store.read(key, Urgency.LOOK, PATIENCE));
            assertThat(read.text()).isEqualTo("two");
            assertThat(read.revision()).isEqualTo(second.revision());
            assertThat(read.written())
                    .isBetween(Instant.now().minusSeconds(60), Instant.now().plusSeconds(60));
            assertThat(now(store.write(RecordKey.seat("absent"), 7, new Draft("x", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isFalse();
            now(store.write(key, second.revision(), new Draft("", ""), Urgency.KEEP, PATIENCE));
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE)).what()).isEqualTo(What.DELETED);
        }
    }

    /** Consul leaves a key at its index if what is written is there. */
    @Test
    void theSameRecordIsWrittenAtAnotherIndexAlsoWithinAMillisecond() {
        try (var store = open("/same")) {
            var now = Instant.now();
            var first = now(store.write(key, 0, new Draft("same", ""), now, Urgency.KEEP, PATIENCE));
            var second = now(store.write(key, first.revision(), new Draft("same", ""), now, Urgency.KEEP, PATIENCE));
            assertThat(second.revision()).isGreaterThan(first.revision());
            assertThat(now(store.write(key, first.revision(), new Draft("late", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .as("a write over the former index")
                    .isFalse();
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE)).text()).isEqualTo("same");
        }
    }

    @Test
    void indexesRiseWhenTheKeyIsDeleted() {
        try (var store = open("/deleted")) {
            var first = now(store.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE));
            now(store.remove(key, PATIENCE));
            assertThat(servers.member(0).get("/v1/kv/deleted/?keys"))
                    .as("its witness, too")
                    .isBlank();
            assertThat(now(store.write(key, first.revision(), new Draft("two", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isFalse();
            assertThat(now(store.write(key, 0, new Draft("two", ""), Urgency.KEEP, PATIENCE))
                            .revision())
                    .isGreaterThan(first.revision());
        }
    }

    @Test
    void anIndexThatWasGivenAgainDeceivesNobody() {
        try (var restored = ConsulServers.start(1);
                var holder = open(restored.uri(""));
                var other = open(restored.uri(""))) {
            var member = restored.member(0);
            var before = now(holder.write(key, 0, new Draft("vacant", ""), Urgency.KEEP, PATIENCE));
            member.save();
            var held = before;
            for (var writes = 0; writes < 8; writes++) { // so far ahead that the other comes from below
                var at = held.revision();
                held = eventually(() -> holder.write(key, at, new Draft("held by one", ""), Urgency.KEEP, PATIENCE));
            }
            var taken = held;
            for (var round = 0; round == 0 || (taken.revision() > held.revision() && round < 10); round++) {
                member.restore(); // once more where an entry of the server's own has taken the index
                taken = eventually(() ->
                        other.write(key, before.revision(), new Draft("held by two", ""), Urgency.KEEP, PATIENCE));
                while (taken.revision() < held.revision()) {
                    var at = taken.revision();
                    taken = eventually(
                            () -> other.write(key, at, new Draft("held by two", ""), Urgency.KEEP, PATIENCE));
                }
            }
            assertThat(taken.revision()).as("the index is given again").isEqualTo(held.revision());

            var written = now(
                    holder.write(key, taken.revision(), new Draft("held by one, renewed", ""), Urgency.KEEP, PATIENCE));

            assertThat(written.done()).isFalse();
            assertThat(now(other.read(key, Urgency.LOOK, PATIENCE)).text()).isEqualTo("held by two");
        }
    }

    @Test
    void whatIsNoRecordOfOursIsReadAsItStandsAndMayBeWrittenOver() {
        try (var store = open("/foreign")) {
            for (var garbage : List.of("garbage", "1\u00e4", "")) {
                servers.member(0).put("/v1/kv/foreign/records/" + key.path(), garbage, "");
                var found = now(store.read(key, Urgency.LOOK, PATIENCE));
                assertThat(found.text()).isEqualTo(garbage);
            }
        }
    }

    @Test
    void namesNeverCollideWhateverIsInThem() {
        try (var store = open("/names");
                var nested = open("/names/records/seats")) {
            var names = List.of("a/b", "a%2Fb", "a", "a b", "a+b", "ä", "seats/a", ".", "..", "*", "a\nb");
            for (var name : names) {
                var written = now(store.write(RecordKey.seat(name), 0, new Draft(name, ""), Urgency.KEEP, PATIENCE));
                assertThat(written.done()).as(name).isTrue();
                assertThat(now(store.read(RecordKey.seat(name), Urgency.LOOK, PATIENCE))
                                .text())
                        .isEqualTo(name);
                assertThat(now(nested.read(RecordKey.seat(name), Urgency.LOOK, PATIENCE)))
                        .as(name)
                        .isEqualTo(Found.NOTHING);
            }
            servers.member(0).put("/v1/kv/names/records/seats/too/many", "x", "");
            var listed = now(store.list(List.of(), RecordKey.OF_SEAT, PATIENCE));
            assertThat(listed.isWhole()).isTrue();
            assertThat(listed.keys())
                    .extracting(RecordKey::election)
                    .containsExactlyInAnyOrder(names.toArray(String[]::new));
        }
    }

    @Test
    void whatIsDisplayedIsNotListedWhenItsTimeIsOver() {
        try (var store = open("/displayed")) {
            var standby = RecordKey.standby("billing", -3, "ann");
            now(store.put(standby, "ann", Duration.ofSeconds(3), PATIENCE));
            now(store.put(RecordKey.standby("billing2", 1, "bob"), "bob", PATIENCE, PATIENCE));
            var listed = now(store.list(List.of("billing"), RecordKey.OF_STANDBY, PATIENCE));
            assertThat(listed.keys()).containsExactly(standby);
            assertThat(listed.keys().get(0).priority()).isEqualTo(-3);
            assertThat(now(store.read(standby, Urgency.LOOK, PATIENCE)).text()).isEqualTo("ann");
            Eventually.eventually(
                    "it is gone",
                    PATIENCE,
                    () -> now(store.list(List.of("billing"), RecordKey.OF_STANDBY, PATIENCE))
                            .keys()
                            .isEmpty());
            var old = now(store.put(RecordKey.standby("old", 0, "cy"), "cy", Duration.ofDays(-1), PATIENCE));
            assertThat(old).isNotNull();
            assertThat(now(store.list(List.of("old"), RecordKey.OF_STANDBY, PATIENCE))
                            .keys())
                    .isEmpty();
            Eventually.eventually(
                    "who lists it removes it",
                    PATIENCE,
                    () -> servers.member(0)
                            .get("/v1/kv/displayed/standbys/old/?keys")
                            .isBlank());
        }
    }

    @Test
    void whatChangesIsHeardAndWhatWasMissedToo() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var watching = open("consul://127.0.0.1:" + link.port() + "/heard");
                var store = open("/heard")) {
            var heard = new CopyOnWriteArrayList<String>();
            try (var watch = watching.watch(key, found -> heard.add(found.text()))) {
                assertThat(watch).isNotNull();
                var first = now(store.write(key, 0, new Draft("0", ""), Urgency.KEEP, PATIENCE));
                Eventually.eventually("it hears", PATIENCE, () -> heard.contains("0"));
                link.refuse();
                link.reset();
                var second = now(store.write(key, first.revision(), new Draft("1", ""), Urgency.KEEP, PATIENCE));
                link.heal();
                Eventually.eventually("it hears what it missed", PATIENCE, () -> heard.contains("1"));
                now(store.write(key, second.revision(), new Draft("2", ""), Urgency.KEEP, PATIENCE));
                Eventually.eventually("and goes on", PATIENCE, () -> heard.contains("2"));
                assertThat(heard).doesNotHaveDuplicates();
            }
        }
    }

    @Test
    void aWriteWithoutAnAnswerIsUnknownAndNotSentAgain() {
        try (var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var store = open("consul://127.0.0.1:" + link.port() + "," + servers.hosts() + "/once");
                var other = open("/once")) {
            var session = store.session();
            link.cut();
            assertThatThrownBy(
                            () -> now(store.write(key, 0, new Draft("late", ""), Urgency.KEEP, Duration.ofMillis(300))))
                    .isInstanceOf(UnavailableException.class);
            assertThat(now(other.read(key, Urgency.LOOK, PATIENCE)))
                    .as("not sent elsewhere")
                    .isEqualTo(Found.NOTHING);
            assertThat(store.session()).isNotEqualTo(session);
            assertThat(now(store.read(key, Urgency.LOOK, Duration.ofSeconds(4))))
                    .isEqualTo(Found.NOTHING);
            link.heal();
        }
    }

    private static ConsulRecordStore open(String uriOrPrefix) {
        var uri = uriOrPrefix.startsWith("/") ? servers.uri(uriOrPrefix) : uriOrPrefix;
        return ConsulRecordStore.open(ConsulSettings.of(ConnectUri.parse(uri)), ReplaceableClient.of(HTTP));
    }

    /** A connection that the restart has broken costs a request. */
    private static Written eventually(Supplier<CompletionStage<Written>> writing) {
        return Eventually.eventually("it is written", PATIENCE, () -> {
            try {
                return Optional.of(now(writing.get()));
            } catch (UnavailableException e) {
                return Optional.<Written>empty();
            }
        });
    }

    private static <T> T now(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException plain ? plain : e;
        }
    }
}
