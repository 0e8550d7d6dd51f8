package dev.bellwether.spring;

import static dev.bellwether.spring.Indicators.call;
import static dev.bellwether.spring.Indicators.details;
import static dev.bellwether.spring.Indicators.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.micrometer.BellwetherMeters;
import dev.bellwether.testkit.BellwetherExtension;
import dev.bellwether.testkit.ControlledElections;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.servers.Ports;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.nats.client.Nats;
import io.nats.client.Options;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.Lifecycle;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.util.ClassUtils;

/** What operators see. */
@ExtendWith(BellwetherExtension.class)
@Timeout(60)
class ActuatorTest {

    @Test
    void theEndpointTellsOfAllCandidacies(ControlledElections controlled) {
        exposed(Contexts.controlled(controlled)).run(context -> {
            var endpoint = context.getBean(BellwetherEndpoint.class);
            var standby = billing(endpoint);
            assertThat(standby.leading()).isFalse();
            assertThat(standby.phase()).isEqualTo("STANDING_BY");

            controlled.election("billing").acquire();
            var leader = billing(endpoint);
            assertThat(leader.leading()).isTrue();
            assertThat(leader.token()).isEqualTo(1);
            assertThat(leader.since()).isNotNull();
            assertThat(leader.remaining()).startsWith("PT");

            controlled.election("billing").fence();
            var fenced = billing(endpoint);
            assertThat(fenced.leading()).isFalse();
            assertThat(fenced.since()).isNull();
            assertThat(fenced.lastCause()).isEqualTo("EXPIRED");
        });
    }

    @Test
    void writingToAnElectionMakesItsLeaderStandDown(ControlledElections controlled) {
        exposed(Contexts.controlled(controlled)).run(context -> {
            var endpoint = context.getBean(BellwetherEndpoint.class);
            assertThat(endpoint.standDown("billing")).containsEntry("ordered", false);
            controlled.election("billing").acquire();
            assertThat(endpoint.standDown("billing")).containsEntry("ordered", true);
            var after = billing(endpoint);
            assertThat(after.leading()).isFalse();
            assertThat(after.lastCause()).isEqualTo("REVOKED_BY_OPERATOR");
        });
    }

    @Test
    void deletingAnElectionMakesThisProcessLeaveIt(ControlledElections controlled) {
        exposed(Contexts.controlled(controlled)).run(context -> {
            controlled.election("billing").acquire();
            var endpoint = context.getBean(BellwetherEndpoint.class);
            assertThat(endpoint.resign("billing")).containsEntry("led", true);
            assertThat(billing(endpoint).phase()).isEqualTo("CLOSED");
            assertThat(endpoint.resign("billing")).containsEntry("led", false);
            assertThatThrownBy(() -> endpoint.resign("biling"))
                    .isInstanceOf(InvalidEndpointRequestException.class) // 400; it was 500
                    .hasMessageContaining("this application does not stand for \"biling\"");
        });
    }

    @Test
    void theEndpointIsNotThereUnlessExposed(ControlledElections controlled) {
        Contexts.controlled(controlled).run(context -> assertThat(context).doesNotHaveBean(BellwetherEndpoint.class));
    }

    @Test
    void aStandbyIsHealthyAndALeaderToo(ControlledElections controlled) {
        declared(Contexts.controlled(controlled)).run(context -> {
            assertThat(status(context.getBean("bellwetherHealthIndicator"))).isEqualTo("UP");
            controlled.election("billing").acquire();
            var indicator = context.getBean("bellwetherHealthIndicator");
            assertThat(status(indicator)).isEqualTo("UP");
            assertThat(details(indicator)).isEqualTo(Map.of("billing", "leads, token 1"));
        });
    }

    @Test
    void anApplicationWhoseElectionHasEndedIsDegraded(ControlledElections controlled) {
        declared(Contexts.controlled(controlled)).run(context -> {
            controlled.election("billing").acquire();
            controlled.election("billing").end();
            var indicator = context.getBean("bellwetherHealthIndicator");
            assertThat(status(indicator)).isEqualTo("DEGRADED");
            assertThat(details(indicator).get("billing"))
                    .asString()
                    .contains("an operator has ended the election")
                    .contains("start this application again");
        });
    }

    @Test
    void anInfrastructureThatDoesNotAnswerIsNotHealthy(ControlledElections controlled) {
        declared(Contexts.controlled(controlled)).run(context -> {
            var indicator = context.getBean("bellwetherHealthIndicator");
            controlled.close(); // the nearest that an infrastructure in memory comes to being gone
            assertThat(status(indicator)).isEqualTo("DOWN");
        });
    }

