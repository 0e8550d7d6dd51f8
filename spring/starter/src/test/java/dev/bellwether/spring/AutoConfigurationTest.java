package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.TaskFailure;
import dev.bellwether.testkit.BellwetherExtension;
import dev.bellwether.testkit.ControlledElections;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;

@ExtendWith(BellwetherExtension.class)
@Timeout(60)
class AutoConfigurationTest {

    @Test
    void theDataSourceOfTheApplicationIsUsed() {
        Contexts.plain()
                .withUserConfiguration(Database.class)
                .withPropertyValues(
                        "bellwether.elections.billing.lease=5s",
                        "bellwether.sql.table=seats",
                        "bellwether.candidate=me",
                        "bellwether.metadata.zone=north")
                .run(context -> {
                    var candidacy = context.getBean(Candidacies.class).of("billing");
                    assertThat(candidacy.await(Contexts.PATIENCE)).isPresent();
                    assertThat(candidacy.candidate()).isEqualTo("me");
                    assertThat(context.getBean(Elections.class)
                                    .election("billing")
                                    .leader()
                                    .orElseThrow()
                                    .metadata())
                            .isEqualTo(Map.of("zone", "north"));
                    try (var connection = context.getBean(DataSource.class).getConnection();
                            var statement = connection.createStatement();
                            var rows = statement.executeQuery("SELECT COUNT(*) FROM seats")) {
                        assertThat(rows.next()).isTrue();
                        assertThat(rows.getInt(1)).isEqualTo(1);
                    }
                });
    }

