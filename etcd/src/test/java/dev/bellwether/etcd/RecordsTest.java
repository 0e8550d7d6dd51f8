package dev.bellwether.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.fixtures.RecordFacts;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RecordStore.What;
import dev.bellwether.spi.RecordStore.Written;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the store does with records, one by one. */
@Timeout(120)
class RecordsTest extends RecordFacts {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final Pattern ID = Pattern.compile("\"ID\":\"(\\d+)\"");

    @SuppressWarnings("NullAway.Init")
    private static EtcdServers servers;

    @BeforeAll
    static void startServer() {
        servers = EtcdServers.start(1);
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
        return name + "/seats";
    }

    @Override
    protected void putOthers(String name) {
        put("/" + name + "/seats/odd%zz", "x");
        put("/" + name + "/seats/too/many", "x");
    }

    @Override
    protected boolean tellsHowFarItIs() {
        return true;
    }

    @Test
    void aRevisionThatWasGivenAgainDeceivesNobody() {
        try (var restored = EtcdServers.start(1);
                var holder = open(restored.uri(""));
                var other = open(restored.uri(""))) {
            var member = restored.member(0);
            var before = now(holder.write(key, 0, new Draft("vacant", ""), Urgency.KEEP, PATIENCE));
            member.save();
            var held = eventually(
                    () -> holder.write(key, before.revision(), new Draft("held by one", ""), Urgency.KEEP, PATIENCE));
            member.restore();
            var taken = eventually(
                    () -> other.write(key, before.revision(), new Draft("held by two", ""), Urgency.KEEP, PATIENCE));
            assertThat(taken.revision()).as("the revision is given again").isEqualTo(held.revision());

            var written = now(
                    holder.write(key, held.revision(), new Draft("held by one, renewed", ""), Urgency.KEEP, PATIENCE));

            assertThat(written).isEqualTo(Written.outdated(held.revision()));
            assertThat(now(other.read(key, Urgency.LOOK, PATIENCE)).text()).isEqualTo("held by two");
        }
    }