    @Test
    void anApplicationThatConnectsLazilyStartsWithoutTheServerAndHealthTells() throws Exception {
        try (var server = NatsServers.alone();
                var proxy = FaultProxy.to("127.0.0.1", server.port())) {
            proxy.refuse();
            declared(Contexts.plain())
                    .withPropertyValues(
                            "bellwether.uri=nats://127.0.0.1:" + proxy.port(), "bellwether.connect-lazily=true")
                    .run(context -> {
                        assertThat(context).hasNotFailed();
                        var indicator = context.getBean("bellwetherHealthIndicator");
                        assertThat(status(indicator)).isEqualTo("DOWN");
                        assertThat(details(indicator).get("error"))
                                .asString()
                                .contains("not connected to nats://127.0.0.1:" + proxy.port() + " yet: ");
                        var candidacy = context.getBean(Candidacies.class).of("billing");
                        assertThat(candidacy.isLeader()).isFalse();
                        proxy.heal();
                        assertThat(candidacy.await(Contexts.PATIENCE)).isPresent();
                        assertThat(status(indicator)).isEqualTo("UP");
                    });
        }
    }

    @Test
    void anApplicationThatDoesNotStartForWantOfTheServerIsToldWhatToDo() {
        Contexts.plain()
                .withPropertyValues("bellwether.uri=nats://127.0.0.1:" + Ports.free())
                .run(context -> {
                    assertThat(context).hasFailed();
                    var analysis = SpringFactoriesLoader.forDefaultResourceLocation()
                            .load(FailureAnalyzer.class, (type, name, failure) -> {})
                            .stream()
                            .filter(ElectionFailureAnalyzer.class::isInstance)
                            .map(analyzer -> analyzer.analyze(Objects.requireNonNull(context.getStartupFailure())))
                            .findFirst()
                            .orElseThrow();
                    assertThat(analysis.getDescription()).startsWith("Bellwether cannot hold elections: ");
                    assertThat(analysis.getAction()).contains("bellwether.uri", "bellwether.connect-lazily=true");
                });
    }

    @Test
    void anApplicationThatIsRefusedIsToldOfACommandThatThereIs() {
        var analysis =
                Objects.requireNonNull(new ElectionFailureAnalyzer().analyze(new AccessRefusedException("no right")));
        assertThat(analysis.getAction()).contains("bellwether doctor --on URI");
    }

    @Test
    @SuppressWarnings("try") // its close can be interrupted
    void healthTellsThatTheServerIsGoneAndThatItIsBack() throws Exception {
        try (var server = NatsServers.alone();
                var connection = Nats.connect(Options.builder()
                        .server("nats://127.0.0.1:" + server.port())
                        .maxReconnects(-1)
                        .reconnectWait(Duration.ofMillis(100))
                        .build());
                var others = Elections.connect("nats://127.0.0.1:" + server.port());
                var leader = others.stand("billing")) {
            assertThat(leader.await(Contexts.PATIENCE)).isPresent();
            declared(Contexts.having(connection))
                    .withPropertyValues("bellwether.request-timeout=1s")
                    .run(context -> {
                        var indicator = context.getBean("bellwetherHealthIndicator");
                        Eventually.eventually(
                                "it stands by",
                                Contexts.PATIENCE,
                                () -> details(indicator).equals(Map.of("billing", "follows " + leader.candidate())));
                        assertThat(status(indicator)).isEqualTo("UP");
                        server.kill();
                        Eventually.eventually(
                                "it is down",
                                Contexts.PATIENCE,
                                () -> status(indicator).equals("DOWN"));
                        assertThat(details(indicator).get("error"))
                                .asString()
                                .contains(UnavailableException.class.getName());
                        server.start();
                        Eventually.eventually(
                                "it is up again",
                                Contexts.PATIENCE,
                                () -> status(indicator).equals("UP"));
                    });
        }
    }

    @Test
    void aCandidacyThatHasFailedPermanentlyIsNotHealthy(ControlledElections controlled) {
        declared(Contexts.controlled(controlled)).run(context -> {
            var indicator = context.getBean("bellwetherHealthIndicator");
            controlled.election("billing").fail(new ElectionException("planted"));
            assertThat(status(indicator)).isEqualTo("DOWN");
            assertThat(details(indicator).get("error")).asString().contains("planted");
            assertThat(details(indicator).get("billing")).isEqualTo("failed: planted");
        });
    }

    @Test
    void aCandidacyThatHasFailedIsNotHealthyWhileABeanIsStopping() {
        whileABeanIsStopping(
                context -> context.getBean(Candidacies.class).of("billing").whileLeading(mandate -> {
                    throw new IllegalStateException("planted");
                }),
                indicator -> {
                    assertThat(details(indicator).get("billing")).asString().startsWith("failed: ");
                    assertThat(status(indicator)).isEqualTo("DOWN");
                });
    }

