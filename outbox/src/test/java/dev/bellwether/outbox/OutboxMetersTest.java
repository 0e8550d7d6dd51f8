package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the meters of relays tell, those of relays that stand by too. */
class OutboxMetersTest {
    private static final Duration OFTEN = Duration.ofMillis(50);

    private static MeterRegistry meters(OutboxRelay relay) {
        var registry = new SimpleMeterRegistry();
        new OutboxMeters(relay).bindTo(registry);
        return registry;
    }

    private static double value(MeterRegistry registry, String name) {
        return registry.get(name).gauge().value();
    }

    private static double seconds(MeterRegistry registry, String name) {
        return registry.get(name).timeGauge().value(TimeUnit.SECONDS);
    }

    @Test
    void standbyTellsBacklogAgeAndThatNobodyLeads() throws Exception {
        try (var stage = new RelayStage()) {
            var seat = stage.config(more -> more).seat(0);
            // a leader that publishes nothing
            var leader = stage.elections()
                    .stand(
                            seat,
                            CandidacyConfig.builder()
                                    .candidate("idle")
                                    .lease(Duration.ofMinutes(1))
                                    .build());
            assertThat(leader.await(RelayStage.PATIENCE)).isPresent();
            var standby = stage.relay(more -> more.stateInterval(OFTEN).candidate("standby"));
            stage.stash(Writers.numbered(stage.topic, "k", 0, 7));
            stage.execute("UPDATE " + stage.table.name() + " SET created = created - interval '90 s'");
            var meters = meters(standby);
            Eventually.eventually(
                    "the backlog is told", RelayStage.PATIENCE, () -> value(meters, OutboxMeters.BACKLOG) == 7);
            var age = known(() -> seconds(meters, OutboxMeters.OLDEST_AGE));
            assertThat(age).isBetween(90.0, 600.0);
            Eventually.eventually(
                    "it knows of the leader", RelayStage.PATIENCE, () -> value(meters, OutboxMeters.VACANT) == 0);
            assertThat(value(meters, OutboxMeters.LEADING)).isZero();
            var silent = Eventually.eventually("it is known whether anybody has led", RelayStage.PATIENCE, () -> {
                var before = value(meters, OutboxMeters.BACKLOG);
                var told = seconds(meters, OutboxMeters.SILENT);
                var after = value(meters, OutboxMeters.BACKLOG);
                return Double.isNaN(before + after) ? Optional.<Double>empty() : Optional.of(told);
            });
            assertThat(silent).as("nobody has led").isNaN();

            // the only other one leaves while the standby is kept from standing
            stage.elections().election(seat).end();
            leader.close();
            Eventually.eventually("nobody leads", RelayStage.PATIENCE, () -> value(meters, OutboxMeters.VACANT) == 1);
            assertThat(known(() -> value(meters, OutboxMeters.BACKLOG))).isEqualTo(7);
        }
    }

    /** Returns the next value that is a number: what was last read of the table is told for a moment only. */
    private static double known(DoubleSupplier value) {
        return Eventually.eventually(
                "it is known",
                RelayStage.PATIENCE,
                () -> Optional.of(value.getAsDouble()).filter(number -> !number.isNaN()));
    }

    @Test
    void leaderAndStandbyTellTheSameOfTheTable() throws Exception {
        try (var stage = new RelayStage()) {
            var leader = stage.relay(
                    more -> more.stateInterval(OFTEN).candidate("leader").poison(Poison.PARK));
            stage.await(RelayEvent.LeaderRefreshed.class);
            var standby = stage.relay(more -> more.stateInterval(OFTEN).candidate("standby"));
            stage.stash(Writers.numbered(stage.topic, "k", 0, 100));
            stage.stash(Message.to(stage.topic).key("bad").partition(99).build());
            stage.awaitEmpty();
            var told = meters(leader);
            var toldByStandby = meters(standby);
            for (var one : new MeterRegistry[] {told, toldByStandby}) {
                Eventually.eventually(
                        "one is parked",
                        RelayStage.PATIENCE,
                        () -> value(one, OutboxMeters.PARKED_WAITING) == 1 && value(one, OutboxMeters.BACKLOG) == 0);
                Eventually.eventually(
                        "the leader has written",
                        RelayStage.PATIENCE,
                        () -> seconds(one, OutboxMeters.SILENT) < 10 && value(one, OutboxMeters.VACANT) == 0);
                assertThat(value(one, OutboxMeters.RATE)).isNotNegative();
            }
            assertThat(told.get(OutboxMeters.PUBLISHED).functionCounter().count())
                    .isEqualTo(100);
            assertThat(told.get(OutboxMeters.PARKED).functionCounter().count()).isOne();
            assertThat(told.get(OutboxMeters.TRANSACTIONS).functionCounter().count())
                    .isPositive();
            assertThat(toldByStandby
                            .get(OutboxMeters.PUBLISHED)
                            .functionCounter()
                            .count())
                    .isZero();
            assertThat(toldByStandby.getMeters()).hasSameSizeAs(told.getMeters());
        }
    }