    @Test
    void everySettingReachesItsCandidacy() {
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=memory:" + UUID.randomUUID(),
                        "bellwether.elections.billing.lease=20s",
                        "bellwether.elections.billing.renew-interval=3s",
                        "bellwether.elections.billing.retry-interval=500ms",
                        "bellwether.elections.billing.stand-down-budget=2s",
                        "bellwether.elections.billing.standby-backoff=1m",
                        "bellwether.elections.billing.priority=7",
                        "bellwether.elections.billing.drift-bound=0.02",
                        "bellwether.elections.billing.halt-on-overrun=true",
                        "bellwether.elections.billing.access-patience=7m",
                        "bellwether.elections.billing.task-interval=1s",
                        "bellwether.elections.billing.on-task-failure=end",
                        "bellwether.elections.billing.max-pulse-interval=3m")
                .run(context -> {
                    var config = context.getBean(BellwetherProperties.class).candidacy("billing", event -> {});
                    assertThat(config.lease()).isEqualTo(Duration.ofSeconds(20));
                    assertThat(config.renewInterval()).isEqualTo(Duration.ofSeconds(3));
                    assertThat(config.retryInterval()).isEqualTo(Duration.ofMillis(500));
                    assertThat(config.standDownBudget()).isEqualTo(Duration.ofSeconds(2));
                    assertThat(config.standbyBackoff()).contains(Duration.ofMinutes(1));
                    assertThat(config.priority()).isEqualTo(7);
                    assertThat(config.driftBound()).isEqualTo(0.02);
                    assertThat(config.haltOnOverrun()).isTrue();
                    assertThat(config.accessPatience()).isEqualTo(Duration.ofMinutes(7));
                    assertThat(config.taskInterval()).isEqualTo(Duration.ofSeconds(1));
                    assertThat(config.onTaskFailure()).isEqualTo(TaskFailure.END);
                    assertThat(config.maxPulseInterval()).contains(Duration.ofMinutes(3));
                    assertThat(context.getBean(BellwetherProperties.class)
                                    .candidacy("undeclared", event -> {})
                                    .lease())
                            .isEqualTo(Duration.ofSeconds(10));
                });
    }

    @Test
    void aLockWhoseSettingsContradictEachOtherIsRefusedAtTheStart() {
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=memory:" + UUID.randomUUID(),
                        "bellwether.locks.report.lease=2s",
                        "bellwether.locks.report.stand-down-budget=5s")
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("bellwether.locks.report")
                        .hasStackTraceContaining("standDownBudget"));
    }

    /** Else it would be told at the end of the application, when the seat goes to anybody. */
    @ParameterizedTest
    @ValueSource(strings = {"0s", "-20s", "25h"})
    void aTimeInWhichNobodyCanGetReadyIsRefusedAtTheStart(String within) {
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=memory:" + UUID.randomUUID(), "bellwether.hand-over-on-shutdown=" + within)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOf(ElectionException.class)
                        .hasMessageContaining("bellwether.hand-over-on-shutdown")
                        .hasMessageContaining("at most 1 d"));
    }

    @Test
    void anElectionWhoseSettingsContradictEachOtherIsNamed() {
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=memory:" + UUID.randomUUID(),
                        "bellwether.elections.report.lease=2s",
                        "bellwether.elections.report.stand-down-budget=5s")
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("bellwether.elections.report")
                        .hasStackTraceContaining("standDownBudget"));
    }

    @ParameterizedTest
    @CsvSource({
        "jdbc:h2:mem:x, sql.table=ops.elections, ?bellwether.table=",
        "jdbc:h2:mem:x, sql.create-table=false, ?bellwether.createTable=false",
        "kafka://127.0.0.1:1, kafka.topic=elections, ?topic=",
        "nats://127.0.0.1:1, nats.bucket=elections, ?bucket=",
        "zk://127.0.0.1:1, zookeeper.root=/elections, a path"
    })
    void whatWouldBeOverlookedBesideAUriIsRefused(String uri, String property, String instead) {
        Contexts.plain()
                .withPropertyValues("bellwether.uri=" + uri, "bellwether." + property)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("bellwether." + property.substring(0, property.indexOf('=')))
                        .hasMessageContaining("write " + instead));
    }

    /** Step 3 of the move would elect in what is set, beside step 2, which elects elsewhere. */
    @ParameterizedTest
    @CsvSource({
        "memory:old, jdbc:h2:mem:x, sql.table=ops.elections, ?bellwether.table=",
        "memory:old, kafka://127.0.0.1:1, kafka.topic=elections, ?topic=",
        "memory:old, zk://127.0.0.1:1, zookeeper.root=/elections, a path",
        ", jdbc:h2:mem:x, sql.table=ops.elections, ?bellwether.table=",
        ", jdbc:h2:mem:x?bellwether.createTable=true, sql.table=ops.elections, ?bellwether.table=",
        ", nats://127.0.0.1:1, nats.bucket=elections, ?bucket="
    })
    void whatWouldBeOverlookedBesideAMoveIsRefused(@Nullable String uri, String next, String property, String instead) {
        Contexts.plain()
                .withUserConfiguration(Database.class)
                .withPropertyValues("bellwether.moving-to=" + next, "bellwether." + property)
                .withPropertyValues(uri == null ? "bellwether.client=sql" : "bellwether.uri=" + uri)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("bellwether." + property.substring(0, property.indexOf('=')))
                        .hasMessageContaining("bellwether.moving-to")
                        .hasMessageContaining("write " + instead));
    }

    @Test
    void whoMovesSaysWhichTableIsMeantOnEitherSide() {
        Contexts.plain()
                .withUserConfiguration(Database.class)
                .withPropertyValues(
                        "bellwether.moving-to=jdbc:h2:mem:" + UUID.randomUUID()
                                + ";DB_CLOSE_DELAY=-1?bellwether.table=seats",
                        "bellwether.sql.table=ops_seats",
                        "bellwether.elections.billing.lease=5s")
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    var billing = context.getBean(Candidacies.class).of("billing");
                    assertThat(billing.await(Duration.ofSeconds(30))).isPresent();
                });
    }

    /** As at step 3, if the line that it removes was left there: nobody would lead. */
    @Test
    void aMoveToWhereItIsIsRefused() {
        var uri = "memory:" + UUID.randomUUID();
        Contexts.plain()
                .withPropertyValues("bellwether.uri=" + uri, "bellwether.moving-to=" + uri)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOf(ElectionException.class)
                        .hasMessageContaining("remove bellwether.moving-to"));
    }

    /** Such as on somebody's own machine, over the settings of all. */
    @Test
    void whatIsSetForAnotherKindOfClientIsNotLookedAt() {
        Contexts.plain()
                .withPropertyValues("bellwether.uri=memory:" + UUID.randomUUID(), "bellwether.sql.table=ops.elections")
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void aUriComesBeforeAnyClient() {
        Contexts.plain()
                .withUserConfiguration(Database.class)
                .withPropertyValues("bellwether.uri=memory:" + UUID.randomUUID())
                .run(context ->
                        assertThat(context.getBean(Elections.class)).asString().contains("memory"));
    }

    @Test
    void whoMovesElectsOnBoth() {
        var next = "memory:" + UUID.randomUUID();
        Contexts.plain()
                .withUserConfiguration(Database.class)
                .withPropertyValues("bellwether.moving-to=" + next, "bellwether.elections.billing.lease=5s")
                .run(context -> {
                    var billing = context.getBean(Candidacies.class).of("billing");
                    var mandate = billing.await(Duration.ofSeconds(30)).orElseThrow();
                    try (var alone = Elections.connect(next)) {
                        assertThat(alone.election("billing").leader())
                                .hasValueSatisfying(
                                        leader -> assertThat(leader.token()).isEqualTo(mandate.token()));
                    }
                    assertThat(context.getBean(Elections.class)).asString().contains("memory jointly");
                });
    }

    @Test
    void whoMovesAndHasElectionsOfItsOwnIsRefused(ControlledElections controlled) {
        for (var lazy : List.of(false, true)) {
            Contexts.controlled(controlled)
                    .withInitializer(context -> {
                        if (lazy) {
                            context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor());
                        }
                    })
                    .withPropertyValues("bellwether.moving-to=memory:" + UUID.randomUUID())
                    .run(context -> assertThat(context)
                            .getFailure()
                            .rootCause()
                            .isInstanceOf(ElectionException.class)
                            .hasMessageContaining("bellwether.moving-to is set")
                            .hasMessageContaining("Elections.jointly"));
        }
    }

    @Test
    void aChildMovesWithTheElectionsOfItsParent() {
        var next = "memory:" + UUID.randomUUID();
        Contexts.plain()
                .withPropertyValues("bellwether.uri=memory:" + UUID.randomUUID(), "bellwether.moving-to=" + next)
                .run(parent -> Contexts.plain()
                        .withParent(parent)
                        .withPropertyValues("bellwether.moving-to=" + next)
                        .run(child ->
                                assertThat(child.getBean(Elections.class)).isSameAs(parent.getBean(Elections.class))));
    }

    /** It would stay on the old backend, beside processes that have gone on to the next step. */
    @Test
    void aChildOfOneWhoseElectionsDoNotMoveSoIsRefused(ControlledElections controlled) {
        var next = "bellwether.moving-to=memory:" + UUID.randomUUID();
        var old = Contexts.plain().withPropertyValues("bellwether.uri=memory:" + UUID.randomUUID());
        for (var above : List.of(
                old,
                old.withPropertyValues("bellwether.moving-to=memory:" + UUID.randomUUID()),
                new ApplicationContextRunner().withBean(Elections.class, controlled::elections))) {
            above.run(parent -> Contexts.plain()
                    .withParent(parent)
                    .withPropertyValues(next)
                    .run(child -> assertThat(child)
                            .getFailure()
                            .rootCause()
                            .isInstanceOf(ElectionException.class)
                            .hasMessageContaining("a parent of this context has an Elections bean")));
        }
    }

    @Test
    void anApplicationWithoutAnyClientIsToldWhatToDo() {
        Contexts.plain()
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("there is no client for elections")
                        .hasMessageContaining("bellwether.uri"));
    }

    @Test
    void severalClientsAreAChoiceForTheApplication() {
        var two = Contexts.plain()
                .withUserConfiguration(Database.class)
                .withBean(
                        ElectionsSource.class,
                        () -> new ElectionsSource(
                                "nats", config -> Elections.connect("memory:" + UUID.randomUUID(), config)));
        two.run(context -> assertThat(context)
                .getFailure()
                .rootCause()
                .hasMessageContaining("[nats, sql]")
                .hasMessageContaining("bellwether.client"));
        two.withPropertyValues("bellwether.client=nats")
                .run(context ->
                        assertThat(context.getBean(Elections.class)).asString().contains("memory"));
        two.withPropertyValues("bellwether.client=kafka")
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("bellwether.client is kafka, there are [nats, sql]"));
    }

    @Test
    void electionsOfTheApplicationsOwnMaking(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .run(context -> assertThat(context).getBean(Elections.class).isSameAs(controlled.elections()));
    }

    @Test
    void itCanBeSwitchedOff() {
        Contexts.plain()
                .withPropertyValues("bellwether.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(Elections.class));
    }

    @Test
    void idesKnowEveryProperty() throws IOException {
        try (var metadata =
                BellwetherProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            var names = new ArrayList<String>();
            for (var property : new ObjectMapper().readTree(metadata).get("properties")) {
                names.add(property.get("name").asText());
                assertThat(property.path("description").asText())
                        .as("description of %s", property)
                        .isNotBlank();
            }
            assertThat(names)
                    .contains(
                            "bellwether.uri",
                            "bellwether.client",
                            "bellwether.moving-to",
                            "bellwether.hand-over-on-shutdown",
                            "bellwether.elections",
                            "bellwether.locks",
                            "bellwether.request-timeout",
                            "bellwether.sql.table",
                            "bellwether.kafka.topic");
        }
    }

    static class Database {
        @Bean
        DataSource dataSource() {
            var source = new JdbcDataSource();
            source.setURL("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
            return source;
        }
    }
}
