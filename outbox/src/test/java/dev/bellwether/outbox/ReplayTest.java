package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/** What was published is published again, and the newest record of a key stays its last. */
class ReplayTest {
    private static List<Integer> numbers(Reader reader, String key) {
        return reader.records().stream()
                .filter(record -> Reader.key(record).equals(key))
                .map(Reader::number)
                .toList();
    }

    private static List<Integer> range(int from, int to) {
        return IntStream.range(from, to).boxed().toList();
    }

    private static long idOf(RelayStage stage, String topic, int number) {
        return stage.number("SELECT id FROM " + stage.table.name() + " WHERE topic = '" + topic
                + "' AND convert_from(record_value, 'UTF8') = '" + number + "'");
    }

    private static Map<String, Object> kafka(RelayStage stage) {
        return Map.of("bootstrap.servers", stage.bootstrap);
    }

    @Test
    void replayIsARewindOfItsTopicAndWhatIsWrittenSinceComesBehindIt() throws Exception {
        var other = Servers.fresh("topic");
        try (var stage = new RelayStage(OutboxForm.ROTATED)) {
            Servers.topic(stage.bootstrap, other, 3, Map.of());
            try (var reader = stage.reader(true);
                    var uncommitted = stage.reader(false);
                    var ofOther = new Reader(stage.bootstrap, true, other)) {
                var relay = stage.relay();
                for (var number = 0; number < 20; number++) {
                    stage.stash(
                            Message.of(stage.topic, "k", Integer.toString(number)),
                            Message.of(other, "k", Integer.toString(number)));
                }
                stage.awaitEmpty();
                var admin = OutboxAdmin.of(stage.database, stage.table);
                var from = idOf(stage, stage.topic, 10);
                assertThat(admin.replay(Replay.fromId(from).ofTopic(stage.topic), kafka(stage)))
                        .isEqualTo(10);
                stage.stash(Writers.numbered(stage.topic, "k", 20, 25));
                stage.awaitEmpty();
                var expected = Stream.of(range(0, 20), range(10, 25))
                        .flatMap(List::stream)
                        .toList();
                for (var each : List.of(reader, uncommitted)) {
                    Eventually.eventually(
                            "all is read",
                            RelayStage.PATIENCE,
                            () -> each.poll().records().size() >= expected.size());
                    assertThat(numbers(each, "k")).isEqualTo(expected);
                }
                var ids = reader.records().stream()
                        .filter(record -> Reader.number(record) == 15)
                        .map(record -> Reader.header(record, "event-id"))
                        .toList();
                assertThat(ids).hasSize(2);
                assertThat(ids.get(0)).isNotEmpty().isEqualTo(ids.get(1));
                Eventually.eventually(
                        "the other topic is read",
                        RelayStage.PATIENCE,
                        () -> ofOther.poll().records().size() >= 20);
                assertThat(numbers(ofOther, "k")).isEqualTo(range(0, 20));

                assertThat(admin.replay(Replay.since(Instant.now().plus(Duration.ofDays(1))), kafka(stage)))
                        .isZero();
                assertThat(admin.replay(Replay.since(Instant.EPOCH), kafka(stage)))
                        .as("all that is kept, of both topics")
                        .isEqualTo(45);
                stage.awaitEmpty();
                Eventually.eventually(
                        "it is read again",
                        RelayStage.PATIENCE,
                        () -> reader.poll().records().size() >= expected.size() + 25);
                assertThat(numbers(reader, "k"))
                        .isEqualTo(Stream.of(expected, range(0, 25))
                                .flatMap(List::stream)
                                .toList());
                assertThat(relay.stats().get(0).strays())
                        .as("rows that nobody expected where they were read")
                        .isZero();
            }
        }
    }