    @Test
    void whatIsNoRecordOfOursIsReadAsItStands() {
        try (var store = open("/foreign")) {
            put("/foreign/seats/" + key.election(), "garbage");
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE)).text()).isEqualTo("garbage");
            put("/foreign/seats/" + key.election(), "");
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE)).what()).isEqualTo(What.DELETED);
        }
    }

    /** They would go on for a quarter of an hour, for each process that has come and gone. */
    @Test
    void whoClosesLeavesNoLeaseOfItsOwnAndTakesNoneFromOthers() {
        var standby = RecordKey.standby("leaving", 1, "ann");
        try (var other = open("/leaving")) {
            var stays = RecordKey.standby("leaving", 1, "bob");
            now(other.put(stays, "bob", PATIENCE, PATIENCE));
            var before = leases();
            var store = open("/leaving");
            now(store.put(standby, "ann", PATIENCE, PATIENCE));
            now(store.put(standby, "ann", PATIENCE.multipliedBy(2), PATIENCE));
            var ours = leases();
            ours.removeAll(before);
            assertThat(ours).hasSize(2);
            store.close();
            assertThat(leases()).isNotEmpty().doesNotContainAnyElementsOf(ours);
            assertThat(now(other.list(List.of("leaving"), RecordKey.OF_STANDBY, PATIENCE))
                            .keys())
                    .containsExactly(stays);
        }
    }

    private static Set<String> leases() {
        return ID.matcher(servers.member(0).ask("lease/leases", "{}"))
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(HashSet::new));
    }

    @Test
    void aThousandSignsCostOneLeaseOfEtcd() {
        try (var store = open("/many")) {
            for (var i = 0; i < 100; i++) {
                now(store.put(RecordKey.standby("e" + i, 0, "ann"), "ann", Duration.ofMinutes(10), PATIENCE));
            }
            assertThat(servers.member(0).ask("lease/leases", "{}").split("\"ID\"", -1))
                    .hasSizeLessThan(8); // those of other tests too
        }
    }

    @Test
    void aWatchGoesOnAfterACompactionThatHasTakenWhatItMissed() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var watching = open("etcd://127.0.0.1:" + link.port() + "/compacted");
                var store = open("/compacted")) {
            var heard = new CopyOnWriteArrayList<String>();
            try (var watch = watching.watch(key, found -> heard.add(found.text()))) {
                assertThat(watch).isNotNull();
                var revision = now(store.write(key, 0, new Draft("0", ""), Urgency.KEEP, PATIENCE))
                        .revision();
                Eventually.eventually("it hears", PATIENCE, () -> heard.contains("0"));
                link.refuse();
                link.reset();
                for (var i = 1; i < 20; i++) {
                    revision = now(store.write(key, revision, new Draft("" + i, ""), Urgency.KEEP, PATIENCE))
                            .revision();
                }
                assertThat(servers.member(0)
                                .ask("kv/compaction", "{\"revision\":\"" + revision + "\",\"physical\":true}"))
                        .contains("revision");
                link.heal();
                Eventually.eventually("it hears again", PATIENCE, () -> heard.contains("19"));
                var last = now(store.write(key, revision, new Draft("last", ""), Urgency.KEEP, PATIENCE));
                assertThat(last.done()).isTrue();
                Eventually.eventually("and goes on", PATIENCE, () -> heard.contains("last"));
                assertThat(heard).doesNotContain("5");
            }
        }
    }

    @Test
    void aWriteWithoutAnAnswerIsUnknownAndNotSentAgain() {
        try (var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var store = open("etcd://127.0.0.1:" + link.port() + "," + servers.hosts() + "/once");
                var other = open("/once")) {
            link.cut();
            assertThatThrownBy(
                            () -> now(store.write(key, 0, new Draft("late", ""), Urgency.KEEP, Duration.ofMillis(300))))
                    .isInstanceOf(UnavailableException.class);
            assertThat(now(other.read(key, Urgency.LOOK, PATIENCE)))
                    .as("not sent elsewhere")
                    .isEqualTo(Found.NOTHING);
            link.heal();
        }
    }

    @Test
    void aReadingGoesOnToTheNextMemberWithinItsTime() {
        try (var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var store = open("etcd://127.0.0.1:" + link.port() + "," + servers.hosts() + "/next")) {
            link.cut();
            assertThat(now(store.read(key, Urgency.LOOK, Duration.ofSeconds(4))))
                    .isEqualTo(Found.NOTHING);
            assertThat(now(store.write(key, 0, new Draft("x", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .as("writes go where the reading was answered")
                    .isTrue();
        }
    }

    @Test
    void anotherClusterAtTheSameAddressIsNotTakenForTheOneThatItWas() {
        try (var another = EtcdServers.start(1);
                var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var store = open("etcd://127.0.0.1:" + link.port() + "/same")) {
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE))).isEqualTo(Found.NOTHING);
            assertThatThrownBy(() -> open("etcd://" + servers.hosts() + "," + another.hosts() + "/same"))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("hosts are of several");
        }
    }

    private static EtcdRecordStore open(String uriOrPrefix) {
        var uri = uriOrPrefix.startsWith("/") ? servers.uri(uriOrPrefix) : uriOrPrefix;
        return EtcdRecordStore.open(EtcdSettings.of(ConnectUri.parse(uri)), ReplaceableClient.of(HTTP));
    }

    private static void put(String name, String value) {
        var encoder = Base64.getEncoder();
        assertThat(servers.member(0)
                        .ask(
                                "kv/put",
                                "{\"key\":\"" + encoder.encodeToString(name.getBytes(StandardCharsets.UTF_8))
                                        + "\",\"value\":\""
                                        + encoder.encodeToString(value.getBytes(StandardCharsets.UTF_8))
                                        + "\"}"))
                .contains("revision");
    }
}
