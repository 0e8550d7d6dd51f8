package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Relays in processes of their own, elected on a broker, that die or freeze in the midst of it. */
class ProcessFaultsTest {
    private static final List<List<String>> PHASES = List.of(
            List.of("before", "initTransactions", "1"), // leads, no fence
            List.of("after", "initTransactions", "1"), // fenced in Kafka, not in the database
            List.of("after", "acquire", "1"), // the fence in the database is not yet committed
            List.of("after", "read", "1"), // read, nothing sent
            List.of("before", "send", "75"), // in the midst of the second transaction
            List.of("before", "commitTransaction", "2"), // all sent, nothing committed
            List.of("after", "commitTransaction", "2"), // committed, not deleted
            List.of("before", "delete", "1"), // about to delete, while the next are sent
            List.of("after", "delete", "1")); // deleted, while the next are sent

    @ParameterizedTest
    @EnumSource
    void relayKilledInAnyPhaseLosesAndReordersNothing(OutboxForm form) throws Exception {
        try (var stage = new RelayStage(form);
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            var numbers = 0;
            for (var phase : PHASES) {
                for (var key = 0; key < 4; key++) {
                    stage.stash(Writers.numbered(stage.topic, "k" + key, numbers, numbers + 50));
                }
                numbers += 50;
                try (var relay = process(stage, "KILL", phase)) {
                    relay.awaitDeath();
                }
            }
            stage.relay();
            stage.awaitEmpty();
            var written = Map.of("k0", numbers, "k1", numbers, "k2", numbers, "k3", numbers);
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> committed.poll().ledger().isComplete(written)
                            && uncommitted.poll().ledger().isComplete(written));
            assertThat(committed.faults(written)).isEmpty();
            assertThat(uncommitted.faults(written)).isEmpty();
            assertThat(uncommitted.ledger().repeats()).isPositive();
            assertThat(committed.deduped().repeats()).isZero();
            assertThat(committed.deduped().faults(written)).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void relayFrozenPastItsLeaseWritesNothingWhenItWakes(OutboxForm form) throws Exception {
        try (var stage = new RelayStage(form);
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 200));
            try (var frozen = process(stage, "STOP", PHASES.get(2))) {
                frozen.await("STOP");
                try (var successor = process(stage, "KILL", List.of("before", "never", "1"))) {
                    successor.await("LeaderRefreshed");
                    stage.awaitEmpty();
                    frozen.resume();
                    stage.stash(Writers.numbered(stage.topic, "k", 200, 300));
                    stage.awaitEmpty();
                    frozen.await("LeaderFenced");
                    assertThat(successor.count("LeaderAcquired")).isEqualTo(1);
                }
            }
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> committed.poll().ledger().isComplete(Map.of("k", 300))
                            && uncommitted.poll().ledger().isComplete(Map.of("k", 300)));
            assertThat(committed.faults(Map.of("k", 300))).isEmpty();
            assertThat(uncommitted.faults(Map.of("k", 300))).isEmpty();
            assertThat(committed.ledger().repeats()).isZero();
        }
    }

    private static RelayProcess process(RelayStage stage, String signal, List<String> phase) {
        return new RelayProcess(
                PostgresServer.shared().uri(),
                stage.bootstrap,
                stage.name,
                signal,
                phase.get(0),
                phase.get(1),
                phase.get(2));
    }
}