    @Test
    void whatIsNotAllThereIsRefusedUntilItBeginsBehindThat() throws Exception {
        try (var stage = new RelayStage(OutboxForm.ROTATED);
                var reader = stage.reader(true)) {
            stage.relay(more -> more.retain(Duration.ofDays(1)));
            var written = 0;
            for (; written < 300; written += 50) {
                stage.stash(Writers.numbered(stage.topic, "k", written, written + 50));
                stage.awaitEmpty();
            }
            var all = written;
            // the last row is in the second of four parts, for 60 rows each
            var third = "SELECT count(*) FROM " + stage.table.name() + " WHERE id BETWEEN 120 AND 179";
            Eventually.eventually(
                    "the part that is needed next is emptied", RelayStage.PATIENCE, () -> stage.number(third) == 0);
            var admin = OutboxAdmin.of(stage.database, stage.table);
            var refused = catchThrowableOfType(
                    IllegalStateException.class, () -> admin.replay(Replay.fromId(1), kafka(stage)));
            assertThat(refused).isNotNull();
            var message = Pattern.compile("The last that is gone is row (\\d+)").matcher(refused.getMessage());
            assertThat(message.find()).as("%s", refused.getMessage()).isTrue();
            var gone = Long.parseLong(message.group(1));
            var first = stage.number("SELECT convert_from(record_value, 'UTF8')::integer FROM " + stage.table.name()
                    + " WHERE id = " + (gone + 1));
            assertThat(admin.replay(Replay.fromId(gone + 1), kafka(stage))).isEqualTo(all - first);
            stage.awaitEmpty();
            Eventually.eventually(
                    "it is read again",
                    RelayStage.PATIENCE,
                    () -> reader.poll().records().size() >= 2L * all - first);
            assertThat(numbers(reader, "k"))
                    .isEqualTo(Stream.of(range(0, all), range((int) first, all))
                            .flatMap(List::stream)
                            .toList());
        }
    }

