package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class RelayTest {

    @Test
    void recordArrivesAsItWasStashed() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            var message = Message.to(stage.topic)
                    .key("customer-7")
                    .value(new byte[] {0, 1, (byte) 0xff})
                    .header("type", "Created")
                    .header("binary", new byte[] {9, 0, 10})
                    .header("nothing", (String) null)
                    .partition(2)
                    .timestamp(Instant.ofEpochMilli(1_700_000_000_123L))
                    .build();
            stage.stash(message, Message.of(stage.topic, "gone", null));
            stage.relay();
            Eventually.eventually(
                    "both are read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().records().size() == 2);
            var record = reader.records().stream()
                    .filter(r -> r.value() != null)
                    .findFirst()
                    .orElseThrow();
            assertThat(record.key()).isEqualTo("customer-7".getBytes(UTF_8));
            assertThat(record.value()).containsExactly(0, 1, 0xff);
            assertThat(record.partition()).isEqualTo(2);
            assertThat(record.timestamp()).isEqualTo(1_700_000_000_123L);
            assertThat(Reader.header(record, "event-id"))
                    .isEqualTo(message.eventId().toString());
            assertThat(Reader.header(record, "type")).isEqualTo("Created");
            assertThat(record.headers().lastHeader("binary").value()).containsExactly(9, 0, 10);
            assertThat(record.headers().lastHeader("nothing").value()).isNull();
            var tombstone = reader.records().stream()
                    .filter(r -> r.value() == null)
                    .findFirst()
                    .orElseThrow();
            assertThat(Reader.key(tombstone)).isEqualTo("gone");
            stage.awaitEmpty();
        }
    }

    @Test
    void traceOfTheWriterGoesOnAtTheConsumer() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            var spans = List.of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-a-later-span")
                    .iterator();
            var traced = Outbox.of(stage.table)
                    .withContext(() -> Map.of("traceparent", spans.next(), "tracestate", "vendor=1"));
            var own = Message.to(stage.topic)
                    .key("own")
                    .header("traceparent", "00-of-its-own")
                    .build();
            try (var connection = stage.connect()) {
                traced.stash(connection, Message.of(stage.topic, "first", "1"));
                traced.stash(connection, List.of(Message.of(stage.topic, "second", "2"), own));
            }
            stage.relay();
            Eventually.eventually(
                    "all are read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().records().size() == 3);
            var parents = reader.records().stream()
                    .collect(Collectors.toMap(Reader::key, record -> Reader.header(record, "traceparent")));
            assertThat(parents)
                    .containsEntry("first", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
                    .containsEntry("second", "00-a-later-span")
                    .containsEntry("own", "00-of-its-own");
            assertThat(reader.records())
                    .extracting(record -> Reader.header(record, "tracestate"))
                    .containsOnly("vendor=1");
        }
    }

    @Test
    void concurrentWritersAreReadInOrderAndNothingIsLost() throws Exception {
        try (var stage = new RelayStage();
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            stage.relay();
            var written = new Writers(stage.database, stage.table, stage.topic, 30).write(8, 2_000, 1);
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> committed.poll().ledger().isComplete(written)
                            && uncommitted.poll().ledger().isComplete(written));
            assertThat(committed.faults(written)).isEmpty();
            assertThat(uncommitted.faults(written)).isEmpty();
            assertThat(committed.ledger().repeats()).isZero();
        }
    }

    @Test
    void rowThatCommitsLateIsPublishedBeforeItsSuccessorsAndSoonerThanASweep() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true);
                var slow = stage.connect()) {
            stage.relay(more -> more.sweepInterval(Duration.ofHours(1)));
            slow.setAutoCommit(false);
            Outbox.of(stage.table).stash(slow, Message.of(stage.topic, "slow", "0"));
            stage.stash(Writers.numbered(stage.topic, "quick", 0, 100));
            Eventually.eventually(
                    "the quick are read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("quick", 100)));
            slow.commit();
            stage.stash(Writers.numbered(stage.topic, "slow", 1, 3));
            var written = Map.of("quick", 100, "slow", 3);
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written));
            assertThat(reader.faults(written)).isEmpty();
        }
    }

    @Test
    void handOverInTheMidstOfItRepeatsNothing() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(false)) {
            // a twentieth of the lease is what draining may take
            var relay = stage.relay(more -> more.candidate("relay-0").lease(Duration.ofMinutes(10)));
            var writers = new Writers(stage.database, stage.table, stage.topic, 10).pausing(5);
            var writing = writers.begin(3, Integer.MAX_VALUE, 8);
            for (var next = 1; next <= 4; next++) {
                var soFar = reader.poll().ledger().records();
                Eventually.eventually(
                        "some are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().records() > soFar + 100);
                var name = "relay-" + next;
                var successor = stage.relay(more -> more.candidate(name).lease(Duration.ofMinutes(10)));
                relay.close();
                relay = successor;
            }
            writers.stop();
            var written = writing.join();
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written));
            assertThat(reader.faults(written)).isEmpty();
            assertThat(reader.ledger().repeats()).isZero();
        }
    }

    @Test
    void successorTakesOverWhatIsLeft() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            var first = stage.relay(more -> more.candidate("first"));
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            stage.awaitEmpty();
            stage.relay(more -> more.candidate("second"));
            first.close();
            stage.stash(Writers.numbered(stage.topic, "k", 10, 20));
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 20)));
            assertThat(reader.faults(Map.of("k", 20))).isEmpty();
            assertThat(reader.ledger().repeats()).isZero();
            assertThat(stage.events.stream()
                            .filter(e -> !(e instanceof RelayEvent.MeterRead))
                            .map(e -> e.getClass().getSimpleName()))
                    .isEqualTo(List.of(
                            "LeaderAcquired", "LeaderRefreshed", "LeaderRevoked", "LeaderAcquired", "LeaderRefreshed"));
        }
    }
}