    @Test
    void anApplicationWhoseElectionHasEndedIsDegradedWhileABeanIsStopping() {
        whileABeanIsStopping(
                context -> context.getBean(Elections.class).election("billing").end(), indicator -> {
                    assertThat(details(indicator).get("billing"))
                            .asString()
                            .startsWith("an operator has ended the election");
                    assertThat(status(indicator)).isEqualTo("DEGRADED");
                });
    }

    /** The first makes it stop, and the second is asked while it does. */
    private static void whileABeanIsStopping(Consumer<ApplicationContext> ends, Consumer<Object> asked) {
        var stopping = new CountDownLatch(1);
        var mayStop = new CountDownLatch(1);
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=memory:" + UUID.randomUUID(),
                        "bellwether.elections.billing.on-task-failure=end")
                .withUserConfiguration(LeadingTest.Failing.class)
                .run(context -> {
                    var second = context.getBean("second", LeadingTest.Part.class);
                    Eventually.eventually("it runs", Contexts.PATIENCE, second::isRunning);
                    second.onStop = () -> {
                        stopping.countDown();
                        awaitUninterruptibly(mayStop);
                    };
                    ends.accept(context);
                    try {
                        assertThat(stopping.await(30, TimeUnit.SECONDS)).isTrue();
                        asked.accept(context.getBean("bellwetherHealthIndicator"));
                    } finally {
                        mayStop.countDown();
                    }
                });
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        for (var over = false; !over; ) {
            try {
                latch.await();
                over = true;
            } catch (InterruptedException e) {
                // deaf to it
            }
        }
    }

    @Test
    void anElectionThatIsNamedLateAndInWhichThisProcessCouldNotStandIsNotHealthy() {
        try (var elections = Elections.connect("memory:" + UUID.randomUUID())) {
            Contexts.plain()
                    .withBean(Elections.class, () -> LeadingTest.refusingOnce(elections))
                    .withUserConfiguration(LeadingTest.MadeLate.class)
                    .run(context -> {
                        var indicator = context.getBean("bellwetherHealthIndicator");
                        var late = context.getBean(LeadingTest.MadeLate.LateWork.class);
                        assertThatThrownBy(late::run).hasMessage("planted");
                        assertThat(status(indicator)).isEqualTo("DOWN");
                        assertThat(details(indicator).get("late"))
                                .isEqualTo("does not stand, until a call tries again: planted");
                        assertThat(details(indicator).get("error")).asString().contains("planted");
                        late.run();
                        assertThat(status(indicator)).isEqualTo("UP");
                    });
        }
    }

    @Test
    void anApplicationWithABeanThatDidNotStartIsDegradedUntilItDoes(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withPropertyValues("first.fails=true")
                .withUserConfiguration(LeadingTest.Failing.class)
                .run(context -> {
                    var indicator = context.getBean("bellwetherHealthIndicator");
                    var first = context.getBean("first", LeadingTest.Part.class);
                    controlled.election("billing").acquire();
                    assertThat(status(indicator)).isEqualTo("DEGRADED");
                    assertThat(details(indicator).get("billing"))
                            .isEqualTo("leads, token 1; first did not start, tried again:"
                                    + " java.lang.IllegalStateException: planted");
                    controlled.election("billing").revoke(Cause.MOVED);
                    assertThat(status(indicator)).as("that term is over").isEqualTo("UP");
                    controlled.election("billing").acquire();
                    assertThat(status(indicator)).isEqualTo("DEGRADED");
                    first.onStart = () -> {};
                    Eventually.eventually("it runs", Contexts.PATIENCE, first::isRunning);
                    Eventually.eventually(
                            "that is told",
                            Contexts.PATIENCE,
                            () -> status(indicator).equals("UP"));
                });
    }

    @Test
    void theGroupLeaderIsUpOnlyWhereOneLeads(ControlledElections controlled) {
        declared(Contexts.controlled(controlled)).run(context -> {
            assertThat(leader(context)).isEqualTo("STANDBY");
            controlled.election("billing").acquire();
            assertThat(leader(context)).isEqualTo("UP");
            controlled.election("billing").fence();
            assertThat(leader(context)).isEqualTo("STANDBY");
        });
    }

    @Test
    void aGroupOfOneElectionIsUpWhereThisProcessLeadsThatOne(ControlledElections controlled) {
        withHealth(Contexts.controlled(controlled))
                .withPropertyValues(
                        "bellwether.elections.billing.lease=10s",
                        "bellwether.elections.mailing.lease=10s",
                        "management.endpoint.health.group.biller.include=leading/billing",
                        "management.endpoint.health.group.reporter.include=leading/reports",
                        "management.endpoint.health.group.biller.status.order=down,standby,up",
                        "management.endpoint.health.group.reporter.status.order=down,standby,up",
                        "management.endpoint.health.group.all.include=leading",
                        "management.endpoint.health.group.all.status.order=down,standby,up")
                .withBean(Reports.class)
                .withBean(Printer.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    var health = context.getBean("healthEndpoint");
                    assertThat(group(health, "biller")).isEqualTo("STANDBY");
                    controlled.election("billing").acquire();
                    assertThat(group(health, "biller")).isEqualTo("UP");
                    assertThat(group(health, "reporter")).isEqualTo("STANDBY");
                    assertThat(group(health, "all")).as("not all are led here").isEqualTo("STANDBY");
                    controlled.election("reports").acquire();
                    assertThat(group(health, "reporter")).isEqualTo("UP");
                });
    }

    @Test
    void aGroupOfABeanThatLeadsIsKnownBeforeAnythingStands(ControlledElections controlled) {
        withHealth(Contexts.controlled(controlled))
                .withPropertyValues("management.endpoint.health.group.printer.include=leading/printing")
                .withBean(Printer.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    controlled.election("printing").acquire();
                    assertThat(group(context.getBean("healthEndpoint"), "printer"))
                            .isEqualTo("UP");
                });
    }

    @Test
    void aGroupOfAnElectionThatNothingNamesIsRefusedAtTheStart(ControlledElections controlled) {
        withHealth(declared(Contexts.controlled(controlled)))
                .withPropertyValues("management.endpoint.health.group.leader.include=leading/biling")
                .run(context -> assertThat(context).getFailure().hasMessageContaining("leading/biling"));
    }

    @Test
    void metersAreThereAtOnceAndShowTheLeader() {
        Contexts.plain()
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .withPropertyValues(
                        "bellwether.uri=memory:" + UUID.randomUUID(), "bellwether.elections.billing.lease=10s")
                .run(context -> {
                    var registry = context.getBean(MeterRegistry.class);
                    Eventually.eventually(
                            "the gauge shows the leader",
                            Contexts.PATIENCE,
                            () -> registry.get(BellwetherMeters.LEADING)
                                            .tag("election", "billing")
                                            .gauge()
                                            .value()
                                    == 1);
                });
    }

    @Test
    void withoutARegistryThereAreElectionsAnyway() {
        Contexts.plain()
                .withPropertyValues("bellwether.uri=memory:" + UUID.randomUUID())
                .run(context ->
                        assertThat(context).hasSingleBean(Elections.class).doesNotHaveBean(BellwetherMeters.class));
    }

    private static ApplicationContextRunner declared(ApplicationContextRunner runner) {
        return runner.withPropertyValues("bellwether.elections.billing.lease=10s");
    }

    private static ApplicationContextRunner exposed(ApplicationContextRunner runner) {
        return declared(runner).withPropertyValues("management.endpoints.web.exposure.include=bellwether");
    }

    private static BellwetherEndpoint.Standing billing(BellwetherEndpoint endpoint) {
        return Objects.requireNonNull(endpoint.candidacies().get("billing"));
    }

    /** The whole of health, whose configurations have other names in each version of Spring Boot. */
    private static ApplicationContextRunner withHealth(ApplicationContextRunner runner) {
        var loader = ActuatorTest.class.getClassLoader();
        return runner.withConfiguration(AutoConfigurations.of(Stream.of(
                        "org.springframework.boot.actuate.autoconfigure.health.HealthContributorAutoConfiguration",
                        "org.springframework.boot.actuate.autoconfigure.health.HealthEndpointAutoConfiguration",
                        "org.springframework.boot.health.autoconfigure.contributor"
                                + ".HealthContributorAutoConfiguration",
                        "org.springframework.boot.health.autoconfigure.registry"
                                + ".HealthContributorRegistryAutoConfiguration",
                        "org.springframework.boot.health.autoconfigure.actuate.endpoint"
                                + ".HealthEndpointAutoConfiguration")
                .filter(name -> ClassUtils.isPresent(name, loader))
                .map(name -> ClassUtils.resolveClassName(name, loader))
                .toArray(Class<?>[]::new)));
    }

    private static String group(Object endpoint, String name) {
        var health = Indicators.call(endpoint, "healthForPath", (Object) new String[] {name});
        return Indicators.call(Indicators.call(health, "getStatus"), "getCode").toString();
    }

    private static String leader(ApplicationContext context) {
        var leaders = context.getBean("leadingHealthContributor");
        return status(call(leaders, "getContributor", "billing"));
    }

    static class Reports {
        @LeaderOnly("reports")
        void write() {}
    }

    @LeaderOnly("printing")
    static class Printer implements Lifecycle {
        private volatile boolean running;

        @Override
        public void start() {
            running = true;
        }

        @Override
        public void stop() {
            running = false;
        }

        @Override
        public boolean isRunning() {
            return running;
        }
    }
}
