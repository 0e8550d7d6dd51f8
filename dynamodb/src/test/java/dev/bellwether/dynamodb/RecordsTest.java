package dev.bellwether.dynamodb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.fixtures.DynamoDbGateway;
import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.fixtures.RecordFacts;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.api.RetryStrategy;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;

/** What the store does with records, one by one. */
@Timeout(300)
class RecordsTest extends RecordFacts {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    /** What is displayed for so long is there until its test is over. */
    private static final Duration KEPT = Duration.ofHours(1);

    private static final String TABLE = "records";

    @SuppressWarnings("NullAway.Init")
    private static DynamoDbServer server;

    @SuppressWarnings("NullAway.Init")
    private static DynamoDbAsyncClient sdk;

    @BeforeAll
    static void startServer() {
        server = DynamoDbServer.launch();
        sdk = client(URI.create("http://127.0.0.1:" + server.port()), AwsRetryStrategy.doNotRetry());
    }

    @AfterAll
    static void stopServer() {
        sdk.close();
        server.close();
    }

    @Override
    protected RecordStore opened(String name) {
        return open("&prefix=" + name);
    }

    @Override
    protected String within(String name) {
        return name + "/seats";
    }

    @Override
    protected List<String> moreNames() {
        return List.of("🐑".repeat(200));
    }

    private static DynamoDbAsyncClient client(URI endpoint, RetryStrategy retries) {
        return DynamoDbAsyncClient.builder()
                .region(Region.US_EAST_1)
                .endpointOverride(endpoint)
                .overrideConfiguration(override -> override.retryStrategy(retries))
                .build();
    }

