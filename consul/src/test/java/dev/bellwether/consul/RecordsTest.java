package dev.bellwether.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.fixtures.RecordFacts;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.net.http.HttpClient;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the store does with records, one by one. */
@Timeout(120)
class RecordsTest extends RecordFacts {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @SuppressWarnings("NullAway.Init")
    private static ConsulServers servers;

    @BeforeAll
    static void startServer() {
        servers = ConsulServers.start(1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @Override
    protected RecordStore opened(String name) {
        return open("/" + name);
    }

    @Override
    protected String within(String name) {
        return name + "/records/seats";
    }

    @Override
    protected void putOthers(String name) {
        servers.member(0).put("/v1/kv/" + name + "/records/seats/too/many", "x", "");
    }

    @Override
    protected boolean tellsWhatIsThere() {
        return false;
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

    /** Nobody could be elected from then on, and nothing said why. */
    @Test
    void aRecordWhoseWitnessWasDeletedByHandIsNamedOnceWithWhatToDo() {
        var name = "unwitnessed/records/" + key.path();
        try (var said = new LogSaid();
                var store = open("/unwitnessed");
                var other = open("/unwitnessed")) {
            var first = now(store.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE));
            now(other.read(key, Urgency.LOOK, PATIENCE));
            var second = now(other.write(key, first.revision(), new Draft("two", ""), Urgency.KEEP, PATIENCE));
            assertThat(now(store.write(key, first.revision(), new Draft("late", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isFalse();
            assertThat(said.warnings("witness")).as("another has written").isEmpty();

            deleteTree("unwitnessed/witnesses/");
            for (var i = 0; i < 2; i++) {
                assertThat(now(other.write(key, second.revision(), new Draft("three", ""), Urgency.KEEP, PATIENCE))
                                .done())
                        .isFalse();
            }
            assertThat(said.warnings("the witness of the key " + name, "consul kv delete '" + name + "'"))
                    .hasSize(1);

            deleteTree(name);
            assertThat(now(store.write(key, 0, new Draft("four", ""), Urgency.KEEP, PATIENCE))
                            .revision())
                    .isGreaterThan(second.revision());
        }
    }

    private static void deleteTree(String keys) {
        var done =
                servers.member(0).put("/v1/txn", "[{\"KV\":{\"Verb\":\"delete-tree\",\"Key\":\"" + keys + "\"}}]", "");
        assertThat(done).contains("\"Errors\":null");
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
    void whatChangesIsHeardAndWhatWasMissedToo() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var watching = open("consul://127.0.0.1:" + link.port() + "/heard");
                var store = open("/heard")) {
            var heard = new CopyOnWriteArrayList<String>();
            hearsWhatItMissed(watching, link, store, heard);
            assertThat(heard).doesNotHaveDuplicates();
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

    @Test
    void whoListsWhatHasLongBeenGoneRemovesIt() {
        try (var store = open("/gone")) {
            now(store.put(RecordKey.standby("old", 0, "cy"), "cy", Duration.ofDays(-1), PATIENCE));
            assertThat(now(store.list(List.of("old"), RecordKey.OF_STANDBY, PATIENCE))
                            .keys())
                    .isEmpty();
            Eventually.eventually(
                    "it is removed",
                    PATIENCE,
                    () -> servers.member(0)
                            .get("/v1/kv/gone/standbys/old/?keys")
                            .isBlank());
        }
    }

    private static ConsulRecordStore open(String uriOrPrefix) {
        var uri = uriOrPrefix.startsWith("/") ? servers.uri(uriOrPrefix) : uriOrPrefix;
        return ConsulRecordStore.open(ConsulSettings.of(ConnectUri.parse(uri)), ReplaceableClient.of(HTTP));
    }
}
