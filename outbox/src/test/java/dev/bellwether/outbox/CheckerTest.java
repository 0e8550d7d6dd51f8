package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.junit.jupiter.api.Test;

/** What the checker sees, and that it sees relays which lack what makes ours safe. */
class CheckerTest {

    @Test
    void rewindsAreNoFaultAndAllElseIs() {
        assertThat(faults(5, 0, 1, 2, 3, 4)).isEmpty();
        assertThat(faults(5, 0, 1, 2, 1, 2, 3, 3, 4, 0, 1, 2, 3, 4)).isEmpty();
        assertThat(faults(5, 0, 1, 3, 4)).singleElement().asString().contains("overtakes 2");
        assertThat(faults(5, 0, 1, 2, 3)).singleElement().asString().contains("lost");
        assertThat(faults(5, 0, 1, 2, 3, 4, 2)).singleElement().asString().contains("stale tail");
        assertThat(faults(5, 0, 1, 3, 4, 2)).hasSize(2).allMatch(fault -> fault.startsWith(Never.MARK));
        assertThat(faults(5, 0, 1, 2, 3, 4, 1, 4)).singleElement().asString().contains("in a rewind");
        assertThat(new Ledger().faults(Map.of("k", 2)))
                .singleElement()
                .asString()
                .contains("lost");
    }

    private static List<String> faults(int written, int... read) {
        var ledger = new Ledger();
        for (var number : read) {
            ledger.read("k", number);
        }
        return ledger.faults(Map.of("k", written));
    }

    @Test
    void twoThatBothBelieveToLeadKeepTheOrder() throws Exception {
        // the worst that an election could do: each leads for all of the time
        try (var stage = new RelayStage();
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false);
                var here = Elections.connect("memory:" + stage.name + "-here");
                var there = Elections.connect("memory:" + stage.name + "-there")) {
            var config = stage.config(more -> more.maxTransactionRecords(20)
                    .backoff(Duration.ofMillis(50))
                    .maxBackoff(Duration.ofMillis(400)));
            var relays = new ArrayList<OutboxRelay>();
            relays.add(OutboxRelay.start(stage.database, config, here, false, KafkaProducer::new));
            relays.add(OutboxRelay.start(stage.database, config, there, false, KafkaProducer::new));
            var written = new Writers(stage.database, stage.table, stage.topic, 10).write(4, 1_500, 2);
            Eventually.eventually(
                    "they have been in each other's way",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream()
                                            .filter(RelayEvent.Faulted.class::isInstance)
                                            .count()
                                    > 3
                            || stage.left() == 0);
            relays.get(1).close();
            stage.awaitEmpty();
            Eventually.eventually(
                    "the last of each key is read",
                    RelayStage.PATIENCE,
                    () -> committed.poll().ledger().records()
                            >= written.values().stream().mapToInt(n -> n).sum());
            readAll(committed, written);
            readAll(uncommitted, written);
            relays.get(0).close();
            assertThat(committed.faults(written)).isEmpty();
            assertThat(uncommitted.faults(written)).isEmpty();
        }
    }

    private static void readAll(Reader reader, Map<String, Integer> written) {
        for (var quiet = 0; quiet < 10; ) {
            var before = reader.ledger().records();
            reader.poll();
            quiet = reader.ledger().records() == before ? quiet + 1 : 0;
        }
        assertThat(written).isNotEmpty();
    }

    @Test
    void checkerCatchesARelayThatDeletesBeforeTheAcknowledgement() throws Exception {
        try (var stage = new RelayStage();
                var committed = stage.reader(true)) {
            // it says that it has committed, and does so with the next transaction
            var early = stage.relay(more -> more.candidate("early"), properties -> {
                return FaultyProducer.of(properties, new FaultyProducer.Fault() {
                    private boolean owing;

                    @Override
                    public boolean instead(Producer<byte[], byte[]> producer, String method) {
                        if (method.equals("beginTransaction") && owing) {
                            producer.commitTransaction();
                        }
                        owing |= method.equals("commitTransaction");
                        return method.equals("commitTransaction");
                    }
                });
            });
            stage.stash(Writers.numbered(stage.topic, "k", 0, 50));
            stage.awaitEmpty();
            stage.stash(Writers.numbered(stage.topic, "k", 50, 60));
            stage.awaitEmpty();
            early.close();
            stage.relay(more -> more.candidate("late"));
            stage.stash(Writers.numbered(stage.topic, "other", 0, 1));
            Eventually.eventually(
                    "the other is read",
                    RelayStage.PATIENCE,
                    () -> committed.poll().ledger().isComplete(Map.of("other", 1)));
            assertThat(committed.faults(Map.of("k", 60, "other", 1)))
                    .singleElement()
                    .asString()
                    .contains("lost");
        }
    }
}