    @Test
    void partOfItIsPublishedIntoAnotherTopicOnly() throws Exception {
        var other = Servers.fresh("topic");
        try (var stage = new RelayStage(OutboxForm.ROTATED)) {
            Servers.topic(stage.bootstrap, other, 3, Map.of());
            try (var reader = stage.reader(true);
                    var ofOther = new Reader(stage.bootstrap, true, other)) {
                stage.relay();
                stage.stash(Writers.numbered(stage.topic, "k", 0, 20));
                stage.awaitEmpty();
                var admin = OutboxAdmin.of(stage.database, stage.table);
                var some = Replay.fromId(idOf(stage, stage.topic, 5)).toId(idOf(stage, stage.topic, 11));
                assertThatThrownBy(() -> admin.replay(some, kafka(stage)))
                        .as("NEVER: an old record is the last of its key")
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("could be the last of its key");
                assertThatThrownBy(() -> admin.replayInto(stage.topic, some, kafka(stage)))
                        .as("NEVER: an old record is the last of its key")
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("topic " + stage.topic + " has records from " + stage.table.name());
                assertThat(admin.replayInto(other, some.ofTopic(stage.topic), kafka(stage)))
                        .isEqualTo(7);
                assertThat(admin.replayInto(other, some.ofTopic("none"), kafka(stage)))
                        .isZero();
                Eventually.eventually(
                        "it is read",
                        RelayStage.PATIENCE,
                        () -> ofOther.poll().records().size() >= 7);
                assertThat(numbers(ofOther, "k")).isEqualTo(range(5, 12));
                Eventually.eventually(
                        "all is read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().records().size() >= 20);
                var before = new ArrayList<String>();
                var after = new ArrayList<String>();
                reader.records().forEach(record -> before.add(Reader.header(record, "event-id")));
                ofOther.records().forEach(record -> after.add(Reader.header(record, "event-id")));
                assertThat(after).isEqualTo(before.subList(5, 12));
                assertThat(numbers(reader, "k")).isEqualTo(range(0, 20));
                assertThat(admin.replayInto(other, Replay.since(Instant.EPOCH).until(Instant.EPOCH), kafka(stage)))
                        .isZero();
            }
        }
    }

    /** A record that is requeued has a new id, and the time at which it was first stashed. */
    @Test
    void whatIsPublishedSinceATimeHasWhatWasRequeuedBehindItsFirst() throws Exception {
        var other = Servers.fresh("topic");
        try (var stage = new RelayStage(OutboxForm.ROTATED)) {
            Servers.topic(stage.bootstrap, other, 3, Map.of());
            stage.relay(more -> more.poison(Poison.PARK));
            stage.stash(
                    Message.to(stage.topic).key("k").value("0").partition(99).build());
            stage.await(RelayEvent.Parked.class);
            stage.stash(Writers.numbered(stage.topic, "k", 1, 2));
            stage.awaitEmpty();
            stage.execute("UPDATE " + stage.table.parked() + " SET record_partition = NULL");
            var admin = OutboxAdmin.of(stage.database, stage.table);
            assertThat(admin.requeueTopic(stage.topic)).isOne();
            stage.awaitEmpty();
            var since = Replay.since(
                    Instant.ofEpochMilli(stage.number("SELECT ceil(extract(epoch FROM max(created)) * 1000)" + " FROM "
                            + stage.table.name() + " WHERE convert_from(record_value, 'UTF8') = '0'")));
            assertThat(admin.replayInto(other, since, kafka(stage))).isEqualTo(2);
            assertThat(admin.replay(since, kafka(stage))).isEqualTo(2);
        }
    }

    /** A vacuum, or an index that is made concurrently, takes the same lock, perhaps for an hour. */
    @Test
    void whoGivesUpWaitingForTheTableKeepsNoRelayWaiting() throws Exception {
        try (var stage = new RelayStage(OutboxForm.ROTATED);
                var vacuum = stage.connect();
                var held = vacuum.createStatement()) {
            stage.relay();
            stage.stash(Writers.numbered(stage.topic, "k", 0, 5));
            stage.awaitEmpty();
            var impatient = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var result = FaultyDatabase.call(stage.database, method, arguments);
                if (result instanceof Connection connection) {
                    connection.setNetworkTimeout(Runnable::run, 3_000);
                }
                return result;
            });
            vacuum.setAutoCommit(false);
            held.execute("LOCK TABLE " + stage.table.name() + " IN SHARE UPDATE EXCLUSIVE MODE");

            assertThatThrownBy(() ->
                            OutboxAdmin.of(impatient, stage.table).replay(Replay.since(Instant.EPOCH), kafka(stage)))
                    .isInstanceOf(SQLException.class);

            Eventually.eventually(
                    "nobody waits for the table",
                    Duration.ofSeconds(20),
                    () -> stage.number("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '"
                                    + stage.table.name() + "'::regclass")
                            == 0);
            stage.stash(Writers.numbered(stage.topic, "k", 5, 10));
            stage.awaitEmpty();
        }
    }

    @Test
    void nameThatLeadsToNoBrokerIsToldOfAsWhatCouldNotBeFenced() throws Exception {
        try (var stage = new RelayStage(OutboxForm.ROTATED)) {
            stage.relay();
            stage.await(RelayEvent.LeaderRefreshed.class);
            assertThatThrownBy(() -> OutboxAdmin.of(stage.database, stage.table)
                            .replay(Replay.fromId(1), Map.of("bootstrap.servers", "broker")))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("nothing was changed (Invalid url in bootstrap.servers: broker)");
        }
    }

    @Test
    void plainTableHasNothingToPublishAgain() throws Exception {
        try (var stage = new RelayStage(OutboxForm.PLAIN)) {
            var admin = OutboxAdmin.of(stage.database, stage.table);
            stage.relay();
            stage.await(RelayEvent.LeaderRefreshed.class);
            assertThatThrownBy(() -> admin.replay(Replay.fromId(1), kafka(stage)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("table " + stage.table.name() + " is plain");
            assertThatThrownBy(() -> admin.replayInto("another", Replay.fromId(1), kafka(stage)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("table " + stage.table.name() + " is plain");
        }
    }

    private static RotatedStore rotated(Connection connection, RelayStage stage) throws SQLException {
        return (RotatedStore) Store.of(connection, stage.table).asFound(connection);
    }

    /** Between two pages, a row that was open is committed, and published, and so is the next of its key. */
    @Test
    void whatIsReadIsOneSnapshotSoNoRecordComesWithoutItsPredecessor() throws Exception {
        try (var stage = new RelayStage(OutboxForm.ROTATED);
                var late = stage.connect();
                var publishing = stage.connect();
                var reading = stage.connect()) {
            var store = rotated(publishing, stage);
            store.prepare(publishing, true);
            var epoch = store.acquire(publishing, new Store.Claim(stage.name, 0, 1, "x", false))
                    .epoch();
            late.setAutoCommit(false);
            Outbox.of(stage.table).stash(late, Message.of(stage.topic, "k", "0")); // its id is 1
            stage.stash(Writers.numbered(stage.topic, "other", 0, 600));
            store.delete(publishing, 0, epoch, LongStream.rangeClosed(2, 601).toArray());
            var read = new ArrayList<Long>();
            new Republisher(reading, store, Replay.fromId(1))
                    .read(
                            rows -> {
                                var first = read.isEmpty();
                                rows.forEach(row -> read.add(row.id()));
                                if (first) {
                                    try {
                                        late.commit();
                                        stage.stash(Message.of(stage.topic, "k", "1"));
                                        store.delete(publishing, 0, epoch, new long[] {1, 602});
                                    } catch (SQLException e) {
                                        throw new IllegalStateException(e);
                                    }
                                }
                            },
                            Duration.ofMinutes(2));
            assertThat(read)
                    .as("NEVER: row 602 without row 1, which is before it in its key")
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(2, 601).boxed().toList());
        }
    }

    @Test
    void partIsNotEmptiedBetweenTwoPages() throws Exception {
        try (var stage = new RelayStage(OutboxForm.ROTATED);
                var publishing = stage.connect();
                var reading = stage.connect()) {
            var store = rotated(publishing, stage);
            store.prepare(publishing, true);
            var epoch = store.acquire(publishing, new Store.Claim(stage.name, 0, 1, "x", false))
                    .epoch();
            stage.stash(Writers.numbered(stage.topic, "k", 0, 600));
            store.delete(publishing, 0, epoch, LongStream.rangeClosed(1, 600).toArray());
            var part = store.ring().part(550);
            var read = new ArrayList<Long>();
            new Republisher(reading, store, Replay.fromId(1))
                    .read(
                            rows -> {
                                assertThat(read).doesNotContain(550L);
                                rows.forEach(row -> read.add(row.id()));
                                try {
                                    store.empty(publishing, part);
                                } catch (SQLException e) {
                                    throw new IllegalStateException(e);
                                }
                            },
                            Duration.ofMinutes(2));
            assertThat(read)
                    .as("NEVER: some are left out, and nobody is told")
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(1, 600).boxed().toList());
            assertThat(store.empty(publishing, part)).as("afterwards it is").isTrue();
            assertThat(reading.getAutoCommit()).isTrue();
        }
    }

    @Test
    void largeValuesAreReadAFewAtATime() throws Exception {
        try (var stage = new RelayStage(OutboxForm.ROTATED);
                var publishing = stage.connect();
                var reading = stage.connect()) {
            var store = rotated(publishing, stage);
            store.prepare(publishing, true);
            var epoch = store.acquire(publishing, new Store.Claim(stage.name, 0, 1, "x", false))
                    .epoch();
            stage.execute("INSERT INTO " + stage.table.name() + " (topic, record_value) SELECT 't',"
                    + " convert_to(i || repeat('x', CASE WHEN i % 2 = 0 THEN 2000000 ELSE 1 END), 'UTF8')"
                    + " FROM generate_series(1, 40) AS i");
            store.delete(publishing, 0, epoch, LongStream.rangeClosed(1, 40).toArray());
            var read = new ArrayList<Long>();
            new Republisher(reading, store, Replay.fromId(1))
                    .read(
                            rows -> {
                                assertThat(rows.stream().mapToLong(Row::weight).sum())
                                        .as("bytes in memory")
                                        .isLessThanOrEqualTo(16 << 20);
                                assertThat(rows).allSatisfy(row -> {
                                    assertThat(row.value())
                                            .hasSize((int) row.size())
                                            .startsWith(Long.toString(row.id())
                                                    .getBytes(java.nio.charset.StandardCharsets.UTF_8));
                                    read.add(row.id());
                                });
                            },
                            Duration.ofMinutes(2));
            assertThat(read)
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(1, 40).boxed().toList());
        }
    }
}