    @Test
    void whoLeadsNoMoreTellsNothingOfALeaderAlone() throws Exception {
        try (var stage = new RelayStage()) {
            var small = Servers.fresh("absent");
            var first = stage.relay(more -> more.candidate("first"));
            stage.await(RelayEvent.LeaderRefreshed.class);
            stage.stash(Writers.numbered(small, "k", 0, 3));
            Eventually.eventually(
                    "three are blocked",
                    RelayStage.PATIENCE,
                    () -> first.stats().get(0).blocked() == 3);
            stage.elections().election(stage.config(more -> more).seat(0)).end();
            Eventually.eventually("it has ended", RelayStage.PATIENCE, () -> {
                var stats = first.stats().get(0);
                return !stats.leading()
                        && !stats.led()
                        && stats.blocked() == 0
                        && stats.lag().isZero();
            });
        }
    }

    @Test
    void tableIsReadOnlyOnceSomebodyAsksAndNoOftenerThanItShould() throws Exception {
        try (var stage = new RelayStage()) {
            var borrowed = new AtomicInteger();
            StateReader.Source counting = () -> {
                borrowed.incrementAndGet();
                return LentConnection.of(stage.connect(), stage.table, RelayStage.PATIENCE);
            };
            stage.relay().close(); // makes the row of the shard
            var reader = new StateReader(stage.config(more -> more.stateInterval(Duration.ofHours(1))), counting);
            assertThat(borrowed).hasValue(0);
            Eventually.eventually(
                    "it is known", RelayStage.PATIENCE, () -> reader.latest().isPresent());
            for (var i = 0; i < 1_000; i++) {
                assertThat(reader.latest()).isPresent();
            }
            assertThat(borrowed).hasValue(1);
            reader.end();
        }
    }

    @Test
    void parkedRecordsBeyondWhatIsCountedAreToldFromThoseThatAreJustAsMany() throws Exception {
        try (var stage = new RelayStage()) {
            var admin = OutboxAdmin.of(stage.database, stage.table);
            var park =
                    "INSERT INTO " + stage.table.parked() + " (id, event_id, created, topic, parked, reason) SELECT i,"
                            + " gen_random_uuid(), now(), 't', now(), 'r' FROM generate_series(%s, %s) AS i";
            stage.execute(park.formatted(1, 100_000));
            assertThat(admin.quickState().parked()).isEqualTo(100_000);
            stage.execute(park.formatted(100_001, 100_010));
            assertThat(admin.quickState().parked()).as("there are more").isEqualTo(100_001);
        }
    }

