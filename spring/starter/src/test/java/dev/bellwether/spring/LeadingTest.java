package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Metrics;
import dev.bellwether.NotLeaderException;
import dev.bellwether.Phase;
import dev.bellwether.testkit.BellwetherExtension;
import dev.bellwether.testkit.ControlledElections;
import dev.bellwether.testkit.Eventually;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.ObjectFactory;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.Lifecycle;
import org.springframework.context.LifecycleProcessor;
import org.springframework.context.PayloadApplicationEvent;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.event.EventListener;
import org.springframework.context.support.AbstractApplicationContext;
import org.springframework.context.support.DefaultLifecycleProcessor;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** What begins and ends with leadership, and with the context. */
@ExtendWith(BellwetherExtension.class)
@Timeout(60)
class LeadingTest {

    @Test
    void beansLiveWhileWeLeadInTheOrderOfTheirPhases(ControlledElections controlled) {
        Contexts.controlled(controlled).withUserConfiguration(Led.class).run(context -> {
            var story = context.getBean(Story.class).lines;
            assertThat(story).isEmpty();
            controlled.election("billing").acquire();
            assertThat(story).containsExactly("acquired 1", "first starts", "second starts");
            story.clear();
            controlled.election("billing").revoke(Cause.MOVED);
            assertThat(story).containsExactly("revoked 1 MOVED", "second stops", "first stops");
            story.clear();
            controlled.election("billing").acquire();
            controlled.election("billing").fence();
            assertThat(story)
                    .containsExactly(
                            "acquired 2",
                            "first starts",
                            "second starts",
                            "fenced 2 EXPIRED",
                            "second stops",
                            "first stops");
        });
    }

    @Test
    void whoFailsPermanentlyIsFencedAndThenTold(ControlledElections controlled) {
        Contexts.controlled(controlled).withUserConfiguration(Led.class).run(context -> {
            var story = context.getBean(Story.class).lines;
            controlled.election("billing").acquire();
            story.clear();
            controlled.election("billing").fail(new ElectionException("planted"));
            assertThat(story).last().isEqualTo("failed billing planted");
            assertThat(story).contains("second stops", "first stops");
        });
    }

    @Test
    void theEndOfAnElectionIsToldLast(ControlledElections controlled) {
        Contexts.controlled(controlled).withUserConfiguration(Led.class).run(context -> {
            var story = context.getBean(Story.class).lines;
            controlled.election("billing").acquire();
            story.clear();
            controlled.election("billing").end();
            assertThat(story).last().isEqualTo("ended billing");
            assertThat(story).contains("second stops", "first stops");
        });
    }

    /** As in the scope of Spring Cloud's refreshes: what has been replaced must not run beside what is there now. */
    @Test
    void aBeanOfAScopeIsStartedAsItIsNow(ControlledElections controlled) {
        var scope = new Renewed();
        Contexts.controlled(controlled)
                .withInitializer(context -> context.getBeanFactory().registerScope("renewed", scope))
                .withUserConfiguration(Scoped.class, Marked.class)
                .run(context -> {
                    controlled.election("billing").acquire();
                    assertThat(scope.made).hasSize(2).allMatch(Part::isRunning);
                    scope.objects.clear();
                    controlled.election("billing").revoke(Cause.MOVED);
                    assertThat(scope.made).as("it was started, and is stopped").noneMatch(Part::isRunning);
                    controlled.election("billing").acquire();
                    assertThat(scope.made).hasSize(4);
                    assertThat(scope.made.subList(0, 2)).noneMatch(Part::isRunning);
                    assertThat(scope.made.subList(2, 4)).allMatch(Part::isRunning);
                });
    }

    @Test
    void aBeanThatWouldStartByItselfIsRefused(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withUserConfiguration(Hasty.class)
                .run(context -> assertThat(context).getFailure().rootCause().hasMessageContaining("starts by itself"));
    }

