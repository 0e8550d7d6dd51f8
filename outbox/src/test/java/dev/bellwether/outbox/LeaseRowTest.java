package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.sql.SqlElections;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Leadership by a lease row in the outbox's own database: no election on the brokers. */
class LeaseRowTest {

    @Test
    void successorOfAKilledRelayLeadsByTheRow() throws Exception {
        try (var stage = new RelayStage();
                var elections = SqlElections.using(stage.database);
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 200));
            try (var killed = process(stage, "KILL", "before", "commitTransaction", "2")) {
                killed.awaitDeath();
                assertThat(killed.count("LeaderAcquired")).isEqualTo(1);
            }
            var token = elections
                    .election("outbox." + stage.name + ".0")
                    .leader()
                    .orElseThrow()
                    .token();
            try (var successor = OutboxRelay.start(stage.database, stage.config(more -> more), elections)) {
                stage.awaitEmpty();
                assertThat(successor.isLeader()).isTrue();
            }
            assertThat(stage.events.stream()
                            .filter(RelayEvent.LeaderAcquired.class::isInstance)
                            .map(event -> ((RelayEvent.LeaderAcquired) event).token()))
                    .singleElement()
                    .satisfies(higher -> assertThat(higher).isGreaterThan(token));
            check(Map.of("k", 200), committed, uncommitted);
        }
    }

    @Test
    void relayFrozenPastItsLeaseFindsTheRowTaken() throws Exception {
        try (var stage = new RelayStage();
                var elections = SqlElections.using(stage.database);
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 200));
            try (var frozen = process(stage, "STOP", "after", "commitTransaction", "1")) {
                frozen.await("STOP");
                try (var successor = OutboxRelay.start(stage.database, stage.config(more -> more), elections)) {
                    stage.awaitEmpty();
                    frozen.resume();
                    frozen.await("LeaderFenced");
                    stage.stash(Writers.numbered(stage.topic, "k", 200, 250));
                    stage.awaitEmpty();
                    assertThat(successor.isLeader()).isTrue();
                }
            }
            check(Map.of("k", 250), committed, uncommitted);
        }
    }

    @Test
    void databaseThatDiesTakesTheRowAlongAndBothComeBack() throws Exception {
        var server = PostgresServer.start();
        try (server;
                var stage = new RelayStage(Servers.dataSource(server.uri()), OutboxTable.Layout.BELLWETHER);
                var elections = SqlElections.using(stage.database);
                var relay = OutboxRelay.start(stage.database, stage.config(more -> more), elections);
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            var writers = new Writers(stage.database, stage.table, stage.topic, 10);
            var writing = writers.begin(4, 1_000, 21);
            Eventually.eventually(
                    "some are read",
                    RelayStage.PATIENCE,
                    () -> committed.poll().ledger().records() > 100);
            server.crashAndRestart();
            writing.join();
            stage.awaitEmpty();
            var acquired = stage.events.stream()
                    .filter(RelayEvent.LeaderAcquired.class::isInstance)
                    .mapToLong(event -> ((RelayEvent.LeaderAcquired) event).token())
                    .toArray();
            assertThat(acquired).isSorted().doesNotHaveDuplicates().isNotEmpty();
            Eventually.eventually(
                    "it leads by the row that came back",
                    RelayStage.PATIENCE,
                    () -> relay.isLeader()
                            && elections
                                    .election("outbox." + stage.name + ".0")
                                    .leader()
                                    .filter(leader -> leader.token() >= acquired[acquired.length - 1])
                                    .isPresent());
            check(writers.written(), committed, uncommitted);
        }
    }

    @Test
    void relaysOfFourShardsShareThemAndTheLastOneLeadsAll() throws Exception {
        UnaryOperator<RelayConfig.Builder> four = more -> more.shards(4).lease(Duration.ofSeconds(3));
        try (var stage = new RelayStage();
                var here = SqlElections.using(stage.database);
                var there = SqlElections.using(stage.database);
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            var relays = new ArrayList<OutboxRelay>();
            try {
                relays.add(relay(stage, four, here, "first"));
                awaitLed(relays.get(0), 4);
                relays.add(relay(stage, four, there, "second"));
                awaitLed(relays.get(1), 2);
                awaitLed(relays.get(0), 2);
                var written = new Writers(stage.database, stage.table, stage.topic, 20).write(4, 500, 22);
                stage.awaitEmpty();
                assertThat(relays)
                        .allSatisfy(relay -> assertThat(published(relay)).isPositive());
                relays.remove(0).close();
                awaitLed(relays.get(0), 4);
                stage.stash(Writers.numbered(stage.topic, "late", 0, 10));
                stage.awaitEmpty();
                written.put("late", 10);
                check(written, committed, uncommitted);
                assertThat(committed.ledger().repeats())
                        .as("all were handed over in order")
                        .isZero();
            } finally {
                relays.forEach(OutboxRelay::close);
            }
        }
    }

    private static OutboxRelay relay(
            RelayStage stage, UnaryOperator<RelayConfig.Builder> more, Elections elections, String name) {
        return OutboxRelay.start(
                stage.database, stage.config(builder -> more.apply(builder).candidate(name)), elections);
    }

    private static void awaitLed(OutboxRelay relay, int shards) {
        Eventually.eventually(
                "it leads " + shards + " shards",
                RelayStage.PATIENCE,
                () -> relay.stats().stream().filter(RelayStats::leading).count() == shards);
    }

    private static long published(OutboxRelay relay) {
        return relay.stats().stream().mapToLong(RelayStats::published).sum();
    }

    private static void check(Map<String, Integer> written, Reader... readers) {
        for (var reader : readers) {
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written));
            assertThat(reader.faults(written)).isEmpty();
            assertThat(reader.deduped().repeats()).isZero();
        }
    }

    private static RelayProcess process(RelayStage stage, String signal, String when, String call, String which) {
        var uri = PostgresServer.shared().uri();
        return new RelayProcess(List.of(uri, stage.bootstrap, stage.name, signal, when, call, which, uri)
                .toArray(String[]::new));
    }
}