    @Test
    void revisionsRiseWhenTheItemIsDeleted() {
        try (var store = open("");
                var other = open("")) {
            var first = now(store.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE));
            var second = now(store.write(key, first.revision(), new Draft("two", ""), Urgency.KEEP, PATIENCE));
            pause();
            now(store.remove(key, PATIENCE));
            assertThat(now(store.write(key, second.revision(), new Draft("three", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isFalse();
            assertThat(now(other.write(key, 0, new Draft("three", ""), Urgency.KEEP, PATIENCE))
                            .revision())
                    .isGreaterThan(second.revision());
        }
    }

    @Test
    void revisionsRiseWhenTheTableIsDeletedAndMadeAgain() {
        try (var store = open("again", "")) {
            var first = now(store.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE));
            pause();
            server.ask("UpdateTable", "{\"TableName\":\"again\",\"DeletionProtectionEnabled\":false}");
            assertThat(server.ask("DeleteTable", "{\"TableName\":\"again\"}")).contains("TableDescription");
            Eventually.eventually(
                    "it is gone",
                    PATIENCE,
                    () -> server.ask("DescribeTable", "{\"TableName\":\"again\"}")
                            .contains("ResourceNotFound"));
            assertThatThrownBy(() -> now(store.read(key, Urgency.LOOK, PATIENCE)))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("no table \"again\" in us-east-1 any more");
            try (var other = open("again", "")) {
                assertThat(now(other.read(key, Urgency.LOOK, PATIENCE))).isEqualTo(Found.NOTHING);
                assertThat(now(other.write(key, 0, new Draft("two", ""), Urgency.KEEP, PATIENCE))
                                .revision())
                        .isGreaterThan(first.revision());
            }
        }
    }

    /** Clocks are told in full seconds: what is deleted and written again within one may go back by as much. */
    private static void pause() {
        var later = Instant.now().plusMillis(1_500);
        Eventually.eventually(
                "the second is over", PATIENCE, () -> Instant.now().isAfter(later));
    }

    @Test
    void aRevisionThatWasGivenAgainDeceivesNobody() {
        try (var holder = open("");
                var other = open("")) {
            var held = now(holder.write(key, 0, new Draft("held by one", ""), Urgency.KEEP, PATIENCE));
            // a table restored to a time before, and written by another since: the same revision, another record
            var item = "{\"pk\":{\"S\":\"bellwether#seats\"},\"sk\":{\"S\":\"" + key.election()
                    + "\"},\"rev\":{\"N\":\"" + held.revision() + "\"},\"body\":{\"S\":\"held by two\"}}";
            server.ask("PutItem", "{\"TableName\":\"" + TABLE + "\",\"Item\":" + item + "}");
            assertThat(now(other.read(key, Urgency.LOOK, PATIENCE)).revision()).isEqualTo(held.revision());

            var written = now(
                    holder.write(key, held.revision(), new Draft("held by one, renewed", ""), Urgency.KEEP, PATIENCE));

            assertThat(written.done()).isFalse();
            assertThat(now(other.read(key, Urgency.LOOK, PATIENCE)).text()).isEqualTo("held by two");
        }
    }

    @Test
    void aWriteThatAClientSendsTwiceIsNotTakenForThatOfAnother() {
        try (var gateway = DynamoDbGateway.to(server);
                var eager = client(gateway.endpoint(), AwsRetryStrategy.standardRetryStrategy());
                var store = open(gateway.uri(TABLE, "&create=true"), eager)) {
            gateway.swallow("PutItem", 1);
            var first = now(store.write(key, 0, new Draft("one", ""), Urgency.KEEP, PATIENCE));
            assertThat(gateway.count("PutItem")).isEqualTo(2);
            assertThat(first.done()).isTrue();
            assertThat(now(store.read(key, Urgency.LOOK, PATIENCE)).revision()).isEqualTo(first.revision());
            gateway.swallow("PutItem", 1);
            assertThat(now(store.write(key, first.revision(), new Draft("two", ""), Urgency.KEEP, PATIENCE))
                            .done())
                    .isTrue();
            assertThat(gateway.count("PutItem")).isEqualTo(4);
        }
    }

    @Test
    void aWriteWithoutAnAnswerIsUnknownAndOurClientDoesNotSendItAgain() {
        try (var gateway = DynamoDbGateway.to(server);
                var connections = DynamoDbProvider.connections();
                var other = open("")) {
            var settings = DynamoDbSettings.of(ConnectUri.parse(gateway.uri(TABLE, "&create=true")));
            var client = DynamoDbProvider.client(settings, connections);
            try (var store = DynamoDbRecordStore.open(settings, client, connections::unanswered, client::close)) {
                var session = store.session();
                gateway.swallow("PutItem", 1);
                assertThatThrownBy(() -> now(store.write(key, 0, new Draft("unheard", ""), Urgency.KEEP, PATIENCE)))
                        .isInstanceOf(UnavailableException.class);
                assertThat(gateway.count("PutItem")).isEqualTo(1);
                assertThat(store.session()).isNotEqualTo(session);
                assertThat(now(other.read(key, Urgency.LOOK, PATIENCE)).text()).isEqualTo("unheard");
            }
        }
    }

    @Test
    void aRequestThatIsNotAnsweredIsGivenUpInTime() {
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var cut = client(URI.create("http://127.0.0.1:" + link.port()), AwsRetryStrategy.doNotRetry());
                var store = open(DynamoDbServer.uri(link.port(), TABLE, "&create=true"), cut)) {
            link.cut();
            var begun = System.nanoTime();
            assertThatThrownBy(
                            () -> now(store.write(key, 0, new Draft("late", ""), Urgency.KEEP, Duration.ofMillis(300))))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("did not answer PutItem within 300 ms");
            assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(5));
            link.heal();
            Eventually.eventually("it answers again", PATIENCE, () -> {
                try {
                    return now(store.read(RecordKey.seat("nothing"), Urgency.LOOK, Duration.ofSeconds(1)))
                            .equals(Found.NOTHING);
                } catch (UnavailableException e) {
                    return false;
                }
            });
        }
    }