    /** Spring starts with a bean what that depends on, unless it is a SmartLifecycle which says that it is not to. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aBeanThatSpringWouldStartWithAnotherIsRefused(boolean enabled) {
        var starts = new AtomicInteger();
        Contexts.plain()
                .withPropertyValues("bellwether.uri=memory:" + UUID.randomUUID(), "bellwether.enabled=" + enabled)
                .withBean(AtomicInteger.class, () -> starts)
                .withUserConfiguration(Depended.class)
                .run(context -> {
                    assertThat(starts).as("starts although nobody leads here").hasValue(0);
                    assertThat(context)
                            .getFailure()
                            .isInstanceOf(BeanCreationException.class)
                            .hasMessageContainingAll("'poller'", "monitor", "make it a SmartLifecycle");
                });
    }

    @Test
    void theSeatIsReleasedWhenAllElseHasStopped() {
        var uri = "memory:" + UUID.randomUUID();
        var ledWhenStopped = new CopyOnWriteArrayList<Boolean>();
        try (var others = Elections.connect(uri);
                var successor = new Successor(others)) {
            Contexts.plain()
                    .withPropertyValues("bellwether.uri=" + uri, "bellwether.elections.billing.lease=60s")
                    .withUserConfiguration(Led.class)
                    .withBean("late", Part.class, () -> new Part("late", 0, new Story()) {
                        @Override
                        public boolean isAutoStartup() {
                            return true;
                        }
                    })
                    .run(context -> {
                        var candidacies = context.getBean(Candidacies.class);
                        assertThat(candidacies.of("billing").await(Contexts.PATIENCE))
                                .isPresent();
                        context.getBean("late", Part.class).onStop =
                                () -> ledWhenStopped.add(candidacies.isLeader("billing"));
                        successor.stand();
                        context.close();
                        assertThat(ledWhenStopped).containsExactly(true);
                        // long before the lease of a minute runs out
                        assertThat(successor.leads()).isTrue();
                    });
        }
    }

    @Test
    void theSeatWaitsForBeansThatStopLateAndCallsAreInterruptedMeanwhile() {
        var uri = "memory:" + UUID.randomUUID();
        try (var others = Elections.connect(uri)) {
            Contexts.plain()
                    .withPropertyValues(
                            "bellwether.uri=" + uri,
                            "bellwether.elections.billing.lease=60s",
                            "bellwether.elections.billing.stand-down-budget=10s") // five before, and five after
                    .withUserConfiguration(Late.class)
                    .run(context -> {
                        var first = context.getBean("stopsFirst", Slow.class);
                        var last = context.getBean("stopsLast", Slow.class);
                        var calls = context.getBean(Late.Calls.class);
                        var candidacy = context.getBean(Candidacies.class).of("billing");
                        Eventually.eventually("both run", Contexts.PATIENCE, () -> first.running && last.running);
                        Eventually.eventually("calls run", Contexts.PATIENCE, () -> {
                            calls.look();
                            return calls.hasLooked();
                        });
                        var call = new Thread(calls::block, "call");
                        call.setDaemon(true);
                        call.start();
                        assertThat(calls.awaitBegin()).isTrue();
                        try (var successor = others.stand("billing")) {
                            candidacy.standDown();
                            var firstHasStopped = first.awaitStop();
                            assertThat(calls.awaitInterrupt())
                                    .as("half of the budget is over")
                                    .isTrue();
                            assertThat(successor.await(Duration.ofMillis(300))).isEmpty();
                            firstHasStopped.run();
                            var lastHasStopped = last.awaitStop();
                            assertThat(successor.await(Duration.ofMillis(300))).isEmpty();
                            lastHasStopped.run();
                            assertThat(successor.await(Contexts.PATIENCE)).isPresent();
                            assertThat(context.getBean(Story.class).lines)
                                    .as("and nothing of an overrun")
                                    .containsExactly("acquired 1", "revoked 1 STOOD_DOWN");
                        }
                    });
        }
    }

    @Test
    void theSeatWaitsForABeanWhoseStopFailsUntilItRunsNoMore() {
        var uri = "memory:" + UUID.randomUUID();
        var failures = new AtomicInteger();
        try (var others = Elections.connect(uri)) {
            standingDownAtLeisure(uri)
                    .withBean(Metrics.class, () -> counting(failures))
                    .withUserConfiguration(Failing.class)
                    .run(context -> {
                        var bean = context.getBean("first", Part.class);
                        var candidacy = context.getBean(Candidacies.class).of("billing");
                        Eventually.eventually("it runs", Contexts.PATIENCE, bean::isRunning);
                        var fails = new AtomicBoolean(true);
                        var told = new AtomicInteger();
                        bean.onStop = () -> {
                            told.incrementAndGet();
                            if (fails.get()) {
                                throw new IllegalStateException("planted");
                            }
                        };
                        try (var successor = others.stand("billing")) {
                            candidacy.standDown();
                            Eventually.eventually("it is told again", Contexts.PATIENCE, () -> told.get() > 1);
                            assertThat(successor.await(Duration.ofMillis(300)))
                                    .as("it runs still")
                                    .isEmpty();
                            fails.set(false);
                            assertThat(successor.await(Contexts.PATIENCE)).isPresent();
                            assertThat(bean.isRunning()).isFalse();
                            Eventually.eventually("it is counted", Contexts.PATIENCE, () -> failures.get() == 1);
                        }
                    });
        }
    }

    private static ApplicationContextRunner standingDownAtLeisure(String uri) {
        return Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=" + uri,
                        "bellwether.elections.billing.lease=60s",
                        "bellwether.elections.billing.stand-down-budget=40s");
    }

    /** As where the jar was replaced under a running application, and a class is not found any more. */
    @Test
    void anErrorOfABeanThatStopsLeavesNoOtherRunningBesideTheSuccessor() {
        leavesNoOtherRunning((bean, fails) -> bean.onStop = fails);
    }

    @Test
    void aBeanThatFailsToSayWhetherItRunsLeavesNoOtherRunningBesideTheSuccessor() {
        leavesNoOtherRunning((bean, fails) -> bean.onAsked = fails);
    }

    private void leavesNoOtherRunning(BiConsumer<Part, Runnable> plant) {
        var uri = "memory:" + UUID.randomUUID();
        try (var others = Elections.connect(uri)) {
            standingDownAtLeisure(uri).withUserConfiguration(Failing.class).run(context -> {
                var first = context.getBean("first", Part.class);
                var second = context.getBean("second", Part.class);
                Eventually.eventually("both run", Contexts.PATIENCE, () -> first.isRunning() && second.isRunning());
                var fails = new AtomicBoolean(true);
                plant.accept(second, () -> {
                    if (fails.get()) {
                        throw new NoClassDefFoundError("planted");
                    }
                });
                try (var successor = others.stand("billing")) {
                    context.getBean(Candidacies.class).of("billing").standDown();
                    assertThat(successor.await(Duration.ofMillis(300)))
                            .as("one of them may run")
                            .isEmpty();
                    fails.set(false);
                    assertThat(successor.await(Contexts.PATIENCE)).isPresent();
                    assertThat(List.of(first.isRunning(), second.isRunning())).containsOnly(false);
                }
            });
        }
    }

    @Test
    void aBeanWhoseStartEndsInAnErrorIsStartedAgainAndKeepsNoOtherFromStarting() {
        Contexts.plain()
                .withPropertyValues("bellwether.uri=memory:" + UUID.randomUUID())
                .withUserConfiguration(Failing.class)
                .withBean(BeanPostProcessor.class, FirstFailsOnce::new)
                .run(context -> {
                    Eventually.eventually(
                            "the other runs", Contexts.PATIENCE, context.getBean("second", Part.class)::isRunning);
                    Eventually.eventually(
                            "it runs", Contexts.PATIENCE, context.getBean("first", Part.class)::isRunning);
                });
    }