    @Test
    void whatIsNotKnownAnyMoreIsNoNumber() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", PostgresServer.shared().port());
                var stage = new RelayStage()) {
            var relay = stage.relay(
                    more -> more.stateInterval(OFTEN).databaseTimeout(Duration.ofMillis(200)),
                    Servers.dataSource(PostgresServer.uri(link.port())),
                    KafkaProducer::new);
            var meters = meters(relay);
            Eventually.eventually("it is known", RelayStage.PATIENCE, () -> value(meters, OutboxMeters.BACKLOG) == 0);
            link.refuse();
            link.reset();
            Eventually.eventually(
                    "it is unknown",
                    RelayStage.PATIENCE,
                    () -> Double.isNaN(value(meters, OutboxMeters.BACKLOG))
                            && Double.isNaN(seconds(meters, OutboxMeters.SILENT)));
            link.heal();
            Eventually.eventually(
                    "it is known again", RelayStage.PATIENCE, () -> value(meters, OutboxMeters.BACKLOG) == 0);
        }
    }

    @Test
    void whileTheDatabaseIsAwayARelayTellsThatItPublishesNothingAndThatTheLagGrows() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", PostgresServer.shared().port());
                var stage = new RelayStage()) {
            var relay = stage.relay(
                    more -> more.maxBackoff(Duration.ofMillis(100))
                            .haltRetry(Duration.ofHours(1))
                            .meterInterval(OFTEN),
                    Servers.dataSource(PostgresServer.uri(link.port())),
                    KafkaProducer::new);
            var meters = meters(relay);
            stage.stash(Message.of(Servers.fresh("absent"), "waits", "0"));
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            Eventually.eventually(
                    "the row that waits is known", RelayStage.PATIENCE, () -> seconds(meters, OutboxMeters.LAG) > 0);
            link.refuse();
            link.reset();
            Eventually.eventually(
                    "nothing is published", RelayStage.PATIENCE, () -> value(meters, OutboxMeters.LEADING) == 0);
            assertThat(relay.stats().get(0).ratePerSecond()).isZero();
            var lag = seconds(meters, OutboxMeters.LAG);
            Eventually.eventually(
                    "the lag grows", RelayStage.PATIENCE, () -> seconds(meters, OutboxMeters.LAG) > lag + 2);
            link.heal();
            Eventually.eventually(
                    "it publishes again", RelayStage.PATIENCE, () -> value(meters, OutboxMeters.LEADING) == 1);
        }
    }

    @Test
    void whatWasPublishedSinceTheLastReportIsCountedAtTheEnd() throws Exception {
        try (var stage = new RelayStage()) {
            for (var relays = 1; relays <= 2; relays++) {
                var relay = stage.relay();
                stage.stash(Writers.numbered(stage.topic, "k" + relays, 0, 10));
                stage.awaitEmpty();
                relay.close();
                assertThat(OutboxAdmin.of(stage.database, stage.table).state().shards())
                        .extracting(OutboxAdmin.ShardState::published)
                        .containsExactly(relays * 10L);
            }
        }
    }

    @Test
    void backlogBeyondWhatIsCountedIsTheEstimateAndTheMarkIsWhereItBegins() throws Exception {
        try (var stage = new RelayStage();
                var connection = stage.connect()) {
            var admin = OutboxAdmin.of(stage.database, stage.table);
            stage.execute(
                    "INSERT INTO " + stage.table.name()
                            + " (topic, record_key) SELECT 't', convert_to(i::text, 'UTF8') FROM generate_series(1, 100500) AS i");
            stage.execute("ANALYZE " + stage.table.name());
            var quick = admin.quickState();
            assertThat(quick.exact()).isFalse();
            assertThat(quick.backlog()).isGreaterThan(100_000);
            assertThat(admin.state().exact()).isTrue();
            assertThat(admin.state().backlog()).isEqualTo(100_500);
            var store = Store.of(connection, stage.table).asFound(connection);
            var epoch = store.acquire(connection, new Store.Claim(stage.name, 0, 1, "one", false))
                    .epoch();
            assertThat(store.report(connection, 0, epoch, 100_000, 0, 0)).isTrue();
            assertThat(admin.quickState().backlog()).isEqualTo(500);
            assertThat(admin.quickState().exact()).isTrue();
            assertThat(admin.state().backlog()).isEqualTo(100_500);
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatIsOfAShardThatNobodyHasLedIsInTheBacklogAndTheShardIsNotServed(InboxTest.Database on) throws Exception {
        var table = OutboxTable.named(Servers.fresh("unled"));
        try (var connection = on.source().getConnection()) {
            var store = Store.of(connection, table);
            OutboxSchema.create(connection, store);
            Outbox.of(table).stash(connection, Writers.numbered("t", "k", 0, 7));
            var epoch = store.acquire(connection, new Store.Claim("x", 1, 4, "one", true))
                    .epoch();
            assertThat(store.report(connection, 1, epoch, 1_000, 0, 0)).isTrue();
            var state = OutboxAdmin.of(on.source(), table).quickState();
            assertThat(state.backlog()).isEqualTo(7);
            assertThat(state.shards())
                    .extracting(OutboxAdmin.ShardState::shard, OutboxAdmin.ShardState::isServed)
                    .containsExactly(tuple(0, false), tuple(1, true), tuple(2, false), tuple(3, false));
            var unled = state.shards().get(3);
            assertThat(unled.relay()).isEmpty();
            assertThat(unled.silent()).as("since it was divided so").isBetween(Duration.ZERO, Duration.ofMinutes(10));
        }
    }

    @Test
    void ofTwoWhoRequeueARecordAtOnceOneDoes() throws Exception {
        try (var stage = new RelayStage();
                var holding = stage.connect()) {
            stage.execute(
                    "INSERT INTO " + stage.table.parked()
                            + " (id, event_id, created, topic, parked, reason) VALUES (5, gen_random_uuid(), now(), 't', now(), 'x')");
            holding.setAutoCommit(false);
            try (var statement = holding.createStatement()) {
                statement.execute("SELECT 1 FROM " + stage.table.parked() + " FOR UPDATE");
            }
            var requeued = new AtomicInteger();
            var threads = new ArrayList<Thread>();
            for (var i = 0; i < 2; i++) {
                var thread = new Thread(() -> {
                    try {
                        requeued.addAndGet(
                                OutboxAdmin.of(stage.database, stage.table).requeue(5) ? 1 : 0);
                    } catch (java.sql.SQLException e) {
                        throw new IllegalStateException(e);
                    }
                });
                thread.start();
                threads.add(thread);
            }
            Eventually.eventually(
                    "both wait for the record",
                    RelayStage.PATIENCE,
                    () -> stage.number(
                                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"
                                            + stage.table.parked() + "%'")
                            == 2);
            holding.commit();
            for (var thread : threads) {
                thread.join();
            }
            assertThat(requeued).hasValue(1);
            assertThat(stage.left()).as("NEVER: one record twice").isOne();
        }
    }
}