    @Test
    void anItemOfOthersIsNamedAndNotWrittenOver() {
        try (var store = open("")) {
            var foreign = "{\"pk\":{\"S\":\"bellwether#seats\"},\"sk\":{\"S\":\"" + key.election() + "\"}}";
            server.ask("PutItem", "{\"TableName\":\"" + TABLE + "\",\"Item\":" + foreign + "}");
            assertThatThrownBy(() -> now(store.read(key, Urgency.LOOK, PATIENCE)))
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("the item bellwether#seats " + key.election())
                    .hasMessageContaining("was not written by Bellwether");
            assertThatThrownBy(() -> now(store.write(key, 0, new Draft("x", ""), Urgency.KEEP, PATIENCE)))
                    .isInstanceOf(ElectionException.class);
            now(store.remove(key, PATIENCE));
        }
    }

    @Test
    void whoListsWhatHasLongBeenGoneRemovesIt() {
        try (var store = open("&prefix=gone")) {
            var old = RecordKey.standby("old", 0, "cy");
            now(store.put(old, "cy", Duration.ofDays(-1), PATIENCE));
            assertThat(now(store.list(List.of("old"), RecordKey.OF_STANDBY, PATIENCE))
                            .keys())
                    .isEmpty();
            Eventually.eventually(
                    "it is removed",
                    PATIENCE,
                    () -> now(store.read(old, Urgency.LOOK, PATIENCE)).equals(Found.NOTHING));
        }
    }

    @Test
    void aListOfManyPagesIsWhole() {
        try (var store = open("&prefix=pages")) {
            var text = "x".repeat(300_000); // a page is a megabyte
            for (var i : IntStream.range(0, 8).toArray()) {
                now(store.put(RecordKey.standby("many", i, "ann"), text, KEPT, PATIENCE));
            }
            var listed = now(store.list(List.of("many"), RecordKey.OF_STANDBY, PATIENCE));
            assertThat(listed.isWhole()).isTrue();
            assertThat(listed.keys()).extracting(RecordKey::priority).containsExactlyInAnyOrder(0, 1, 2, 3, 4, 5, 6, 7);
        }
    }

    @Test
    void whatChangesIsHeardOfOnceAndWhatWasMissedToo() {
        try (var watching = open("&poll=100ms");
                var store = open("")) {
            var heard = new CopyOnWriteArrayList<String>();
            var first = now(store.write(key, 0, new Draft("0", ""), Urgency.KEEP, PATIENCE));
            var watch = watching.watch(key, found -> heard.add(found.text()));
            Eventually.eventually("it hears", PATIENCE, () -> heard.contains("0"));
            Eventually.throughout("it hears it once", Duration.ofMillis(500), () -> heard.size() == 1);
            var second = now(store.write(key, first.revision(), new Draft("1", ""), Urgency.KEEP, PATIENCE));
            Eventually.eventually("it hears the next", PATIENCE, () -> heard.contains("1"));
            watch.close();
            now(store.write(key, second.revision(), new Draft("2", ""), Urgency.KEEP, PATIENCE));
            Eventually.throughout("closed, it hears no more", Duration.ofMillis(500), () -> heard.size() == 2);
        }
    }

    @Test
    void moreIsWatchedThanOneRequestHoldsAndEachHasItsTurn() {
        try (var gateway = DynamoDbGateway.to(server);
                var counted = client(gateway.endpoint(), AwsRetryStrategy.doNotRetry());
                var store = open(gateway.uri(TABLE, "&create=true&poll=1s"), counted)) {
            var heard = new CopyOnWriteArrayList<String>();
            for (var i : IntStream.range(0, 250).toArray()) {
                var one = RecordKey.seat(key.election() + i);
                now(store.write(one, 0, new Draft("r" + i, ""), Urgency.KEEP, PATIENCE));
                assertThat(store.watch(one, found -> heard.add(found.text()))).isNotSameAs(Watch.NONE);
            }
            Eventually.eventually("all are heard", PATIENCE, () -> heard.size() == 250);
            assertThat(heard).doesNotHaveDuplicates();
            var reads = gateway.count("GetItem");
            Eventually.throughout(
                    "no more than a hundred in a poll",
                    Duration.ofSeconds(2),
                    () -> gateway.count("GetItem") - reads <= 300);
        }
    }