    private static final class FirstFailsOnce implements BeanPostProcessor {
        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
            if (name.equals("first") && bean instanceof Part part) {
                part.onStart = () -> {
                    part.onStart = () -> {};
                    throw new NoClassDefFoundError("planted");
                };
            }
            return bean;
        }
    }

    @Test
    void aBeanThatDoesNotStartIsCountedAndTheOthersDo() {
        var failures = new AtomicInteger();
        Contexts.plain()
                .withPropertyValues("bellwether.uri=memory:" + UUID.randomUUID(), "first.fails=true")
                .withBean(Metrics.class, () -> counting(failures))
                .withUserConfiguration(Failing.class)
                .run(context -> {
                    Eventually.eventually("it is counted", Contexts.PATIENCE, () -> failures.get() == 1);
                    assertThat(context.getBean("second", Part.class).isRunning())
                            .isTrue();
                });
    }

    @Test
    void aBeanThatDidNotStartIsStartedAgainInTheSameTerm() {
        Contexts.plain()
                .withPropertyValues("bellwether.uri=memory:" + UUID.randomUUID(), "first.fails=true")
                .withUserConfiguration(Failing.class)
                .run(context -> {
                    var first = context.getBean("first", Part.class);
                    var second = context.getBean("second", Part.class);
                    Eventually.eventually("the other runs", Contexts.PATIENCE, second::isRunning);
                    second.onStart = () -> first.story.lines.add("second starts again");
                    second.stop(); // by itself: it is nobody else's to start
                    first.onStart = () -> {};
                    Eventually.eventually("it runs", Contexts.PATIENCE, first::isRunning);
                    assertThat(first.story.lines).containsExactly("first starts");
                    assertThat(context.getBean(Candidacies.class)
                                    .of("billing")
                                    .status()
                                    .token())
                            .isEqualTo(1);
                });
    }

    @Test
    void theSeatWaitsForABeanThatIsBeingStartedAgain() {
        var uri = "memory:" + UUID.randomUUID();
        var starting = new CountDownLatch(1);
        var mayStart = new CountDownLatch(1);
        try (var others = Elections.connect(uri)) {
            Contexts.plain()
                    .withPropertyValues(
                            "bellwether.uri=" + uri,
                            "bellwether.elections.billing.lease=60s",
                            "bellwether.elections.billing.stand-down-budget=40s",
                            "first.fails=true")
                    .withUserConfiguration(Failing.class)
                    .run(context -> {
                        var first = context.getBean("first", Part.class);
                        var second = context.getBean("second", Part.class);
                        Eventually.eventually("the other runs", Contexts.PATIENCE, second::isRunning);
                        first.onStart = () -> {
                            starting.countDown();
                            Eventually.eventually("it may start", Contexts.PATIENCE, () -> mayStart.getCount() == 0);
                        };
                        assertThat(starting.await(30, TimeUnit.SECONDS)).isTrue();
                        try (var successor = others.stand("billing")) {
                            context.getBean(Candidacies.class).of("billing").standDown();
                            assertThat(successor.await(Duration.ofMillis(300)))
                                    .as("it is being started")
                                    .isEmpty();
                            mayStart.countDown();
                            assertThat(successor.await(Contexts.PATIENCE)).isPresent();
                            assertThat(first.story.lines).containsExactly("first starts", "first stops");
                            assertThat(second.isRunning()).isFalse();
                        }
                    });
        }
    }

    private static Metrics counting(AtomicInteger failures) {
        return new Metrics() {
            @Override
            public void callbackFailed(String election, String candidate, Throwable thrown) {
                failures.incrementAndGet();
            }
        };
    }

    @Test
    void aBeanThatOverrunsTheBudgetIsToldOfAndNoTermBeginsBesideIt() {
        var uri = "memory:" + UUID.randomUUID();
        var overruns = new AtomicInteger();
        var counting = new Metrics() {
            @Override
            public void overran(String election, String candidate, long token) {
                overruns.incrementAndGet();
            }
        };
        try (var others = Elections.connect(uri)) {
            Contexts.plain()
                    .withPropertyValues(
                            "bellwether.uri=" + uri,
                            "bellwether.elections.billing.lease=3s",
                            "bellwether.elections.billing.stand-down-budget=600ms")
                    .withBean(Metrics.class, () -> counting)
                    .withUserConfiguration(OneThatIsLate.class)
                    .run(context -> {
                        var bean = context.getBean(Slow.class);
                        var candidacy = context.getBean(Candidacies.class).of("billing");
                        Eventually.eventually("it runs", Contexts.PATIENCE, () -> bean.running);
                        Runnable hasStopped;
                        try (var successor = others.stand("billing")) {
                            candidacy.standDown();
                            hasStopped = bean.awaitStop();
                            assertThat(successor.await(Contexts.PATIENCE)).isPresent();
                            Eventually.eventually("it is counted", Contexts.PATIENCE, () -> overruns.get() == 1);
                        }
                        assertThat(candidacy.await(Duration.ofSeconds(4)))
                                .as("the seat is free, and the time is over for which it was left to others")
                                .isEmpty();
                        assertThat(bean.starts).hasValue(1);
                        hasStopped.run();
                        assertThat(candidacy.await(Contexts.PATIENCE)).isPresent();
                        Eventually.eventually("it runs again", Contexts.PATIENCE, () -> bean.starts.get() == 2);
                        assertThat(context.getBean(Story.class).lines)
                                .containsExactly(
                                        "acquired 1", "revoked 1 STOOD_DOWN", "fenced 1 STOOD_DOWN", "acquired 3");
                        assertThat(overruns).hasValue(1);
                        bean.stopsAtOnce = true;
                    });
        }
    }

    @Test
    void anApplicationEndsThoughABeanNeverStops() {
        var uri = "memory:" + UUID.randomUUID();
        try (var others = Elections.connect(uri);
                var successor = new Successor(others)) {
            Contexts.plain()
                    .withPropertyValues("bellwether.uri=" + uri, "bellwether.elections.billing.lease=3s")
                    .withUserConfiguration(OneThatIsLate.class)
                    .withBean(
                            AbstractApplicationContext.LIFECYCLE_PROCESSOR_BEAN_NAME, LifecycleProcessor.class, () -> {
                                var processor = new DefaultLifecycleProcessor();
                                processor.setTimeoutPerShutdownPhase(100);
                                return processor;
                            })
                    .run(context -> {
                        var bean = context.getBean(Slow.class);
                        Eventually.eventually("it runs", Contexts.PATIENCE, () -> bean.running);
                        successor.stand();
                        context.close(); // returns, before the timeout of this test
                        assertThat(successor.leads()).isTrue();
                        assertThat(bean.running).isTrue();
                        bean.awaitStop().run(); // Spring's
                        var waiting = Objects.requireNonNull(bean.stoppedBy, "the thread that waits");
                        assertThat(waiting.isAlive()).isTrue();
                        assertThat(waiting.isDaemon())
                                .as("it keeps no process alive")
                                .isTrue();
                        bean.awaitStop().run(); // ours, so that nothing is left behind
                    });
        }
    }

    @Test
    void anApplicationThatStopsHandsOverToTheOneThatHasGotReady() {
        var uri = "memory:" + UUID.randomUUID();
        var ledWhilePreparing = new CopyOnWriteArrayList<Boolean>();
        var settings = new String[] {
            "bellwether.uri=" + uri, "bellwether.elections.billing.lease=60s", "bellwether.hand-over-on-shutdown=20s"
        };
        Contexts.plain().withPropertyValues(settings).run(old -> {
            var leaving = old.getBean(Candidacies.class);
            assertThat(leaving.of("billing").await(Contexts.PATIENCE)).isPresent();
            Contexts.plain()
                    .withPropertyValues(settings)
                    .withInitializer(context -> context.addApplicationListener(event -> {
                        if (event instanceof PayloadApplicationEvent<?> told
                                && told.getPayload() instanceof PreparingEvent preparing
                                && preparing.election().equals("billing")) {
                            ledWhilePreparing.add(leaving.isLeader("billing"));
                        }
                    }))
                    .run(young -> {
                        var next = young.getBean(Candidacies.class).of("billing");
                        while (next.status().following().isEmpty()) {
                            Thread.onSpinWait();
                        }
                        old.close();
                        assertThat(ledWhilePreparing).containsExactly(true);
                        // long before the lease of a minute runs out
                        assertThat(next.await(Contexts.PATIENCE)).isPresent();
                    });
        });
    }

    @Test
    void scheduledWorkGoesOnWhileTheSuccessorGetsReady() {
        var worked = new CompletableFuture<Boolean>();
        var settings = new String[] {
            "bellwether.uri=memory:" + UUID.randomUUID(),
            "bellwether.elections.billing.lease=60s",
            "bellwether.hand-over-on-shutdown=40s"
        };
        Contexts.plain()
                .withPropertyValues(settings)
                .withUserConfiguration(Working.class)
                .run(old -> {
                    var work = old.getBean(Working.Work.class);
                    Eventually.eventually("it works", Contexts.PATIENCE, () -> work.runs() > 0);
                    Contexts.plain()
                            .withPropertyValues(settings)
                            .withInitializer(context -> context.addApplicationListener(event -> {
                                if (event instanceof PayloadApplicationEvent<?> told
                                        && told.getPayload() instanceof PreparingEvent) {
                                    worked.complete(work.runsOn());
                                }
                            }))
                            .run(young -> {
                                var next = young.getBean(Candidacies.class).of("billing");
                                while (next.status().following().isEmpty()) {
                                    Thread.onSpinWait();
                                }
                                old.close();
                                assertThat(next.await(Contexts.PATIENCE)).isPresent();
                                assertThat(worked).isCompletedWithValue(true);
                            });
                });
    }

    @Test
    void aContextThatOnlyStopsHandsOverToo() {
        var prepared = new CompletableFuture<String>();
        var settings = new String[] {
            "bellwether.uri=memory:" + UUID.randomUUID(),
            "bellwether.elections.billing.lease=60s",
            "bellwether.hand-over-on-shutdown=20s"
        };
        Contexts.plain().withPropertyValues(settings).run(old -> {
            assertThat(old.getBean(Candidacies.class).of("billing").await(Contexts.PATIENCE))
                    .isPresent();
            Contexts.plain()
                    .withPropertyValues(settings)
                    .withInitializer(context -> context.addApplicationListener(event -> {
                        if (event instanceof PayloadApplicationEvent<?> told
                                && told.getPayload() instanceof PreparingEvent preparing) {
                            prepared.complete(preparing.election());
                        }
                    }))
                    .run(young -> {
                        var next = young.getBean(Candidacies.class).of("billing");
                        while (next.status().following().isEmpty()) {
                            Thread.onSpinWait();
                        }
                        old.stop();
                        assertThat(next.await(Contexts.PATIENCE)).isPresent();
                        assertThat(prepared).isCompletedWithValue("billing");
                    });
        });
    }

    /** Else it could begin to lead while a successor elsewhere gets ready, and keep that seat until all has stopped. */
    @Test
    void aStandbyHasLeftWhenTheSeatOfAnotherElectionIsHandedOver() throws Exception {
        var uri = "memory:" + UUID.randomUUID();
        var left = new CompletableFuture<Boolean>();
        var lease = CandidacyConfig.ofLease(Duration.ofSeconds(60));
        try (var elsewhere = Elections.connect(uri);
                var leader = elsewhere.stand("nightly", lease)) {
            assertThat(leader.await(Contexts.PATIENCE)).isPresent();
            Contexts.plain()
                    .withPropertyValues(
                            "bellwether.uri=" + uri,
                            "bellwether.elections.billing.lease=60s",
                            "bellwether.elections.nightly.lease=60s",
                            "bellwether.hand-over-on-shutdown=40s")
                    .run(context -> {
                        var leaving = context.getBean(Candidacies.class);
                        var nightly = leaving.of("nightly");
                        assertThat(leaving.of("billing").await(Contexts.PATIENCE))
                                .isPresent();
                        var next = CandidacyConfig.builder()
                                .lease(lease.lease())
                                .listener(event -> {
                                    if (event instanceof LeadershipEvent.Preparing) {
                                        left.completeAsync(() -> hasLeft(nightly))
                                                .join();
                                    }
                                });
                        try (var standby = elsewhere.stand("billing", next.build())) {
                            while (standby.status().following().isEmpty()) {
                                Thread.onSpinWait();
                            }
                            context.close();
                            assertThat(left).isCompletedWithValue(true);
                            assertThat(standby.await(Contexts.PATIENCE)).isPresent();
                        }
                    });
        }
    }

    /** Else that seat could be handed back to it, and it would keep it until all has stopped. */
    @Test
    void aLeaderThatHasHandedOverLeavesWhileTheSeatOfAnotherElectionIsHandedOver() {
        var uri = "memory:" + UUID.randomUUID();
        var left = new CompletableFuture<Boolean>();
        var lease = CandidacyConfig.ofLease(Duration.ofSeconds(60));
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=" + uri,
                        "bellwether.elections.billing.lease=60s",
                        "bellwether.elections.nightly.lease=60s",
                        "bellwether.hand-over-on-shutdown=40s")
                .run(context -> {
                    var leaving = context.getBean(Candidacies.class);
                    var billing = leaving.of("billing");
                    assertThat(billing.await(Contexts.PATIENCE)).isPresent();
                    assertThat(leaving.of("nightly").await(Contexts.PATIENCE)).isPresent();
                    var slow = CandidacyConfig.builder().lease(lease.lease()).listener(event -> {
                        if (event instanceof LeadershipEvent.Preparing) {
                            left.completeAsync(() -> hasLeft(billing)).join();
                        }
                    });
                    try (var elsewhere = Elections.connect(uri);
                            var quick = elsewhere.stand("billing", lease);
                            var next = elsewhere.stand("nightly", slow.build())) {
                        while (quick.status().following().isEmpty()
                                || next.status().following().isEmpty()) {
                            Thread.onSpinWait();
                        }
                        context.close();
                        assertThat(left).isCompletedWithValue(true);
                        assertThat(quick.isLeader()).isTrue();
                        assertThat(next.await(Contexts.PATIENCE)).isPresent();
                    }
                });
    }

    private static boolean hasLeft(Candidacy candidacy) {
        Eventually.eventually(
                "it has left", Duration.ofSeconds(20), () -> candidacy.status().phase() == Phase.CLOSED);
        return true;
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void aSeatThatCannotBeHandedOverIsWarnedOf(CapturedOutput log) {
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=memory:" + UUID.randomUUID(),
                        "bellwether.moving-to=memory:" + UUID.randomUUID(),
                        "bellwether.elections.billing.lease=60s",
                        "bellwether.hand-over-on-shutdown=20s")
                .run(context -> {
                    var candidacy = context.getBean(Candidacies.class).of("billing");
                    assertThat(candidacy.await(Contexts.PATIENCE)).isPresent();
                    context.close();
                });
        assertThat(log.getErr().lines())
                .anyMatch(line -> line.contains(" WARN ") && line.contains("is not handed over: "));
    }

    @Test
    void aChildThatClosesHandsNothingOver() {
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=memory:" + UUID.randomUUID(),
                        "bellwether.elections.billing.lease=60s",
                        "bellwether.hand-over-on-shutdown=20s")
                .run(context -> {
                    var candidacy = context.getBean(Candidacies.class).of("billing");
                    assertThat(candidacy.await(Contexts.PATIENCE)).isPresent();
                    try (var other = context.getBean(Elections.class).stand("billing", CandidacyConfig.defaults())) {
                        while (other.status().following().isEmpty()) {
                            Thread.onSpinWait();
                        }
                        var child = new GenericApplicationContext(context.getSourceApplicationContext());
                        child.refresh();
                        child.close();
                        assertThat(candidacy.isLeader()).isTrue();
                    }
                });
    }

    @Test
    void anApplicationThatStopsAloneDoesNotWait() {
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=memory:" + UUID.randomUUID(),
                        "bellwether.elections.billing.lease=60s",
                        "bellwether.hand-over-on-shutdown=10m")
                .run(context -> {
                    var candidacy = context.getBean(Candidacies.class).of("billing");
                    assertThat(candidacy.await(Contexts.PATIENCE)).isPresent();
                    context.close(); // the timeout of this test is shorter
                    assertThat(candidacy.departure()).isPresent();
                });
    }

    @Test
    void whoHearsOfATermFindsItsCandidacyHoweverSoonItBegins() {
        var led = new CompletableFuture<Boolean>();
        try (var elections = Elections.connect("memory:" + UUID.randomUUID())) {
            Contexts.plain()
                    .withBean(Elections.class, () -> lateToReturn(elections, led))
                    .withPropertyValues("bellwether.elections.billing.lease=60s")
                    .withInitializer(context -> context.addApplicationListener(event -> {
                        if (event instanceof PayloadApplicationEvent<?> told
                                && told.getPayload() instanceof AcquiredEvent) {
                            led.complete(context.getBean(Candidacies.class).isLeader("billing"));
                        }
                    }))
                    .run(context -> assertThat(led.get(30, TimeUnit.SECONDS)).isTrue());
        }
    }

    /**
     * Elections where whoever stands leads before {@code stand} returns, and has been told so, if anything tells him.
     */
    private static Elections lateToReturn(Elections elections, Future<?> told) {
        return (Elections) Proxy.newProxyInstance(
                Elections.class.getClassLoader(), new Class<?>[] {Elections.class}, (proxy, method, arguments) -> {
                    var result = method.invoke(elections, arguments);
                    if (result instanceof Candidacy candidacy) {
                        assertThat(candidacy.await(Contexts.PATIENCE)).isPresent();
                        try {
                            told.get(300, TimeUnit.MILLISECONDS);
                        } catch (TimeoutException e) {
                            // it waits for us
                        }
                    }
                    return result;
                });
    }

    @Test
    void aCallTriesAgainToStandInAnElectionThatIsNamedLateIfTheOneBeforeCouldNot() {
        try (var elections = Elections.connect("memory:" + UUID.randomUUID())) {
            Contexts.plain()
                    .withBean(Elections.class, () -> refusingOnce(elections))
                    .withUserConfiguration(MadeLate.class)
                    .run(context -> {
                        var late = context.getBean(MadeLate.LateWork.class);
                        assertThatThrownBy(late::run)
                                .isInstanceOf(ElectionException.class)
                                .hasMessage("planted");
                        late.run();
                        var candidacy = context.getBean(Candidacies.class).of("late");
                        assertThat(candidacy.await(Contexts.PATIENCE)).isPresent();
                    });
        }
    }

    static class MadeLate {
        @Bean
        @Lazy
        LateWork work() {
            return new LateWork();
        }

        static class LateWork {
            @LeaderOnly("late")
            void run() {}
        }
    }

    /** Elections in which nobody can stand at first. */
    static Elections refusingOnce(Elections elections) {
        var refused = new AtomicBoolean();
        return (Elections) Proxy.newProxyInstance(
                Elections.class.getClassLoader(), new Class<?>[] {Elections.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("stand") && refused.compareAndSet(false, true)) {
                        throw new ElectionException("planted");
                    }
                    return method.invoke(elections, arguments);
                });
    }

    @Test
    void aStandbyLeavesBeforeAnythingStops(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withPropertyValues("bellwether.elections.billing.lease=10s")
                .run(context -> {
                    var candidacy = context.getBean(Candidacies.class).of("billing");
                    context.getBean("bellwetherStanding", SmartLifecycle.class).stop();
                    assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
                });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aLeaderThatLosesItsSeatWhileTheContextStopsDoesNotStandAgain(boolean inOrder, ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withPropertyValues("bellwether.elections.billing.lease=10s")
                .run(context -> {
                    var election = controlled.election("billing");
                    election.acquire();
                    var candidacy = context.getBean(Candidacies.class).of("billing");
                    context.getBean("bellwetherStanding", SmartLifecycle.class).stop();
                    assertThat(candidacy.isLeader())
                            .as("until all else has stopped")
                            .isTrue();
                    if (inOrder) {
                        election.revoke();
                    } else {
                        election.fence();
                    }
                    assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
                });
    }

    @Test
    void aContextThatStartsAgainStandsAgain(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withPropertyValues("bellwether.elections.billing.priority=3")
                .run(context -> {
                    var election = controlled.election("billing");
                    election.acquire();
                    context.stop();
                    assertThat(context.getBean(Candidacies.class).all()).isEmpty();
                    context.start();
                    assertThat(election.acquire()).isEqualTo(2);
                    assertThat(context.getBean(Candidacies.class).isLeader("billing"))
                            .isTrue();
                });
    }

    @LeaderOnly("printing")
    static final class StopsBadlyOnce implements Lifecycle {
        private final AtomicInteger stops = new AtomicInteger();
        private final Consumer<String> fail;
        private volatile boolean running;

        StopsBadlyOnce(Consumer<String> fail) {
            this.fail = fail;
        }

        @Override
        public void start() {
            running = true;
        }

        @Override
        public void stop() {
            running = false;
            if (stops.incrementAndGet() == 2) {
                fail.accept("planted");
            }
        }

        @Override
        public boolean isRunning() {
            return running;
        }
    }

    /** The context stops its beans, starts them with all others, and they stop because nobody leads yet. */
    @Test
    void aStartThatFailedOnceIsMadeUpForByTheNext(ControlledElections controlled) {
        startsTwice(controlled, message -> {
            throw new IllegalStateException(message);
        });
    }

    @Test
    void aStartThatFailedOnceWithAnErrorIsMadeUpForByTheNext(ControlledElections controlled) {
        startsTwice(controlled, message -> {
            throw new AssertionError(message);
        });
    }

    private static void startsTwice(ControlledElections controlled, Consumer<String> fail) {
        failingOnce(controlled, fail).run(context -> {
            controlled.election("printing").acquire();
            context.stop();
            assertThatThrownBy(context::start).hasStackTraceContaining("planted");
            assertThat(context.getBean(Candidacies.class).all())
                    .as("the others stand")
                    .extracting(Candidacy::election)
                    .containsExactly("billing", "reports");
            context.start();
            assertThat(context.getBean(Candidacies.class).all())
                    .extracting(Candidacy::election)
                    .containsExactly("billing", "printing", "reports");
        });
    }

    /** That of a SmartLifecycle which says nothing of it: others of this phase may stop before ours. */
    @Test
    void aStandbyLeavesBeforeAnythingStopsInTheDefaultPhase(ControlledElections controlled) {
        var phases = new CopyOnWriteArrayList<Phase>();
        Contexts.controlled(controlled)
                .withPropertyValues("bellwether.elections.billing.lease=10s")
                .withBean("other", Part.class, () -> new Part("other", SmartLifecycle.DEFAULT_PHASE, new Story()) {
                    @Override
                    public boolean isAutoStartup() {
                        return true;
                    }
                })
                .run(context -> {
                    var candidacy = context.getBean(Candidacies.class).of("billing");
                    context.getBean("other", Part.class).onStop =
                            () -> phases.add(candidacy.status().phase());
                    context.close();
                    assertThat(phases).containsExactly(Phase.CLOSED);
                });
    }

    /** One whose second start fails for "printing". */
    private static ApplicationContextRunner failingOnce(ControlledElections controlled, Consumer<String> fail) {
        return Contexts.controlled(controlled)
                .withBean(StopsBadlyOnce.class, () -> new StopsBadlyOnce(fail))
                .withPropertyValues(
                        "bellwether.elections.billing.priority=3", "bellwether.elections.reports.priority=3");
    }

    @Test
    void aStandbyLeavesBeforeAnythingStopsThoughTheStartHasFailed(ControlledElections controlled) {
        var phases = new CopyOnWriteArrayList<Phase>();
        failingOnce(controlled, message -> {
                    throw new IllegalStateException(message);
                })
                .withBean("late", Part.class, () -> new Part("late", 0, new Story()) {
                    @Override
                    public boolean isAutoStartup() {
                        return true;
                    }
                })
                .run(context -> {
                    controlled.election("printing").acquire();
                    context.stop();
                    assertThatThrownBy(context::start).hasStackTraceContaining("planted");
                    var candidacy = context.getBean(Candidacies.class).of("billing");
                    context.getBean("late", Part.class).onStop =
                            () -> phases.add(candidacy.status().phase());
                    context.close();
                    assertThat(phases).containsExactly(Phase.CLOSED);
                });
    }

    @Test
    void aContextDoesNotStandBesideItsParentInOneElection(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withPropertyValues("bellwether.elections.billing.priority=3")
                .run(parent -> {
                    Contexts.plain()
                            .withParent(parent)
                            .withPropertyValues("bellwether.elections.billing.priority=3")
                            .run(child -> assertThat(child)
                                    .getFailure()
                                    .hasStackTraceContaining("both stand in [billing]")
                                    .hasStackTraceContaining("bellwether.enabled=false"));
                    Contexts.plain()
                            .withParent(parent)
                            .withPropertyValues("bellwether.enabled=false")
                            .withBean(Billing.class)
                            .run(child -> {
                                assertThat(child).hasNotFailed();
                                var billing = child.getBean(Billing.class);
                                billing.bill();
                                controlled.election("billing").acquire(); // the parent leads, and not the child
                                billing.bill();
                                assertThat(billing.bills()).isZero();
                                assertThatThrownBy(billing::count)
                                        .isInstanceOf(NotLeaderException.class)
                                        .hasMessageContaining("we stand in no election");
                            });
                    Contexts.plain()
                            .withParent(parent)
                            .withPropertyValues("bellwether.enabled=false")
                            .withUserConfiguration(Hasty.class)
                            .run(child -> assertThat(child).getFailure().hasStackTraceContaining("starts by itself"));
                });
    }

    @Test
    void aContextDoesNotStandBesideAnyAboveItWhenABeanIsMadeLate(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(MadeLate.LateWork.class, MadeLate.LateWork::new)
                .run(above -> Contexts.plain()
                        .withParent(above)
                        .run(parent -> Contexts.plain()
                                .withParent(parent)
                                .withUserConfiguration(MadeLate.class)
                                .run(child -> {
                                    var late = child.getBean(MadeLate.LateWork.class);
                                    assertThatThrownBy(late::run)
                                            .isInstanceOf(IllegalStateException.class)
                                            .hasMessageContaining("both stand in [late]");
                                })));
    }

    static class Billing {
        private final AtomicInteger bills = new AtomicInteger();

        @LeaderOnly("billing")
        void bill() {
            bills.incrementAndGet();
        }

        @LeaderOnly("billing")
        int count() {
            return bills.get();
        }

        int bills() {
            return bills.get();
        }
    }

    @EnableScheduling
    static class Working {
        @Bean
        ThreadPoolTaskScheduler taskScheduler() { // as Spring Boot makes it
            return new ThreadPoolTaskScheduler();
        }

        @Bean
        Work work() {
            return new Work();
        }

        static class Work {
            private final Semaphore runs = new Semaphore(0);

            @Scheduled(fixedDelay = 5)
            @LeaderOnly("billing")
            void run() {
                runs.release();
            }

            int runs() {
                return runs.availablePermits();
            }

            /** Returns whether it runs three times more. */
            boolean runsOn() {
                runs.drainPermits();
                try {
                    return runs.tryAcquire(3, 10, TimeUnit.SECONDS);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return false;
                }
            }
        }
    }

    @Test
    void aContextThatStartsAgainLeavesNothingRunningThatLeads(ControlledElections controlled) {
        Contexts.controlled(controlled).withUserConfiguration(Led.class).run(context -> {
            var story = context.getBean(Story.class).lines;
            context.stop();
            story.clear();
            context.start(); // by which Spring starts all beans with a lifecycle, whatever isAutoStartup() says
            assertThat(story).containsExactly("first starts", "second starts", "second stops", "first stops");
            story.clear();
            controlled.election("billing").acquire();
            assertThat(story).containsExactly("acquired 1", "first starts", "second starts");
        });
    }

    /** Somebody elsewhere. */
    private static final class Successor implements AutoCloseable {
        private final Elections elections;
        private Optional<Candidacy> candidacy = Optional.empty();

        Successor(Elections elections) {
            this.elections = elections;
        }

        void stand() {
            candidacy = Optional.of(elections.stand("billing"));
        }

        boolean leads() throws InterruptedException {
            return candidacy.orElseThrow().await(Contexts.PATIENCE).isPresent();
        }

        @Override
        public void close() {
            candidacy.ifPresent(Candidacy::close);
        }
    }

    static final class Story {
        final List<String> lines = new CopyOnWriteArrayList<>();

        @EventListener
        void on(AcquiredEvent event) {
            lines.add("acquired " + event.mandate().token());
        }

        @EventListener
        void on(RevokedEvent event) {
            lines.add("revoked " + event.mandate().token() + ' ' + event.cause());
        }

        @EventListener
        void on(FencedEvent event) {
            lines.add("fenced " + event.mandate().token() + ' ' + event.cause());
        }

        @EventListener
        void on(EndedEvent event) {
            lines.add("ended " + event.election());
        }

        @EventListener
        void on(FailedEvent event) {
            lines.add("failed " + event.election() + ' ' + event.error().getMessage());
        }
    }

    static class Led {
        @Bean
        Story story() {
            return new Story();
        }

        @Bean
        @LeaderOnly("billing")
        Part second(Story story) {
            return new Part("second", 2, story);
        }

        @Bean
        @LeaderOnly("billing")
        Part first(Story story) {
            return new Part("first", 1, story);
        }
    }

    static class OneThatIsLate {
        @Bean
        Story story() {
            return new Story();
        }

        @Bean
        @LeaderOnly("billing")
        Slow slow() {
            return new Slow(1);
        }
    }

    static class Late {
        @Bean
        Story story() {
            return new Story();
        }

        @Bean
        Calls calls() {
            return new Calls();
        }

        @Bean
        @LeaderOnly("billing")
        Slow stopsFirst() {
            return new Slow(2);
        }

        @Bean
        @LeaderOnly("billing")
        Slow stopsLast() {
            return new Slow(1);
        }

        static class Calls {
            private final CountDownLatch begun = new CountDownLatch(1);
            private final CountDownLatch interrupted = new CountDownLatch(1);
            private final AtomicBoolean looked = new AtomicBoolean();

            @LeaderOnly("billing")
            void look() {
                looked.set(true);
            }

            @LeaderOnly("billing")
            void block() {
                begun.countDown();
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException e) {
                    interrupted.countDown();
                }
            }

            // a proxy has fields of its own: by methods we see those of the bean

            boolean awaitBegin() throws InterruptedException {
                return begun.await(30, TimeUnit.SECONDS);
            }

            boolean hasLooked() {
                return looked.get();
            }

            boolean awaitInterrupt() throws InterruptedException {
                return interrupted.await(30, TimeUnit.SECONDS);
            }
        }
    }

    /** Stops when the test says so. */
    static class Slow implements SmartLifecycle {
        private final int phase;
        private final BlockingQueue<Runnable> stopping = new LinkedBlockingQueue<>();
        final AtomicInteger starts = new AtomicInteger();
        volatile boolean running;
        volatile boolean stopsAtOnce;
        volatile @Nullable Thread stoppedBy;

        Slow(int phase) {
            this.phase = phase;
        }

        /** Waits until it is to stop, and returns what ends that. */
        Runnable awaitStop() throws InterruptedException {
            return Objects.requireNonNull(stopping.poll(30, TimeUnit.SECONDS), "nobody has stopped it");
        }

        @Override
        public void start() {
            running = true;
            starts.incrementAndGet();
        }

        @Override
        public void stop() {
            throw new UnsupportedOperationException("there is stop(Runnable)");
        }

        @Override
        public void stop(Runnable whenStopped) {
            stoppedBy = Thread.currentThread();
            stopping.add(() -> {
                running = false;
                whenStopped.run();
            });
            if (stopsAtOnce) {
                stopping.remove().run();
            }
        }

        @Override
        public boolean isRunning() {
            return running;
        }

        @Override
        public boolean isAutoStartup() {
            return false;
        }

        @Override
        public int getPhase() {
            return phase;
        }
    }

    static class Failing {
        @Bean
        @LeaderOnly("billing")
        Part first(@Value("${first.fails:false}") boolean fails) {
            var first = new Part("first", 1, new Story());
            if (fails) {
                first.onStart = Failing::fail;
            }
            return first;
        }

        @Bean
        @LeaderOnly("billing")
        Part second() {
            return new Part("second", 2, new Story());
        }

        private static void fail() {
            throw new IllegalStateException("planted");
        }
    }

    /** A scope whose objects can be thrown away. */
    static final class Renewed implements org.springframework.beans.factory.config.Scope {
        private final Map<String, Object> objects = new ConcurrentHashMap<>();
        private final List<Part> made = new CopyOnWriteArrayList<>();

        @Override
        public Object get(String name, ObjectFactory<?> factory) {
            return objects.computeIfAbsent(name, key -> {
                var part = factory.getObject();
                made.add((Part) part);
                return part;
            });
        }

        @Override
        public @Nullable Object remove(String name) {
            return objects.remove(name);
        }

        @Override
        public void registerDestructionCallback(String name, Runnable callback) {}

        @Override
        public @Nullable Object resolveContextualObject(String key) {
            return null;
        }

        @Override
        public @Nullable String getConversationId() {
            return null;
        }
    }

    static class Scoped {
        @Bean
        @LeaderOnly("billing")
        @Scope(scopeName = "renewed", proxyMode = ScopedProxyMode.TARGET_CLASS)
        Part scoped() {
            return new Part("scoped", 1, new Story());
        }
    }

    @LeaderOnly("billing")
    @Scope(scopeName = "renewed", proxyMode = ScopedProxyMode.TARGET_CLASS)
    static class Marked extends Part {
        Marked() {
            super("marked", 2, new Story());
        }
    }

    static class Hasty {
        @Bean
        @LeaderOnly("billing")
        Part hasty() {
            return new Part("hasty", 1, new Story()) {
                @Override
                public boolean isAutoStartup() {
                    return true;
                }
            };
        }
    }

    static class Depended {
        @Bean
        @LeaderOnly("billing")
        Poller poller(AtomicInteger starts) {
            return new Poller(starts);
        }

        @Bean
        Part monitor(Poller poller) {
            var monitor = new Part("monitor", 0, new Story()) {
                @Override
                public boolean isAutoStartup() {
                    return true;
                }
            };
            monitor.onStart = poller::isRunning;
            return monitor;
        }
    }

    static final class Poller implements Lifecycle {
        private final AtomicInteger starts;
        private volatile boolean running;

        Poller(AtomicInteger starts) {
            this.starts = starts;
        }

        @Override
        public void start() {
            starts.incrementAndGet();
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

    static class Part implements SmartLifecycle {
        private final String name;
        private final int phase;
        private final Story story;
        private volatile boolean running;
        volatile Runnable onStart = () -> {};
        volatile Runnable onStop = () -> {};
        volatile Runnable onAsked = () -> {};

        Part(String name, int phase, Story story) {
            this.name = name;
            this.phase = phase;
            this.story = story;
        }

        @Override
        public void start() {
            onStart.run();
            running = true;
            story.lines.add(name + " starts");
        }

        @Override
        public void stop() {
            onStop.run();
            running = false;
            story.lines.add(name + " stops");
        }

        @Override
        public boolean isRunning() {
            onAsked.run();
            return running;
        }

        @Override
        public boolean isAutoStartup() {
            return false;
        }

        @Override
        public int getPhase() {
            return phase;
        }
    }
}
