package dev.bellwether.spring;

import static dev.bellwether.spring.Indicators.details;
import static dev.bellwether.spring.Indicators.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.ElectionException;
import dev.bellwether.outbox.Message;
import dev.bellwether.testkit.BellwetherExtension;
import dev.bellwether.testkit.ControlledElections;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;

/** What the health of a relay tells, on a real PostgreSQL and a real broker. */
@ExtendWith(BellwetherExtension.class)
@Timeout(180)
class OutboxHealthTest {
    private final OutboxRig rig = new OutboxRig();

    /** Returns one whose relay reads the state of its table often. */
    private ApplicationContextRunner application() {
        return looking(rig.application());
    }

    private static ApplicationContextRunner looking(ApplicationContextRunner application) {
        return application.withBean(
                OutboxAutoConfiguration.RelayCustomizer.class,
                () -> relay -> relay.stateInterval(Duration.ofMillis(500)));
    }

    /** A probe comes again and again, and each would keep a connection. */
    @Test
    void aTableThatIsLockedKeepsNobodyWaiting() {
        application().run(context -> {
            await("it leads", context, "UP", "leading", true);
            rig.transaction.executeWithoutResult(status -> {
                new JdbcTemplate(rig.database).execute("LOCK TABLE " + rig.table + " IN ACCESS EXCLUSIVE MODE");
                var told = CompletableFuture.supplyAsync(() -> status(indicator(context)));
                assertThat(told).succeedsWithin(Duration.ofSeconds(30));
                Eventually.eventually(
                        "it is not known how the table is",
                        OutboxRig.PATIENCE,
                        () -> status(indicator(context)).equals("DEGRADED"));
                assertThat(details(indicator(context)).get("database"))
                        .asString()
                        .contains(rig.table);
            });
            await("it is known again", context, "UP", "leading", true);
        });
    }

    @Test
    void aRelayIsUpWhetherItLeadsOrStandsBy() {
        application().run(leader -> {
            await("it leads", leader, "UP", "leading", true);
            awaitLeaders(leader);
            assertThat(details(indicator(leader)).keySet().stream().map(String::valueOf))
                    .containsExactlyInAnyOrder("backlog", "blocked", "exact", "leaders", "leading", "oldest", "parked");
            assertThat((Map<?, ?>) details(indicator(leader)).get("leaders")).hasSize(1);
            application().run(standby -> {
                awaitLeaders(standby);
                assertThat(status(indicator(standby))).isEqualTo("UP");
                assertThat(details(indicator(standby)).get("leading")).isEqualTo(false);
                assertThat(details(indicator(standby)).get("leaders"))
                        .isEqualTo(details(indicator(leader)).get("leaders"));
            });
        });
    }

    @Test
    void aRelayWithoutItsBrokersIsDegradedAndTellsOfTheBacklog() {
        application()
                .withPropertyValues(
                        "bellwether.outbox.relay.producer[bootstrap.servers]=127.0.0.1:1",
                        "bellwether.outbox.relay.producer[max.block.ms]=500")
                .run(context -> {
                    stash(context, Message.of(rig.topic, "k", "kept"));
                    await("it has no brokers", context, "DEGRADED", "backlog", 1L);
                    // each answer is a reading of its own: between two tries there is no error
                    var told = Eventually.eventually(
                            "it says why, and of what",
                            OutboxRig.PATIENCE,
                            () -> Optional.of(details(indicator(context)))
                                    .filter(all -> all.get("error") != null && all.get("oldest") != null));
                    assertThat(told.get("error")).asString().contains("0=cannot publish");
                    assertThat(told.get("oldest")).asString().startsWith("PT");
                });
    }

    @Test
    void aRelayWithABlockedKeyIsDegraded() {
        application().run(context -> {
            stash(
                    context,
                    Message.to(rig.topic).key("k").value("astray").partition(99).build());
            await("the key is blocked", context, "DEGRADED", "blocked", 1L);
        });
    }

    @Test
    void aRelayWithoutItsTableIsDegraded() {
        application().run(context -> {
            await("it leads", context, "UP", "leading", true);
            new JdbcTemplate(rig.database).execute("ALTER TABLE " + rig.table + " RENAME TO " + rig.table + "_1");
            Eventually.eventually(
                    "it tells of the table",
                    OutboxRig.PATIENCE,
                    () -> String.valueOf(details(indicator(context)).get("database"))
                            .contains(rig.table));
            assertThat(status(indicator(context))).isEqualTo("DEGRADED");
        });
    }

    @Test
    void aRelayWhoseCandidacyHasFailedPermanentlyIsDown(ControlledElections controlled) {
        looking(rig.on(Contexts.controlled(controlled))).run(context -> {
            await("its table is read", context, "UP", "leading", false);
            controlled.election("outbox." + rig.table + ".0").fail(new ElectionException("planted"));
            await("its candidacy has failed", context, "DOWN", "leading", false);
            assertThat(details(indicator(context)).get("error")).asString().contains("planted");
        });
    }

    /** As when Kafka goes, and decides the elections, too: the relay is fenced, and nobody takes over. */
    @Test
    void aRelayOfAShardThatNobodyPublishesAnyMoreIsDegraded(ControlledElections controlled) {
        application().run(former -> {
            await("it leads", former, "UP", "leading", true);
            awaitLeaders(former);
        });
        looking(rig.on(Contexts.controlled(controlled))).run(context -> {
            await("its table is read", context, "UP", "leading", false);
            new JdbcTemplate(rig.database)
                    .execute("UPDATE " + rig.table + "_relay SET seen = seen - interval '2 minutes'");
            await("nobody has published for long", context, "DEGRADED", "leading", false);
            assertThat(String.valueOf(details(indicator(context)).get("leaders")))
                    .contains("nobody publishes; the last was ");
        });
    }

    @Test
    void thereIsNoHealthOfARelayWhereThereIsNoRelay() {
        rig.application()
                .withPropertyValues("bellwether.outbox.relay.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean("outboxHealthIndicator"));
        rig.application()
                .withPropertyValues("management.health.outbox.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean("outboxHealthIndicator"));
    }

    private void stash(ApplicationContext context, Message message) {
        rig.transaction.executeWithoutResult(
                status -> context.getBean(TransactionalOutbox.class).stash(message));
    }

    private static void awaitLeaders(ApplicationContext context) {
        Eventually.eventually(
                "it is known who leads",
                OutboxRig.PATIENCE,
                () -> details(indicator(context)).get("leaders") instanceof Map<?, ?> leaders && leaders.size() == 1);
    }

    private static Object indicator(ApplicationContext context) {
        return context.getBean("outboxHealthIndicator");
    }

    private static void await(String what, ApplicationContext context, String status, String detail, Object value) {
        Eventually.eventually(
                what,
                OutboxRig.PATIENCE,
                () -> status(indicator(context)).equals(status)
                        && value.equals(details(indicator(context)).get(detail)));
    }
}