    /** Its list is read from a copy that may be old, and answered later still. */
    @Test
    void aStandbyThatCameBackIsNotRemovedByAListFromBefore() {
        var standby = RecordKey.standby(key.election(), 0, "comes back");
        try (var gateway = DynamoDbGateway.to(server);
                var listing = client(gateway.endpoint(), AwsRetryStrategy.doNotRetry());
                var store = open(gateway.uri(TABLE, "&create=true"), listing);
                var other = open("")) {
            now(other.put(standby, "one", Duration.ofMinutes(-2), PATIENCE));
            pause();
            gateway.change("Query", said -> {
                now(other.put(standby, "two", Duration.ofMinutes(2), PATIENCE));
                return said;
            });
            assertThat(now(store.list(List.of(key.election()), RecordKey.OF_STANDBY, PATIENCE))
                            .keys())
                    .isEmpty();
            Eventually.eventually("it is cleaned", PATIENCE, () -> gateway.count("DeleteItem") == 1);
            Eventually.throughout(
                    "it is listed",
                    Duration.ofMillis(500),
                    () -> now(other.list(List.of(key.election()), RecordKey.OF_STANDBY, PATIENCE))
                            .keys()
                            .contains(standby));
        }
    }

    @Test
    void aListRemovesAFewOfThoseThatAreGone() {
        try (var gateway = DynamoDbGateway.to(server);
                var counted = client(gateway.endpoint(), AwsRetryStrategy.doNotRetry());
                var store = open(gateway.uri(TABLE, "&create=true"), counted)) {
            var gone = IntStream.range(0, 30)
                    .mapToObj(i -> RecordKey.standby(key.election(), 0, "c" + i))
                    .toList();
            gone.forEach(one -> now(store.put(one, "gone", Duration.ofMinutes(-2), PATIENCE)));
            now(store.list(List.of(key.election()), RecordKey.OF_STANDBY, PATIENCE));
            Eventually.eventually("some are removed", PATIENCE, () -> present(store, gone) == 10);
            Eventually.throughout("no more than that", Duration.ofMillis(300), () -> gateway.count("DeleteItem") == 20);
            now(store.list(List.of(key.election()), RecordKey.OF_STANDBY, PATIENCE));
            Eventually.eventually("the others too", PATIENCE, () -> present(store, gone) == 0);
            assertThat(gateway.count("DeleteItem")).isEqualTo(30);
        }
    }

    private static long present(DynamoDbRecordStore store, List<RecordKey> keys) {
        return keys.stream()
                .filter(one -> !now(store.read(one, Urgency.LOOK, PATIENCE)).equals(Found.NOTHING))
                .count();
    }

    @Test
    void whileNobodyAnswersWhatIsWatchedTakesNoPlaceFromLeases() {
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var cut = client(URI.create("http://127.0.0.1:" + link.port()), AwsRetryStrategy.doNotRetry());
                var store = open(DynamoDbServer.uri(link.port(), TABLE, "&create=true&poll=100ms"), cut)) {
            for (var i : IntStream.range(0, 100).toArray()) {
                assertThat(store.watch(RecordKey.seat(key.election() + i), found -> {}))
                        .isNotSameAs(Watch.NONE);
            }
            link.cut();
            var session = store.session();
            Eventually.eventually("a read is given up", PATIENCE, () -> {
                assertThat(store.isCrowded()).as("requests wait for their turn").isFalse();
                return !store.session().equals(session);
            });
        }
    }

    @Test
    void whoWantsNoPollIsToldNothing() {
        try (var store = open("&poll=0")) {
            assertThat(store.watch(key, found -> {})).isSameAs(Watch.NONE);
        }
    }

    private static DynamoDbRecordStore open(String rest) {
        return open(TABLE, rest);
    }

    private static DynamoDbRecordStore open(String table, String rest) {
        return open(server.uri(table, "&create=true" + rest), sdk);
    }

    private static DynamoDbRecordStore open(String uri, DynamoDbAsyncClient given) {
        return DynamoDbRecordStore.open(DynamoDbSettings.of(ConnectUri.parse(uri)), given, () -> {}, () -> {});
    }
}
